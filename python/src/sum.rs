//! `bundlenet.Sum` as an oracle: components that are Python functions.

use std::collections::HashMap;

use bundlenet::{Domain, Interval, Minorants, Oracle, OracleError, Primal, PrimalOracle, Sense, Solutions, SumOracle};
use numpy::PyArray1;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{IntoPyDict, PyDict, PyList, PyTuple};

use crate::answer::{interval, read_row};
use crate::convert::{imported, vector};
use crate::memory::{Fingerprints, Solved};
use crate::state::Content;

/// A line: its value at 0, and the entries of its slope.
type Line = (f64, Vec<(u32, f64)>);

/// A Python function of a point, which may also take an accuracy.
pub(crate) struct Callable {
    function: Py<PyAny>,
    takes_accuracy: bool,
}

impl Callable {
    pub(crate) fn new(function: &Bound<'_, PyAny>) -> PyResult<Self> {
        static TAKES_ACCURACY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let takes_accuracy = imported(function.py(), &TAKES_ACCURACY, "bundlenet._sum", "takes_accuracy")?;
        let takes_accuracy = takes_accuracy.call1((function,))?.extract()?;
        Ok(Self { function: function.clone().unbind(), takes_accuracy })
    }

    /// Calls the function at a point.
    pub(crate) fn call<'py>(&self, point: &Bound<'py, PyArray1<f64>>, accuracy: f64) -> PyResult<Bound<'py, PyAny>> {
        self.function.bind(point.py()).call((point,), self.keywords(point.py(), accuracy)?.as_ref())
    }

    /// Submits the call to an executor.
    fn submit<'py>(
        &self,
        executor: &Bound<'py, PyAny>,
        point: &Bound<'py, PyArray1<f64>>,
        accuracy: f64,
    ) -> PyResult<Bound<'py, PyAny>> {
        let keywords = self.keywords(point.py(), accuracy)?;
        executor.call_method("submit", (&self.function, point), keywords.as_ref())
    }

    fn keywords<'py>(&self, py: Python<'py>, accuracy: f64) -> PyResult<Option<Bound<'py, PyDict>>> {
        self.takes_accuracy.then(|| [("accuracy", accuracy)].into_py_dict(py)).transpose()
    }
}

/// The variables of a function, and the sense in which it is optimised.
#[derive(Clone)]
pub(crate) struct Space {
    pub(crate) dim: usize,
    pub(crate) domain: Domain,
    pub(crate) sense: Sense,
    /// As [`Oracle::scales`].
    pub(crate) scales: Option<Vec<f64>>,
}

/// A `Sum` as an oracle.
pub(crate) struct PythonSum {
    components: Vec<Callable>,
    linear: Vec<f64>,
    multiplicities: Vec<f64>,
    reprice: Option<Py<PyAny>>,
    executor: Option<Py<PyAny>>,
    space: Space,
    /// Wished width of the interval of each component.
    accuracy: f64,
    /// Whether components return solutions. The first answer decides.
    has_solutions: Option<bool>,
    keeps_solutions: bool,
    /// Solutions of the last evaluation: of the values, and of further cuts.
    written: Solutions,
    written_more: Solutions,
    /// Solutions of all evaluations, and of earlier runs.
    solved: Solved,
    fingerprints: Fingerprints,
    /// Lines of earlier solutions with the present data, so that each is computed once.
    lines: HashMap<u32, Option<Line>>,
    minorants: Minorants,
    row: Vec<(u32, f64)>,
    /// The exception that a component raised.
    pub(crate) raised: Option<PyErr>,
}

/// An exception of a component, or about its answer.
struct Fault {
    component: usize,
    /// Place of the cut, if the answer is a list.
    cut: Option<usize>,
    error: PyErr,
}

/// Whether an object is a `Sum`.
pub(crate) fn is_sum(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    static SUM: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    object.is_instance(&imported(object.py(), &SUM, "bundlenet._sum", "Sum")?)
}

/// The coefficients of the linear part of a `Sum`, if it has one.
pub(crate) fn linear_of(sum: &Bound<'_, PyAny>) -> PyResult<Option<Vec<f64>>> {
    let linear = sum.getattr("linear")?;
    if linear.is_none() { Ok(None) } else { vector(&linear, "linear").map(Some) }
}

impl PythonSum {
    /// The oracle of a `Sum`. `keeps_solutions` says whether the run uses solutions.
    pub(crate) fn new(
        sum: &Bound<'_, PyAny>,
        space: Space,
        executor: Option<Py<PyAny>>,
        keeps_solutions: bool,
    ) -> PyResult<Self> {
        let components = sum.getattr("components")?.try_iter()?;
        let components: Vec<Callable> = components.map(|item| Callable::new(&item?)).collect::<PyResult<_>>()?;
        let linear = linear_of(sum)?.unwrap_or_else(|| vec![0.0; space.dim]);
        check_count("linear", space.dim, linear.len())?;
        let multiplicities = sum.getattr("multiplicities")?;
        let multiplicities = match multiplicities.is_none() {
            true => vec![1.0; components.len()],
            false => vector(&multiplicities, "multiplicities")?,
        };
        check_count("multiplicities", components.len(), multiplicities.len())?;
        Ok(Self {
            components,
            linear,
            multiplicities,
            reprice: sum.getattr("reprice")?.extract()?,
            executor,
            space,
            accuracy: f64::INFINITY,
            has_solutions: None,
            keeps_solutions,
            written: Solutions::new(),
            written_more: Solutions::new(),
            solved: Solved::default(),
            fingerprints: Fingerprints::default(),
            lines: HashMap::new(),
            minorants: Minorants::new(),
            row: vec![],
            raised: None,
        })
    }

    /// Takes over the solutions of earlier runs, and compares their fingerprints with those of `sum`.
    pub(crate) fn begin_with(&mut self, content: &mut Content, sum: &Bound<'_, PyAny>) -> PyResult<()> {
        self.fingerprints = content.fingerprints.follow(&sum.getattr("fingerprints")?)?;
        self.solved = std::mem::take(&mut content.solved);
        Ok(())
    }

    /// Gives back the solutions, with those of this run. A run that did not begin leaves the fingerprints as they were.
    pub(crate) fn end_with(&mut self, content: &mut Content, has_begun: bool) {
        content.solved = std::mem::take(&mut self.solved);
        if has_begun {
            content.fingerprints = std::mem::take(&mut self.fingerprints);
        }
    }

    /// The rows `(component, weight, solution)` of a combination of solutions.
    pub(crate) fn rows<'py>(&self, py: Python<'py>, primal: &Primal) -> PyResult<Bound<'py, PyList>> {
        self.solved.rows(py, primal)
    }

    /// Evaluates components at a point, all or the given ones.
    fn ask(&mut self, which: Option<&[usize]>, point: &[f64], minorants: &mut Minorants) -> Result<(), OracleError> {
        if let Some(error) = &self.raised {
            return Err(error.to_string().into());
        }
        self.written.clear();
        self.written_more.clear();
        let result = Python::attach(|py| self.evaluate_in(py, which, point, minorants));
        result.map_err(|Fault { component, cut, error }| {
            let cut = cut.map_or_else(String::new, |cut| format!(", cut {cut}"));
            let message = format!("component {component}{cut}: {error}");
            self.raised = Some(error);
            message.into()
        })
    }

    fn evaluate_in(
        &mut self,
        py: Python<'_>,
        which: Option<&[usize]>,
        point: &[f64],
        minorants: &mut Minorants,
    ) -> Result<(), Fault> {
        let count = which.map_or(self.components.len(), <[usize]>::len);
        let component = |index: usize| which.map_or(index, |which| which[index]);
        let fault = |component: usize| move |error: PyErr| Fault { component, cut: None, error };
        let array = shared_array(py, point).map_err(fault(0))?;
        let Some(executor) = self.executor.as_ref().map(|executor| executor.bind(py).clone()) else {
            for component in (0..count).map(component) {
                let answer = self.components[component].call(&array, self.accuracy).map_err(fault(component))?;
                self.read(component, &answer, point, minorants)?;
            }
            return Ok(());
        };
        let mut futures = Pending(vec![]);
        for component in (0..count).map(component) {
            let future = self.components[component].submit(&executor, &array, self.accuracy);
            futures.0.push(future.map_err(fault(component))?);
        }
        for index in 0..count {
            let answer = futures.0[index].call_method0("result").map_err(fault(component(index)))?;
            self.read(component(index), &answer, point, minorants)?;
        }
        futures.0.clear();
        Ok(())
    }

    /// Reads the answer of a component: a cut, or a list of cuts.
    fn read(
        &mut self,
        component: usize,
        answer: &Bound<'_, PyAny>,
        point: &[f64],
        minorants: &mut Minorants,
    ) -> Result<(), Fault> {
        let Ok(cuts) = answer.cast::<PyList>() else {
            let read = self.read_cut(component, true, answer, point, minorants);
            return read.map_err(|error| Fault { component, cut: None, error });
        };
        if cuts.is_empty() {
            let error = PyValueError::new_err("expected at least one cut, found an empty list");
            return Err(Fault { component, cut: None, error });
        }
        for (place, cut) in cuts.iter().enumerate() {
            let read = self.read_cut(component, place == 0, &cut, point, minorants);
            read.map_err(|error| Fault { component, cut: Some(place), error })?;
        }
        Ok(())
    }

    /// Reads `(value, indices, entries)` or `(value, indices, entries, solution)`.
    fn read_cut(
        &mut self,
        component: usize,
        is_first: bool,
        answer: &Bound<'_, PyAny>,
        point: &[f64],
        minorants: &mut Minorants,
    ) -> PyResult<()> {
        let tuple = answer.cast::<PyTuple>().ok().filter(|tuple| matches!(tuple.len(), 3 | 4)).ok_or_else(|| {
            let found = match answer.cast::<PyTuple>() {
                Ok(tuple) => format!("a tuple of length {}", tuple.len()),
                Err(_) => answer.get_type().to_string(),
            };
            let expected = "a tuple (value, indices, entries) or (value, indices, entries, solution)";
            PyTypeError::new_err(format!("expected {expected}, found {found}"))
        })?;
        let Interval { cut, bound } = interval(&tuple.get_item(0)?)?;
        read_row(&tuple.get_item(1)?, &tuple.get_item(2)?, self.linear.len(), &mut self.row)?;
        self.check_solution(tuple.len() == 4)?;
        let row = self.row.iter().copied();
        match () {
            () if !is_first => minorants.push_more(cut, row),
            () if cut == bound => minorants.push(cut, row),
            () => minorants.push_within(cut, bound, row),
        }
        if self.keeps_solutions && tuple.len() == 4 {
            let rise: f64 = self.row.iter().map(|&(at, entry)| entry * point[at as usize]).sum();
            let id = self.solved.add(component, tuple.get_item(3)?.unbind())?;
            let written = if is_first { &mut self.written } else { &mut self.written_more };
            written.push(cut - rise, [(id, 1.0)]);
        }
        Ok(())
    }

    /// All cuts have solutions, or none has.
    fn check_solution(&mut self, found: bool) -> PyResult<()> {
        let expected = *self.has_solutions.get_or_insert(found);
        if expected == found {
            return Ok(());
        }
        let what = |has: bool| if has { "a solution" } else { "no solution" };
        let (expected, found) = (what(expected), what(found));
        Err(PyTypeError::new_err(format!("expected {expected}, as in the first answer of a component, found {found}")))
    }

    /// The line of an earlier solution with the present data.
    fn line(&mut self, component: usize, id: u32) -> Option<Line> {
        if let Some(line) = self.lines.get(&id) {
            return line.clone();
        }
        let line = match Python::attach(|py| self.repriced(py, component, id)) {
            Ok(line) => line,
            Err(error) => {
                // The next evaluation ends the run.
                self.raised = Some(error);
                None
            }
        };
        self.lines.insert(id, line.clone());
        line
    }

    fn repriced(&mut self, py: Python<'_>, component: usize, id: u32) -> PyResult<Option<Line>> {
        let (Some(reprice), Some(solution)) = (&self.reprice, self.solved.get(id)) else { return Ok(None) };
        let line = reprice.bind(py).call1((component, solution))?;
        if line.is_none() {
            return Ok(None);
        }
        let tuple = line.cast::<PyTuple>().ok().filter(|tuple| tuple.len() == 3).ok_or_else(|| {
            let found = line.get_type();
            let expected = "None or a tuple (value at 0, indices, entries)";
            PyTypeError::new_err(format!("reprice, component {component}: expected {expected}, found {found}"))
        })?;
        let constant = interval(&tuple.get_item(0)?)?.cut;
        read_row(&tuple.get_item(1)?, &tuple.get_item(2)?, self.linear.len(), &mut self.row)?;
        Ok(Some((constant, self.row.clone())))
    }
}

/// Futures that are cancelled unless all of them are read.
struct Pending<'py>(Vec<Bound<'py, PyAny>>);

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        // A call that runs already cannot be cancelled, and some executors cannot cancel at all.
        self.0.iter().for_each(|future| drop(future.call_method0("cancel")));
    }
}

/// A point as an array that all components share. They cannot write to it.
fn shared_array<'py>(py: Python<'py>, point: &[f64]) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let array = PyArray1::from_slice(py, point);
    array.call_method1(pyo3::intern!(py, "setflags"), (false,))?;
    Ok(array)
}

fn check_count(name: &str, expected: usize, found: usize) -> PyResult<()> {
    if expected == found {
        return Ok(());
    }
    Err(PyValueError::new_err(format!("{name}: expected {expected} numbers, found {found}")))
}

impl Oracle for PythonSum {
    fn dim(&self) -> usize {
        self.linear.len()
    }

    fn evaluate(&mut self, point: &[f64], subgradient: &mut [f64]) -> Result<f64, OracleError> {
        self.evaluate_within(point, subgradient).map(|interval| interval.bound)
    }

    fn evaluate_within(&mut self, point: &[f64], subgradient: &mut [f64]) -> Result<Interval, OracleError> {
        let mut minorants = std::mem::take(&mut self.minorants);
        minorants.clear();
        let result = self.ask(None, point, &mut minorants);
        // The value has no further cuts.
        self.written_more.clear();
        if result.is_ok() {
            subgradient.copy_from_slice(&self.linear);
        }
        let linear: f64 = self.linear.iter().zip(point).map(|(entry, at)| entry * at).sum();
        let mut interval = Interval::exact(linear);
        for (index, factor) in self.multiplicities.iter().enumerate().take(minorants.len()) {
            interval.cut += factor * minorants.values()[index];
            interval.bound += factor * minorants.bounds()[index];
            let (coordinates, entries) = minorants.subgradient(index);
            coordinates.iter().zip(entries).for_each(|(&at, entry)| subgradient[at as usize] += factor * entry);
        }
        self.minorants = minorants;
        result.map(|()| interval)
    }

    /// Each component gets the same share.
    fn wish(&mut self, accuracy: f64) {
        self.accuracy = accuracy / self.multiplicities.iter().sum::<f64>();
    }

    fn domain(&self) -> Domain {
        self.space.domain.clone()
    }

    fn sense(&self) -> Sense {
        self.space.sense
    }

    fn scales(&self) -> Option<Vec<f64>> {
        self.space.scales.clone()
    }

    fn as_sum(&mut self) -> Option<&mut dyn SumOracle> {
        Some(self)
    }

    fn as_primal(&mut self) -> Option<&mut dyn PrimalOracle> {
        if self.has_solutions == Some(false) { None } else { Some(self) }
    }
}

impl SumOracle for PythonSum {
    fn component_count(&self) -> usize {
        self.components.len()
    }

    fn linear(&self) -> &[f64] {
        &self.linear
    }

    fn evaluate_components(&mut self, point: &[f64], minorants: &mut Minorants) -> Result<(), OracleError> {
        self.ask(None, point, minorants)
    }

    fn evaluate_some(
        &mut self,
        components: &[usize],
        point: &[f64],
        minorants: &mut Minorants,
    ) -> Result<(), OracleError> {
        self.ask(Some(components), point, minorants)
    }

    fn multiplicity(&self, component: usize) -> f64 {
        self.multiplicities[component]
    }

    fn fingerprint(&self, component: usize) -> Option<u64> {
        self.fingerprints.number(component)
    }
}

impl PrimalOracle for PythonSum {
    /// A solution is a variable of its own, with the value 1. So a combination has the weights of the solutions.
    fn write_solutions(&mut self, solutions: &mut Solutions) {
        solutions.append(&self.written);
        solutions.append(&self.written_more);
    }

    /// The same combination of the lines of all solutions.
    fn line_of(&mut self, component: usize, solution: &mut Primal) -> Option<(f64, Vec<(u32, f64)>)> {
        let (mut constant, mut slope) = (0.0, vec![]);
        for &(id, weight) in &solution.variables {
            let (value, entries) = self.line(component, id)?;
            constant += weight * value;
            slope.extend(entries.into_iter().map(|(at, entry)| (at, weight * entry)));
        }
        Some((constant, slope))
    }
}
