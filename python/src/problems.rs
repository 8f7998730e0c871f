//! The problem families, their instances and their duals.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use bundlenet::{EvaluationError, Function, InvalidSetting, Limits, Oracle, Sense, Settings, Solver};
use bundlenet_problems::facility_location::Site;
use bundlenet_problems::network_design::{Arc, Commodity};
use bundlenet_problems::{Assignment, Error, Family, Format, Generator, ReadOptions, Source};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyType};

use crate::convert::{imported, matrix, vector, whole};
use crate::failure::{at_start, exception};
use crate::model::Model;
use crate::run::{Interruption, Keywords, results, run, watched};
use crate::state::State;

/// An instance of one of the problem families.
#[pyclass(frozen, subclass, module = "bundlenet")]
pub(crate) struct Problem {
    problem: bundlenet_problems::Problem,
}

#[pymethods]
impl Problem {
    /// Reads an instance from a file in any known format, plain or gzip. `sense` (`"min"` or `"max"`) is the sense of a
    /// generalised assignment file that does not state it. `problem`, counted from 1, chooses a problem of a file with
    /// several. `capacity` is the capacity of every site of a facility location file with the word `capacity` in its
    /// place. `formulation` (`"pglib"` or `"chp"`) is the model of a unit commitment file.
    #[classmethod]
    #[pyo3(signature = (path, *, sense=None, problem=None, capacity=None, formulation=None))]
    fn read(
        cls: &Bound<'_, PyType>,
        path: PathBuf,
        sense: Option<&str>,
        problem: Option<usize>,
        capacity: Option<f64>,
        formulation: Option<&str>,
    ) -> PyResult<Py<PyAny>> {
        let wrong = |error: String| PyValueError::new_err(format!("formulation: {error}"));
        let formulation = formulation.map(|name| name.parse().map_err(wrong)).transpose()?;
        let options = ReadOptions { sense: sense.map(sense_of).transpose()?, problem, capacity, formulation };
        let problem = cls.py().detach(|| bundlenet_problems::Problem::read(&path, options)).map_err(exception)?;
        of_class(cls, problem, &path.display().to_string())
    }

    /// Generates instance number `index` of a family of data sets. The same family, seed and index always give the same
    /// instance. With `base`, the instance is a perturbation of that one. `commodities` is the number of commodities in
    /// network design.
    #[classmethod]
    #[pyo3(signature = (family, seed, *, index=0, base=None, commodities=None))]
    fn generate(
        cls: &Bound<'_, PyType>,
        family: &str,
        seed: u64,
        index: usize,
        base: Option<&Bound<'_, Self>>,
        commodities: Option<usize>,
    ) -> PyResult<Py<PyAny>> {
        let name = family;
        let family: Family = name.parse().map_err(|error| PyValueError::new_err(format!("family: {error}")))?;
        let mut generator = Generator::new(family, seed);
        if let Some(base) = base {
            generator = generator.with_base("base", base.get().problem.clone()).map_err(exception)?;
        }
        if let Some(commodities) = commodities {
            generator = generator.with_commodities(commodities).map_err(exception)?;
        }
        let generated = cls.py().detach(|| generator.instance(index)).map_err(exception)?;
        of_class(cls, generated.problem, name)
    }

    /// Writes the instance to a file. The extension chooses the format: `.json`, `.dat`, `.dow` or `.txt`, and `.gz`
    /// after it compresses.
    fn write(&self, path: PathBuf) -> PyResult<()> {
        let content = self.problem.to_bytes(&path).map_err(exception)?;
        std::fs::write(&path, content).map_err(|source| exception(Error::Write { path, source }))
    }

    /// The Lagrangian dual as a function: `dual(x)` returns the value and a subgradient at `x`.
    fn dual(&self) -> Dual {
        let oracle = self.problem.dual();
        let (dim, sense) = (oracle.dim(), oracle.sense());
        let domain = oracle.domain();
        let are_nonnegative = (0..dim).map(|index| domain.is_nonnegative(index)).collect();
        Dual { oracle: Mutex::new(oracle), dim, sense, are_nonnegative }
    }

    /// Computes the Lagrangian bound: optimises the dual from the start `x0`, 0 by default. `threads` is the number of
    /// threads that evaluate the dual of a large instance, by default one for each core. The other arguments are those
    /// of `minimize`.
    #[pyo3(signature = (x0=None, *, method="auto", options=None, model=None, steps=None, oracle_calls=None,
        time_limit=None, target=None, tolerance=1e-7, callback=None, threads=None, state=None))]
    #[expect(clippy::too_many_arguments, reason = "keywords")]
    fn solve(
        &self,
        py: Python<'_>,
        x0: Option<&Bound<'_, PyAny>>,
        method: &str,
        options: Option<&Bound<'_, PyAny>>,
        model: Option<&Bound<'_, Model>>,
        steps: Option<usize>,
        oracle_calls: Option<usize>,
        time_limit: Option<f64>,
        target: Option<f64>,
        tolerance: f64,
        callback: Option<Py<PyAny>>,
        threads: Option<usize>,
        state: Option<&Bound<'_, State>>,
    ) -> PyResult<Py<PyAny>> {
        let keywords = Keywords { method, options, model, steps, oracle_calls, time_limit, target, tolerance };
        let settings = keywords.settings()?;
        let start = x0.map(|x0| vector(x0, "x0")).transpose()?;
        let mut dual = self.problem.dual();
        let mut loan = state.map(|state| state.get().lend()).transpose()?;
        let state = loan.as_mut().map(|loan| loan.content.for_another_function());
        // A state that is not empty has a start.
        let start = start.as_deref().filter(|_| state.as_ref().is_none_or(|state| state.point().is_empty()));
        let outcome = run(py, &mut *dual, start, settings, callback.as_ref(), threads, state)?;
        self.with_prices(py, outcome.into_result(py, None, None)?)
    }

    /// Computes the optimum of the dual to a relative gap of 1e-9, as `bundlenet reference` does. `certificate` is
    /// the proved gap.
    #[pyo3(signature = (*, time_limit=600.0, callback=None, threads=None))]
    fn reference(
        &self,
        py: Python<'_>,
        time_limit: f64,
        callback: Option<Py<PyAny>>,
        threads: Option<usize>,
    ) -> PyResult<Py<PyAny>> {
        let limits = Limits { seconds: Some(time_limit), ..Limits::default() };
        let settings = Settings { limits, ..Settings::exact() };
        let outcome = run(py, &mut *self.problem.dual(), None, settings, callback.as_ref(), threads, None)?;
        self.with_prices(py, outcome.into_result(py, None, None)?)
    }

    /// A bound on the optimum that holds in exact arithmetic, as a `fractions.Fraction`: the value of the dual at the
    /// multipliers `x`, rounded to a grid. The data of the instance must be integers.
    fn safe_bound<'py>(&self, py: Python<'py>, x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        static FRACTION: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let point = vector(x, "x")?;
        let bound = py.detach(|| self.problem.safe_bound(&point));
        let fraction = bound.map_err(|error| PyValueError::new_err(error.to_string()))?.fraction();
        imported(py, &FRACTION, "fractions", "Fraction")?.call1(fraction)
    }

    #[staticmethod]
    fn _from_json(py: Python<'_>, text: String) -> PyResult<Py<PyAny>> {
        let source = Source::parse("instance.json", text.into_bytes(), None).map_err(exception)?;
        of_class(&py.get_type::<Self>(), source.choose(None).map_err(exception)?, "instance.json")
    }

    /// Pickles and copies go through the JSON text, which keeps every number and the sense.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        let text = self.problem.to_text(Format::Json).map_err(exception)?;
        Ok((py.get_type::<Self>().getattr("_from_json")?, (text,)))
    }
}

impl Problem {
    /// Adds the prices of unit commitment to a result.
    fn with_prices(&self, py: Python<'_>, result: Py<PyAny>) -> PyResult<Py<PyAny>> {
        if let bundlenet_problems::Problem::UnitCommitment(instance) = &self.problem {
            let object = result.bind(py);
            let point = vector(&object.get_item("x")?, "x")?;
            let (energy, reserve) = instance.split_prices(&point);
            object.set_item("energy_prices", energy.to_vec().into_pyarray(py))?;
            object.set_item("reserve_prices", reserve.to_vec().into_pyarray(py))?;
        }
        Ok(result)
    }
}

/// Solves many instances at once on `threads` threads, by default one for each core. The other arguments are those of
/// `Problem.solve`. After Ctrl-C every result has the best point of its run.
#[pyfunction]
#[pyo3(signature = (problems, *, method="auto", options=None, model=None, steps=None, oracle_calls=None,
    time_limit=None, target=None, tolerance=1e-7, threads=None))]
#[expect(clippy::too_many_arguments, reason = "keywords")]
pub(crate) fn solve_batch(
    py: Python<'_>,
    problems: &Bound<'_, PyAny>,
    method: &str,
    options: Option<&Bound<'_, PyAny>>,
    model: Option<&Bound<'_, Model>>,
    steps: Option<usize>,
    oracle_calls: Option<usize>,
    time_limit: Option<f64>,
    target: Option<f64>,
    tolerance: f64,
    threads: Option<usize>,
) -> PyResult<Vec<Py<PyAny>>> {
    let settings =
        Keywords { method, options, model, steps, oracle_calls, time_limit, target, tolerance }.settings()?;
    let mut duals = vec![];
    for problem in problems.try_iter()? {
        duals.push(problem?.cast::<Problem>()?.get().problem.dual());
    }
    let interruption = Interruption::default();
    let solutions = watched(py, threads, &interruption, || {
        let solver = Solver::new(settings)?.interrupt(interruption.flag());
        Ok::<_, InvalidSetting>(solver.solve_batch(&mut duals))
    })?;
    results(py, solutions.map_err(exception)?, interruption)
}

/// Multicommodity network design: open arcs at fixed costs, and route every commodity on open arcs at least cost.
#[pyclass(frozen, extends = Problem, module = "bundlenet")]
pub(crate) struct NetworkDesign;

#[pymethods]
impl NetworkDesign {
    /// An instance from its data. Nodes are counted from 0. `routing_costs` has a row for each arc and a column for
    /// each commodity.
    #[new]
    #[pyo3(signature = (nodes, *, tails, heads, fixed_costs, capacities, origins, destinations, demands,
        routing_costs))]
    #[expect(clippy::too_many_arguments, reason = "keywords")]
    fn new(
        nodes: usize,
        tails: &Bound<'_, PyAny>,
        heads: &Bound<'_, PyAny>,
        fixed_costs: &Bound<'_, PyAny>,
        capacities: &Bound<'_, PyAny>,
        origins: &Bound<'_, PyAny>,
        destinations: &Bound<'_, PyAny>,
        demands: &Bound<'_, PyAny>,
        routing_costs: &Bound<'_, PyAny>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let nodes_of = |object, name| whole::<usize>(vector(object, name)?, name);
        let (tails, heads) = (nodes_of(tails, "tails")?, nodes_of(heads, "heads")?);
        let (fixed_costs, capacities) = (vector(fixed_costs, "fixed_costs")?, vector(capacities, "capacities")?);
        check_lengths("arcs", &[tails.len(), heads.len(), fixed_costs.len(), capacities.len()])?;
        let (origins, destinations) = (nodes_of(origins, "origins")?, nodes_of(destinations, "destinations")?);
        let demands = vector(demands, "demands")?;
        check_lengths("commodities", &[origins.len(), destinations.len(), demands.len()])?;
        let (costs, shape) = matrix(routing_costs, "routing_costs")?;
        if shape != [tails.len(), demands.len()] {
            let (arcs, commodities) = (tails.len(), demands.len());
            return Err(PyValueError::new_err(format!(
                "routing_costs: expected shape ({arcs}, {commodities}), found {shape:?}"
            )));
        }
        let arc = |index: usize| Arc {
            tail: tails[index],
            head: heads[index],
            fixed_cost: fixed_costs[index],
            capacity: capacities[index],
        };
        let commodity = |index: usize| Commodity {
            origin: origins[index],
            destination: destinations[index],
            demand: demands[index],
        };
        let arcs = (0..tails.len()).map(arc).collect();
        let commodities = (0..demands.len()).map(commodity).collect();
        let instance = bundlenet_problems::NetworkDesign::new(nodes, arcs, commodities, costs).map_err(exception)?;
        let problem = Problem { problem: bundlenet_problems::Problem::NetworkDesign(instance) };
        Ok(PyClassInitializer::from(problem).add_subclass(Self))
    }

    /// Number of nodes.
    #[getter]
    fn nodes(this: PyRef<'_, Self>) -> PyResult<usize> {
        Ok(design(&this)?.nodes())
    }

    /// Number of arcs.
    #[getter]
    fn arcs(this: PyRef<'_, Self>) -> PyResult<usize> {
        Ok(design(&this)?.arcs().len())
    }

    /// Number of commodities.
    #[getter]
    fn commodities(this: PyRef<'_, Self>) -> PyResult<usize> {
        Ok(design(&this)?.commodities().len())
    }

    /// The tail of each arc.
    #[getter]
    fn tails<'py>(this: PyRef<'py, Self>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        Ok(numbers(this.py(), design(&this)?.arcs(), |arc| arc.tail as i64))
    }

    /// The head of each arc.
    #[getter]
    fn heads<'py>(this: PyRef<'py, Self>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        Ok(numbers(this.py(), design(&this)?.arcs(), |arc| arc.head as i64))
    }

    /// The cost of opening each arc.
    #[getter]
    fn fixed_costs<'py>(this: PyRef<'py, Self>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(numbers(this.py(), design(&this)?.arcs(), |arc| arc.fixed_cost))
    }

    /// The capacity of each arc.
    #[getter]
    fn capacities<'py>(this: PyRef<'py, Self>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(numbers(this.py(), design(&this)?.arcs(), |arc| arc.capacity))
    }

    /// The origin of each commodity.
    #[getter]
    fn origins<'py>(this: PyRef<'py, Self>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        Ok(numbers(this.py(), design(&this)?.commodities(), |commodity| commodity.origin as i64))
    }

    /// The destination of each commodity.
    #[getter]
    fn destinations<'py>(this: PyRef<'py, Self>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        Ok(numbers(this.py(), design(&this)?.commodities(), |commodity| commodity.destination as i64))
    }

    /// The demand of each commodity.
    #[getter]
    fn demands<'py>(this: PyRef<'py, Self>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(numbers(this.py(), design(&this)?.commodities(), |commodity| commodity.demand))
    }

    /// The cost of routing a unit, by arc and commodity.
    #[getter]
    fn routing_costs<'py>(this: PyRef<'py, Self>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let instance = design(&this)?;
        let (arcs, commodities) = (instance.arcs().len(), instance.commodities().len());
        let costs: Vec<f64> = (0..arcs).flat_map(|arc| instance.routing_costs(arc)).copied().collect();
        costs.into_pyarray(this.py()).reshape([arcs, commodities])
    }

    fn __repr__(this: PyRef<'_, Self>) -> PyResult<String> {
        let instance = design(&this)?;
        let (nodes, arcs, commodities) = (instance.nodes(), instance.arcs().len(), instance.commodities().len());
        Ok(format!("NetworkDesign(nodes={nodes}, arcs={arcs}, commodities={commodities})"))
    }
}

fn design<'a>(this: &'a PyRef<'_, NetworkDesign>) -> PyResult<&'a bundlenet_problems::NetworkDesign> {
    match &this.as_super().problem {
        bundlenet_problems::Problem::NetworkDesign(instance) => Ok(instance),
        other => Err(PyValueError::new_err(format!("expected network design, found {}", name_of(other)))),
    }
}

/// Generalised assignment: put items into bins of limited capacity. With `sense="max"`, each item goes into at most one
/// bin, for the largest profit. With `sense="min"`, each item goes into exactly one bin, at the least cost.
#[pyclass(frozen, extends = Problem, module = "bundlenet")]
pub(crate) struct GeneralizedAssignment;

#[pymethods]
impl GeneralizedAssignment {
    /// An instance from its data. `profits` (or costs) and `weights` have a row for each bin and a column for each
    /// item. Weights and capacities are whole numbers.
    #[new]
    #[pyo3(signature = (profits, weights, capacities, *, sense="max"))]
    fn new(
        profits: &Bound<'_, PyAny>,
        weights: &Bound<'_, PyAny>,
        capacities: &Bound<'_, PyAny>,
        sense: &str,
    ) -> PyResult<PyClassInitializer<Self>> {
        let (profits, shape) = matrix(profits, "profits")?;
        let (weights, weights_shape) = matrix(weights, "weights")?;
        let capacities: Vec<u32> = whole(vector(capacities, "capacities")?, "capacities")?;
        for (name, shape) in [("profits", shape), ("weights", weights_shape)] {
            if shape[0] != capacities.len() {
                let bins = capacities.len();
                return Err(PyValueError::new_err(format!(
                    "{name}: expected a row for each of {bins} bins, found {shape:?}"
                )));
            }
        }
        let weights = whole(weights, "weights")?;
        let instance = Assignment::new(sense_of(sense)?, shape[1], capacities, profits, weights).map_err(exception)?;
        let problem = Problem { problem: bundlenet_problems::Problem::Assignment(instance) };
        Ok(PyClassInitializer::from(problem).add_subclass(Self))
    }

    /// Number of bins.
    #[getter]
    fn bins(this: PyRef<'_, Self>) -> PyResult<usize> {
        Ok(assignment(&this)?.bins())
    }

    /// Number of items.
    #[getter]
    fn items(this: PyRef<'_, Self>) -> PyResult<usize> {
        Ok(assignment(&this)?.items())
    }

    /// The sense of the problem, `"min"` or `"max"`. Its dual has the other sense.
    #[getter]
    fn sense(this: PyRef<'_, Self>) -> PyResult<&'static str> {
        Ok(sense_name(assignment(&this)?.sense()))
    }

    /// Profits, or costs, by bin and item.
    #[getter]
    fn profits<'py>(this: PyRef<'py, Self>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let instance = assignment(&this)?;
        let profits: Vec<f64> = (0..instance.bins()).flat_map(|bin| instance.profits(bin)).copied().collect();
        profits.into_pyarray(this.py()).reshape([instance.bins(), instance.items()])
    }

    /// Weights by bin and item.
    #[getter]
    fn weights<'py>(this: PyRef<'py, Self>) -> PyResult<Bound<'py, PyArray2<i64>>> {
        let instance = assignment(&this)?;
        let weights = (0..instance.bins()).flat_map(|bin| instance.weights(bin)).map(|&weight| i64::from(weight));
        weights.collect::<Vec<_>>().into_pyarray(this.py()).reshape([instance.bins(), instance.items()])
    }

    /// Capacities by bin.
    #[getter]
    fn capacities<'py>(this: PyRef<'py, Self>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        Ok(numbers(this.py(), assignment(&this)?.capacities(), |&capacity| i64::from(capacity)))
    }

    fn __repr__(this: PyRef<'_, Self>) -> PyResult<String> {
        let instance = assignment(&this)?;
        let (bins, items, sense) = (instance.bins(), instance.items(), sense_name(instance.sense()));
        Ok(format!("GeneralizedAssignment(bins={bins}, items={items}, sense={sense:?})"))
    }
}

fn assignment<'a>(this: &'a PyRef<'_, GeneralizedAssignment>) -> PyResult<&'a Assignment> {
    match &this.as_super().problem {
        bundlenet_problems::Problem::Assignment(instance) => Ok(instance),
        other => Err(PyValueError::new_err(format!("expected generalised assignment, found {}", name_of(other)))),
    }
}

/// Capacitated facility location: open sites at fixed costs, and serve every customer from open sites within their
/// capacities, at the least cost. A customer may be served by several sites.
#[pyclass(frozen, extends = Problem, module = "bundlenet")]
pub(crate) struct FacilityLocation;

#[pymethods]
impl FacilityLocation {
    /// An instance from its data. `costs` has a row for each site and a column for each customer: the cost of serving
    /// all of the customer's demand from the site. A capacity may be infinite.
    #[new]
    #[pyo3(signature = (costs, *, demands, capacities, fixed_costs))]
    fn new(
        costs: &Bound<'_, PyAny>,
        demands: &Bound<'_, PyAny>,
        capacities: &Bound<'_, PyAny>,
        fixed_costs: &Bound<'_, PyAny>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let (costs, shape) = matrix(costs, "costs")?;
        let demands = vector(demands, "demands")?;
        let (capacities, fixed_costs) = (vector(capacities, "capacities")?, vector(fixed_costs, "fixed_costs")?);
        check_lengths("sites", &[capacities.len(), fixed_costs.len()])?;
        if shape != [capacities.len(), demands.len()] {
            let (sites, customers) = (capacities.len(), demands.len());
            return Err(PyValueError::new_err(format!(
                "costs: expected shape ({sites}, {customers}), found {shape:?}"
            )));
        }
        let sites = capacities.into_iter().zip(fixed_costs);
        let sites = sites.map(|(capacity, fixed_cost)| Site { capacity, fixed_cost }).collect();
        let instance = bundlenet_problems::FacilityLocation::new(sites, demands, costs).map_err(exception)?;
        let problem = Problem { problem: bundlenet_problems::Problem::FacilityLocation(instance) };
        Ok(PyClassInitializer::from(problem).add_subclass(Self))
    }

    /// Number of sites.
    #[getter]
    fn sites(this: PyRef<'_, Self>) -> PyResult<usize> {
        Ok(location(&this)?.sites().len())
    }

    /// Number of customers.
    #[getter]
    fn customers(this: PyRef<'_, Self>) -> PyResult<usize> {
        Ok(location(&this)?.customers())
    }

    /// The capacity of each site.
    #[getter]
    fn capacities<'py>(this: PyRef<'py, Self>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(numbers(this.py(), location(&this)?.sites(), |site| site.capacity))
    }

    /// The cost of opening each site.
    #[getter]
    fn fixed_costs<'py>(this: PyRef<'py, Self>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(numbers(this.py(), location(&this)?.sites(), |site| site.fixed_cost))
    }

    /// The demand of each customer.
    #[getter]
    fn demands<'py>(this: PyRef<'py, Self>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(numbers(this.py(), location(&this)?.demands(), |&demand| demand))
    }

    /// The cost of serving all of a customer's demand, by site and customer.
    #[getter]
    fn costs<'py>(this: PyRef<'py, Self>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let instance = location(&this)?;
        let (sites, customers) = (instance.sites().len(), instance.customers());
        let costs: Vec<f64> = (0..sites).flat_map(|site| instance.costs(site)).copied().collect();
        costs.into_pyarray(this.py()).reshape([sites, customers])
    }

    fn __repr__(this: PyRef<'_, Self>) -> PyResult<String> {
        let instance = location(&this)?;
        Ok(format!("FacilityLocation(sites={}, customers={})", instance.sites().len(), instance.customers()))
    }
}

fn location<'a>(this: &'a PyRef<'_, FacilityLocation>) -> PyResult<&'a bundlenet_problems::FacilityLocation> {
    match &this.as_super().problem {
        bundlenet_problems::Problem::FacilityLocation(instance) => Ok(instance),
        other => Err(PyValueError::new_err(format!("expected facility location, found {}", name_of(other)))),
    }
}

/// Unit commitment: thermal units that meet demand and reserve at the least cost. The optimal multipliers of its dual are
/// the convex hull prices of energy and reserve. Instances come from files (`read`) or a seed (`generate`).
#[pyclass(frozen, extends = Problem, module = "bundlenet")]
pub(crate) struct UnitCommitment;

#[pymethods]
impl UnitCommitment {
    /// The model of the data: `"pglib"` or `"chp"`.
    #[getter]
    fn formulation(this: PyRef<'_, Self>) -> PyResult<&'static str> {
        Ok(commitment(&this)?.formulation().name())
    }

    /// Names of the thermal units.
    #[getter]
    fn units(this: PyRef<'_, Self>) -> PyResult<Vec<String>> {
        Ok(commitment(&this)?.thermal_units().iter().map(|unit| unit.name.clone()).collect())
    }

    /// Number of periods.
    #[getter]
    fn periods(this: PyRef<'_, Self>) -> PyResult<usize> {
        Ok(commitment(&this)?.periods())
    }

    /// Demand in each period, in MW.
    #[getter]
    fn demand<'py>(this: PyRef<'py, Self>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(numbers(this.py(), commitment(&this)?.demand(), |&demand| demand))
    }

    /// Reserve required in each period, in MW; empty if the file states none.
    #[getter]
    fn reserves<'py>(this: PyRef<'py, Self>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(numbers(this.py(), commitment(&this)?.reserves(), |&reserve| reserve))
    }

    /// The schedule with which a unit earns most at given prices: a dictionary of `profit`, `cost`, `is_on`, `output` and
    /// `reserve`. `unit` counts from 0. Without prices of reserve the unit offers none.
    #[pyo3(signature = (unit, energy_prices, reserve_prices=None))]
    fn best_response<'py>(
        this: PyRef<'py, Self>,
        unit: usize,
        energy_prices: &Bound<'py, PyAny>,
        reserve_prices: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (py, instance) = (this.py(), commitment(&this)?);
        let energy = vector(energy_prices, "energy_prices")?;
        let reserve = reserve_prices.map_or_else(|| Ok(vec![]), |prices| vector(prices, "reserve_prices"))?;
        let (units, periods) = (instance.thermal_units().len(), instance.periods());
        if unit >= units {
            return Err(PyValueError::new_err(format!("unit: expected a number below {units}, found {unit}")));
        }
        for (name, found) in [("energy_prices", energy.len()), ("reserve_prices", reserve.len())] {
            if found != periods && !(name == "reserve_prices" && found == 0) {
                return Err(PyValueError::new_err(format!("{name}: expected {periods} prices, found {found}")));
            }
        }
        let response = instance.best_response(unit, &energy, &reserve);
        let answer = PyDict::new(py);
        answer.set_item("profit", response.profit)?;
        answer.set_item("cost", response.cost)?;
        answer.set_item("is_on", response.is_on.into_pyarray(py))?;
        answer.set_item("output", response.output.into_pyarray(py))?;
        answer.set_item("reserve", response.reserve.into_pyarray(py))?;
        Ok(answer)
    }

    fn __repr__(this: PyRef<'_, Self>) -> PyResult<String> {
        let instance = commitment(&this)?;
        let (units, periods) = (instance.thermal_units().len(), instance.periods());
        let formulation = instance.formulation().name();
        Ok(format!("UnitCommitment(units={units}, periods={periods}, formulation={formulation:?})"))
    }
}

fn commitment<'a>(this: &'a PyRef<'_, UnitCommitment>) -> PyResult<&'a bundlenet_problems::UnitCommitment> {
    match &this.as_super().problem {
        bundlenet_problems::Problem::UnitCommitment(instance) => Ok(instance),
        other => Err(PyValueError::new_err(format!("expected unit commitment, found {}", name_of(other)))),
    }
}

/// A Lagrangian dual: `dual(x)` returns the value and a subgradient at the multipliers `x`.
#[pyclass(frozen, module = "bundlenet")]
pub(crate) struct Dual {
    oracle: Mutex<Box<dyn Oracle + Send>>,
    dim: usize,
    sense: Sense,
    /// For each multiplier.
    are_nonnegative: Vec<bool>,
}

#[pymethods]
impl Dual {
    fn __call__<'py>(&self, py: Python<'py>, x: &Bound<'py, PyAny>) -> PyResult<(f64, Bound<'py, PyArray1<f64>>)> {
        let point = vector(x, "x")?;
        let evaluated = py.detach(|| {
            let mut subgradient = vec![0.0; self.dim];
            let mut oracle = self.oracle.lock().unwrap_or_else(PoisonError::into_inner);
            let value = Function::new(&mut **oracle)?.evaluate(&point, &mut subgradient)?;
            // `Function` minimises: the sign gives the problem's own sense. Adding zero turns -0 into 0.
            let sign = self.sense.sign();
            subgradient.iter_mut().for_each(|entry| *entry = sign * *entry + 0.0);
            Ok((sign * value + 0.0, subgradient))
        });
        let (value, subgradient) = evaluated.map_err(|error: EvaluationError| at_start(py, &error, None))?;
        Ok((value, subgradient.into_pyarray(py)))
    }

    /// Number of multipliers.
    #[getter]
    fn dim(&self) -> usize {
        self.dim
    }

    /// `"max"` for a concave dual, which is maximised; `"min"` for a convex dual, which is minimised.
    #[getter]
    fn sense(&self) -> &'static str {
        sense_name(self.sense)
    }

    /// The bounds on the multipliers, for the argument `bounds` of `minimize` and `maximize`: a pair if all multipliers
    /// have the same ones, else a list of pairs.
    #[getter]
    fn bounds<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let pair = |is_nonnegative: bool| (is_nonnegative.then_some(0.0), None::<f64>);
        let first = self.are_nonnegative.first().copied().unwrap_or(false);
        if self.are_nonnegative.iter().all(|&other| other == first) {
            return Ok(pair(first).into_pyobject(py)?.into_any());
        }
        let pairs: Vec<_> = self.are_nonnegative.iter().map(|&is_nonnegative| pair(is_nonnegative)).collect();
        Ok(pairs.into_pyobject(py)?.into_any())
    }

    fn __repr__(&self) -> String {
        format!("Dual(dim={}, sense={:?})", self.dim, sense_name(self.sense))
    }
}

/// An instance as an object of its class, which must be `cls` or a subclass.
fn of_class(cls: &Bound<'_, PyType>, problem: bundlenet_problems::Problem, source: &str) -> PyResult<Py<PyAny>> {
    let py = cls.py();
    let found = name_of(&problem);
    let object = match problem {
        problem @ bundlenet_problems::Problem::NetworkDesign(_) => {
            Py::new(py, PyClassInitializer::from(Problem { problem }).add_subclass(NetworkDesign))?.into_any()
        }
        problem @ bundlenet_problems::Problem::Assignment(_) => {
            Py::new(py, PyClassInitializer::from(Problem { problem }).add_subclass(GeneralizedAssignment))?.into_any()
        }
        problem @ bundlenet_problems::Problem::FacilityLocation(_) => {
            Py::new(py, PyClassInitializer::from(Problem { problem }).add_subclass(FacilityLocation))?.into_any()
        }
        problem @ bundlenet_problems::Problem::UnitCommitment(_) => {
            Py::new(py, PyClassInitializer::from(Problem { problem }).add_subclass(UnitCommitment))?.into_any()
        }
    };
    if object.bind(py).is_instance(cls)? {
        return Ok(object);
    }
    Err(PyValueError::new_err(format!("{source}: expected an instance of {}, found {found}", cls.name()?)))
}

fn name_of(problem: &bundlenet_problems::Problem) -> &'static str {
    match problem {
        bundlenet_problems::Problem::NetworkDesign(_) => "network design",
        bundlenet_problems::Problem::Assignment(_) => "generalised assignment",
        bundlenet_problems::Problem::FacilityLocation(_) => "facility location",
        bundlenet_problems::Problem::UnitCommitment(_) => "unit commitment",
    }
}

fn numbers<'py, T, N: numpy::Element>(py: Python<'py>, of: &[T], number: impl Fn(&T) -> N) -> Bound<'py, PyArray1<N>> {
    of.iter().map(number).collect::<Vec<N>>().into_pyarray(py)
}

fn check_lengths(name: &str, lengths: &[usize]) -> PyResult<()> {
    if lengths.iter().all(|length| *length == lengths[0]) {
        return Ok(());
    }
    Err(PyValueError::new_err(format!("{name}: expected arrays of the same length, found lengths {lengths:?}")))
}

pub(crate) fn sense_of(name: &str) -> PyResult<Sense> {
    match name {
        "min" => Ok(Sense::Minimize),
        "max" => Ok(Sense::Maximize),
        other => Err(PyValueError::new_err(format!("sense: expected \"min\" or \"max\", found {other:?}"))),
    }
}

fn sense_name(sense: Sense) -> &'static str {
    match sense {
        Sense::Minimize => "min",
        Sense::Maximize => "max",
    }
}
