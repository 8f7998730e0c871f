//! Conversion of Python's values to those of the library.

use std::path::PathBuf;

use numpy::{PyArray1, PyArrayDescrMethods, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyFloat, PyMapping, PyString};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Number, Value};

/// An object of another module, looked up once.
pub(crate) fn imported<'py>(
    py: Python<'py>,
    cell: &'static PyOnceLock<Py<PyAny>>,
    module: &str,
    name: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let object = cell.get_or_try_init(py, || Ok::<_, PyErr>(py.import(module)?.getattr(name)?.unbind()))?;
    Ok(object.bind(py).clone())
}

/// Shows the numbers of a vector to `read`. The vector is an array of one dimension, or an object that numpy converts
/// to one. Errors call it `name`.
fn with_numbers<T>(object: &Bound<'_, PyAny>, name: &str, read: impl FnOnce(&[f64]) -> PyResult<T>) -> PyResult<T> {
    if let Ok(array) = object.cast::<PyArray1<f64>>() {
        let view = array.try_readonly()?;
        if let Ok(numbers) = view.as_slice() {
            return read(numbers);
        }
    }
    // The array has another type, has gaps or is not aligned. A copy has none of these faults.
    let array = real_array(object, name, 1)?.call_method1("astype", ("float64", "C"))?;
    read(array.cast::<PyArray1<f64>>()?.try_readonly()?.as_slice()?)
}

/// The numbers of an array of one dimension.
pub(crate) fn vector(object: &Bound<'_, PyAny>, name: &str) -> PyResult<Vec<f64>> {
    with_numbers(object, name, |numbers| Ok(numbers.to_vec()))
}

/// Reads a vector into a buffer of the same length.
pub(crate) fn read_vector(object: &Bound<'_, PyAny>, into: &mut [f64], name: &str) -> PyResult<()> {
    with_numbers(object, name, |numbers| {
        let (expected, found) = (into.len(), numbers.len());
        if found != expected {
            let message = format!("{name}: expected an array of shape ({expected},), found ({found},)");
            return Err(PyValueError::new_err(message));
        }
        into.copy_from_slice(numbers);
        Ok(())
    })
}

/// The numbers of an array of two dimensions, row by row, and its shape.
pub(crate) fn matrix(object: &Bound<'_, PyAny>, name: &str) -> PyResult<(Vec<f64>, [usize; 2])> {
    let array = real_array(object, name, 2)?;
    let shape = [array.shape()[0], array.shape()[1]];
    Ok((vector(&array.call_method0("ravel")?, name)?, shape))
}

/// An array of real numbers with the given number of dimensions.
pub(crate) fn real_array<'py>(
    object: &Bound<'py, PyAny>,
    name: &str,
    dimensions: usize,
) -> PyResult<Bound<'py, PyUntypedArray>> {
    static AS_ARRAY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let array = imported(object.py(), &AS_ARRAY, "numpy", "asarray")?.call1((object,))?;
    let array = array.cast_into::<PyUntypedArray>()?;
    if !matches!(array.dtype().kind(), b'b' | b'i' | b'u' | b'f') {
        let found = array.dtype();
        return Err(PyTypeError::new_err(format!("{name}: expected real numbers, found an array of type {found}")));
    }
    if array.ndim() != dimensions {
        let found = array.getattr("shape")?;
        let expected = if dimensions == 1 { "one dimension" } else { "two dimensions" };
        return Err(PyValueError::new_err(format!("{name}: expected an array of {expected}, found shape {found}")));
    }
    Ok(array)
}

/// Whole numbers.
pub(crate) fn whole<T: TryFrom<u64>>(numbers: Vec<f64>, name: &str) -> PyResult<Vec<T>> {
    let convert = |(index, number): (usize, f64)| {
        // A whole number below 2^53 is exact as a float.
        let is_whole = number.fract() == 0.0 && (0.0..9e15).contains(&number);
        let converted = if is_whole { T::try_from(number as u64).ok() } else { None };
        converted.ok_or_else(|| {
            PyValueError::new_err(format!("{name}: expected entry {index} to be a whole number, found {number}"))
        })
    };
    numbers.into_iter().enumerate().map(convert).collect()
}

/// A value of the library from dictionaries, lists, numbers and paths; errors call it `name`.
pub(crate) fn deserialized<T: DeserializeOwned>(object: &Bound<'_, PyAny>, name: &str) -> PyResult<T> {
    serde_json::from_value(json(object, name)?).map_err(|error| PyValueError::new_err(format!("{name}: {error}")))
}

/// A value of the library as dictionaries, lists and numbers.
pub(crate) fn serialized<'py>(py: Python<'py>, object: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    static LOADS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let text = serde_json::to_string(object).map_err(|error| PyValueError::new_err(error.to_string()))?;
    imported(py, &LOADS, "json", "loads")?.call1((text,))
}

fn json(object: &Bound<'_, PyAny>, name: &str) -> PyResult<Value> {
    if object.is_none() {
        Ok(Value::Null)
    } else if let Ok(truth) = object.cast::<PyBool>() {
        Ok(Value::Bool(truth.is_true()))
    } else if let Ok(text) = object.cast::<PyString>() {
        Ok(Value::String(text.to_str()?.to_string()))
    } else if let Ok(number) = object.cast::<PyFloat>() {
        let number = number.extract()?;
        let number = Number::from_f64(number)
            .ok_or_else(|| PyValueError::new_err(format!("{name}: expected a finite number, found {number}")))?;
        Ok(Value::Number(number))
    } else if let Ok(number) = object.extract::<u64>() {
        Ok(Value::Number(number.into()))
    } else if let Ok(number) = object.extract::<i64>() {
        Ok(Value::Number(number.into()))
    } else if let Ok(mapping) = object.cast::<PyMapping>() {
        let mut map = Map::new();
        for item in mapping.items()? {
            let (key, value): (String, Bound<'_, PyAny>) = item.extract()?;
            let value = json(&value, &key)?;
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    } else if let Ok(path) = object.extract::<PathBuf>() {
        Ok(Value::String(path.to_string_lossy().into_owned()))
    } else if let Ok(items) = object.try_iter() {
        items.map(|item| json(&item?, name)).collect::<PyResult<Vec<Value>>>().map(Value::Array)
    } else {
        let found = object.get_type();
        let expected = "a mapping, sequence, number, text or path";
        Err(PyTypeError::new_err(format!("{name}: expected {expected}, found {found}")))
    }
}
