//! The answers of Python oracles: values, intervals and sparse rows.

use bundlenet::Interval;
use numpy::{Element, PyArray1, PyArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyTuple};

use crate::convert::{vector, whole};

/// A value, or a pair `(cut, bound)`.
pub(crate) fn interval(object: &Bound<'_, PyAny>) -> PyResult<Interval> {
    if let Ok(number) = object.cast::<PyFloat>() {
        return Ok(Interval::exact(number.value()));
    }
    let ends = object.cast::<PyTuple>().ok().filter(|pair| pair.len() == 2);
    let found = match ends {
        Some(pair) => pair.get_item(0)?.extract().and_then(|cut| Ok((cut, pair.get_item(1)?.extract()?))),
        None => object.extract().map(|value| (value, value)),
    };
    found.map(|(cut, bound)| Interval { cut, bound }).map_err(|_| {
        let found = object.get_type();
        PyTypeError::new_err(format!("value: expected a number or a pair (cut, bound), found {found}"))
    })
}

/// Reads the entries of a sparse row, each with its coordinate. Coordinates are below `dim`, entries are finite.
pub(crate) fn read_row(
    indices: &Bound<'_, PyAny>,
    entries: &Bound<'_, PyAny>,
    dim: usize,
    row: &mut Vec<(u32, f64)>,
) -> PyResult<()> {
    row.clear();
    let is_read = match entries.cast::<PyArray1<f64>>() {
        Ok(array) => read_arrays::<i64>(indices, array, dim, row)? || read_arrays::<i32>(indices, array, dim, row)?,
        Err(_) => false,
    };
    if !is_read {
        let indices = whole::<i64>(vector(indices, "indices")?, "indices")?;
        push_entries(&indices, &vector(entries, "entries")?, dim, row)?;
    }
    Ok(())
}

/// Reads arrays without gaps, without a call of numpy. False if they are no such arrays.
fn read_arrays<T: Element + Copy + Into<i64>>(
    indices: &Bound<'_, PyAny>,
    entries: &Bound<'_, PyArray1<f64>>,
    dim: usize,
    row: &mut Vec<(u32, f64)>,
) -> PyResult<bool> {
    let Ok(indices) = indices.cast::<PyArray1<T>>() else { return Ok(false) };
    // SAFETY: this thread holds the interpreter's lock and calls no Python code while it reads. So nobody writes.
    let slices = unsafe { (indices.as_slice(), entries.as_slice()) };
    let (Ok(indices), Ok(entries)) = slices else { return Ok(false) };
    push_entries(indices, entries, dim, row)?;
    Ok(true)
}

fn push_entries<T: Copy + Into<i64>>(
    indices: &[T],
    entries: &[f64],
    dim: usize,
    row: &mut Vec<(u32, f64)>,
) -> PyResult<()> {
    let (expected, found) = (indices.len(), entries.len());
    if found != expected {
        return Err(PyValueError::new_err(format!("entries: expected as many as indices, {expected}, found {found}")));
    }
    for (&index, &entry) in indices.iter().zip(entries) {
        let index: i64 = index.into();
        if index < 0 || index as usize >= dim {
            let message = format!("indices: expected numbers from 0 to {}, found {index}", dim.saturating_sub(1));
            return Err(PyValueError::new_err(message));
        }
        if !entry.is_finite() {
            let message = format!("entries: expected finite numbers, found {entry} for index {index}");
            return Err(PyValueError::new_err(message));
        }
        row.push((index as u32, entry));
    }
    Ok(())
}
