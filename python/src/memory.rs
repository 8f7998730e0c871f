//! Python objects behind the numbers of the library: solutions by number, fingerprints of components.

use std::collections::{HashMap, HashSet};

use bundlenet::{Primal, State};
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::PyList;

/// Solutions by number. The number of a solution is its variable in a [`Primal`].
#[derive(Default)]
pub(crate) struct Solved {
    solutions: HashMap<u32, Solution>,
    next: u32,
}

struct Solution {
    component: usize,
    object: Py<PyAny>,
}

impl Solved {
    /// Adds a solution. Returns its number.
    pub(crate) fn add(&mut self, component: usize, object: Py<PyAny>) -> PyResult<u32> {
        let number = self.next;
        let next = number.checked_add(1);
        self.next = next.ok_or_else(|| PyOverflowError::new_err("expected fewer than 2^32 solutions, found more"))?;
        self.solutions.insert(number, Solution { component, object });
        Ok(number)
    }

    /// The solution with a number.
    pub(crate) fn get(&self, number: u32) -> Option<&Py<PyAny>> {
        self.solutions.get(&number).map(|solution| &solution.object)
    }

    /// The rows `(component, weight, solution)` of a combination, by component.
    pub(crate) fn rows<'py>(&self, py: Python<'py>, primal: &Primal) -> PyResult<Bound<'py, PyList>> {
        let known = |&(number, weight): &(u32, f64)| Some((self.solutions.get(&number)?, weight));
        let mut rows: Vec<(&Solution, f64)> = primal.variables.iter().filter_map(known).collect();
        rows.sort_by_key(|(solution, _)| solution.component);
        PyList::new(py, rows.iter().map(|(solution, weight)| (solution.component, *weight, &solution.object)))
    }

    /// Forgets the solutions that no cut of the state needs.
    pub(crate) fn keep_for(&mut self, state: &State) {
        let mut needed = HashSet::new();
        for primal in state.cuts().filter_map(|cut| cut.primal) {
            needed.extend(primal.variables.iter().map(|(number, _)| *number));
        }
        self.solutions.retain(|number, _| needed.contains(number));
        self.next = needed.into_iter().max().map_or(0, |largest| largest.saturating_add(1));
    }

    /// A copy that shares all objects.
    pub(crate) fn copy(&self, py: Python<'_>) -> Self {
        Self::from_rows(self.to_rows(py))
    }

    /// Number, component and object of each solution.
    pub(crate) fn to_rows(&self, py: Python<'_>) -> Vec<(u32, usize, Py<PyAny>)> {
        let row = |(number, solution): (&u32, &Solution)| (*number, solution.component, solution.object.clone_ref(py));
        self.solutions.iter().map(row).collect()
    }

    /// The inverse of [`Solved::to_rows`].
    pub(crate) fn from_rows(rows: Vec<(u32, usize, Py<PyAny>)>) -> Self {
        let next = rows.iter().map(|(number, ..)| number.saturating_add(1)).max().unwrap_or(0);
        let solution = |(number, component, object)| (number, Solution { component, object });
        Self { solutions: rows.into_iter().map(solution).collect(), next }
    }
}

/// Fingerprints of the components of a sum. Equal fingerprints of a component have the same number.
#[derive(Default)]
pub(crate) struct Fingerprints {
    each: Vec<Option<Fingerprint>>,
    /// Never used before.
    next: u64,
}

/// A user's fingerprint and the number that stands for it.
struct Fingerprint {
    object: Py<PyAny>,
    number: u64,
}

/// The objects and numbers of all fingerprints, and the next number.
pub(crate) type FingerprintRows = (Vec<Option<(Py<PyAny>, u64)>>, u64);

impl Fingerprints {
    /// The number of a component's fingerprint.
    pub(crate) fn number(&self, component: usize) -> Option<u64> {
        self.each.get(component)?.as_ref().map(|fingerprint| fingerprint.number)
    }

    /// The fingerprints of a sum. One that is equal to the earlier one has its number. `objects` may be `None`.
    pub(crate) fn follow(&self, objects: &Bound<'_, PyAny>) -> PyResult<Self> {
        let mut new = Self { each: vec![], next: self.next };
        if objects.is_none() {
            return Ok(new);
        }
        for (index, object) in objects.try_iter()?.enumerate() {
            let object = object?;
            if object.is_none() {
                new.each.push(None);
                continue;
            }
            let number = match self.each.get(index) {
                Some(Some(old)) if object.eq(old.object.bind(objects.py()))? => old.number,
                _ => {
                    new.next += 1;
                    new.next - 1
                }
            };
            new.each.push(Some(Fingerprint { object: object.unbind(), number }));
        }
        Ok(new)
    }

    /// No fingerprints, after a run of another function.
    pub(crate) fn clear(&mut self) {
        self.each.clear();
    }

    /// A copy that shares all objects.
    pub(crate) fn copy(&self, py: Python<'_>) -> Self {
        Self::from_rows(self.to_rows(py))
    }

    /// All content.
    pub(crate) fn to_rows(&self, py: Python<'_>) -> FingerprintRows {
        let row = |each: &Fingerprint| (each.object.clone_ref(py), each.number);
        (self.each.iter().map(|each| each.as_ref().map(row)).collect(), self.next)
    }

    /// The inverse of [`Fingerprints::to_rows`].
    pub(crate) fn from_rows((rows, next): FingerprintRows) -> Self {
        let fingerprint = |(object, number)| Fingerprint { object, number };
        Self { each: rows.into_iter().map(|row| row.map(fingerprint)).collect(), next }
    }
}
