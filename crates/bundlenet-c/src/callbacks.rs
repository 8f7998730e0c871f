//! Functions of the caller as an oracle.

use std::ffi::{c_int, c_void};

use bundlenet::{Domain, Interval, Oracle, OracleError, PrimalOracle, Solutions, SumOracle};

use crate::minorants::Minorants;

/// Writes the value of the function at `point` and all `dim` entries of a subgradient there. Returns 0, or another
/// number if it failed.
pub type Evaluate = Option<
    unsafe extern "C" fn(
        user: *mut c_void,
        dim: usize,
        point: *const f64,
        value: *mut f64,
        subgradient: *mut f64,
    ) -> c_int,
>;

/// As `bundlenet_evaluate`, for a value that is known as an interval: `cut` is the value of the minorant, `bound` the
/// other end. To minimise, cut <= f(point) <= bound; to maximise, bound <= f(point) <= cut.
pub type EvaluateWithin = Option<
    unsafe extern "C" fn(
        user: *mut c_void,
        dim: usize,
        point: *const f64,
        cut: *mut f64,
        bound: *mut f64,
        subgradient: *mut f64,
    ) -> c_int,
>;

/// Evaluates `count` components at `point` and pushes one minorant for each, in the order of `components`. Returns 0,
/// or another number if it failed.
pub type EvaluateComponents = Option<
    unsafe extern "C" fn(
        user: *mut c_void,
        dim: usize,
        point: *const f64,
        count: usize,
        components: *const usize,
        minorants: *mut Minorants,
    ) -> c_int,
>;

/// Evaluates `count` components at `point` and writes one minorant for each, in the order of `components`: the value at
/// the point, and the nonzero entries of a subgradient there. The entries of the component at place `i` begin where those
/// of the one before end, the first at 0, and end before `ends[i]`. Returns 0, or another number if it failed.
///
/// The arrays belong to the solver. They are valid during the call, and hold nothing before: every entry below the last
/// end has to be written.
pub type EvaluateInPlace = Option<
    unsafe extern "C" fn(
        user: *mut c_void,
        dim: usize,
        point: *const f64,
        count: usize,
        components: *const usize,
        values: *mut f64,
        ends: *mut usize,
        coordinates: *mut u32,
        entries: *mut f64,
    ) -> c_int,
>;

/// Writes the value at the origin of the component's minorant with this slope, after a change of the data. Returns 0,
/// or another number if there is no such minorant any more.
pub type Reprice = Option<
    unsafe extern "C" fn(
        user: *mut c_void,
        component: usize,
        count: usize,
        coordinates: *const u32,
        entries: *const f64,
        constant: *mut f64,
    ) -> c_int,
>;

/// Called with an accuracy before evaluations: the next intervals should not be wider, for the whole function. The
/// callback may ignore it.
pub type Wish = Option<unsafe extern "C" fn(user: *mut c_void, accuracy: f64)>;

/// Called after the evaluation at the start and after every step. Returns 0 to go on, or another number to end the run.
pub type Observe = Option<unsafe extern "C" fn(user: *mut c_void, step: *const crate::outcome::Step) -> c_int>;

/// A function of the caller, if there is one, with the pointer that it is called with.
#[derive(Clone, Copy)]
pub(crate) struct Callback<F> {
    pub(crate) function: F,
    pub(crate) user: *mut c_void,
}

// SAFETY: only the thread of a run calls the function; the caller answers for the use of `user` on that thread.
unsafe impl<F> Send for Callback<F> {}

impl<F> Callback<Option<F>> {
    pub(crate) fn none() -> Self {
        Self { function: None, user: std::ptr::null_mut() }
    }

    fn get(self) -> Result<(F, *mut c_void), OracleError> {
        let function = self.function.ok_or("there is no callback")?;
        Ok((function, self.user))
    }
}

/// The function to optimise, in one of four forms.
#[derive(Clone, Copy)]
pub(crate) enum Form {
    Exact(Callback<Evaluate>),
    Within(Callback<EvaluateWithin>),
    Components(Callback<EvaluateComponents>),
    /// Components, with room for the entries of all their subgradients.
    InPlace(Callback<EvaluateInPlace>, usize),
}

/// The function to optimise, with all that the caller states about it.
pub(crate) struct Callbacks {
    pub(crate) dim: usize,
    pub(crate) form: Form,
    pub(crate) sense: bundlenet::Sense,
    pub(crate) domain: Domain,
    pub(crate) minimizer_box: Option<(Vec<f64>, Vec<f64>)>,
    pub(crate) scales: Option<Vec<f64>>,
    pub(crate) work: Option<f64>,
    pub(crate) linear: Vec<f64>,
    /// The numbers of all components.
    pub(crate) components: Vec<usize>,
    pub(crate) multiplicities: Option<Vec<f64>>,
    pub(crate) fingerprints: Option<Vec<u64>>,
    pub(crate) reprice: Callback<Reprice>,
    pub(crate) wish: Callback<Wish>,
    /// Answers of components; its memory is used again.
    pub(crate) answers: Minorants,
    /// Whether runs keep the solutions of components.
    pub(crate) keeps_solutions: bool,
    /// Number of further cuts of the last evaluation.
    further_cuts: usize,
}

impl Callbacks {
    pub(crate) fn new(dim: usize) -> Self {
        Self {
            dim,
            form: Form::Exact(Callback::none()),
            sense: bundlenet::Sense::Minimize,
            domain: Domain::Free,
            minimizer_box: None,
            scales: None,
            work: None,
            linear: vec![],
            components: vec![],
            multiplicities: None,
            fingerprints: None,
            reprice: Callback::none(),
            wish: Callback::none(),
            answers: Minorants::default(),
            keeps_solutions: false,
            further_cuts: 0,
        }
    }

    /// Makes the function a sum, without a linear part.
    pub(crate) fn set_sum(&mut self, count: usize, form: Form) {
        self.form = form;
        self.components = (0..count).collect();
        self.linear = vec![0.0; self.dim];
        (self.multiplicities, self.fingerprints) = (None, None);
    }

    /// Asks for some components. The answers replace those before.
    fn ask(&mut self, which: &[usize], point: &[f64]) -> Result<(), OracleError> {
        self.answers.clear();
        let (dim, at, count, numbers) = (point.len(), point.as_ptr(), which.len(), which.as_ptr());
        match self.form {
            Form::Components(callback) => {
                let (function, user) = callback.get()?;
                // SAFETY: the caller's function takes these arguments; all pointers are valid during the call.
                let returned = unsafe { function(user, dim, at, count, numbers, &raw mut self.answers) };
                self.further_cuts = if self.keeps_solutions { self.answers.list.more().count() } else { 0 };
                done(returned)
            }
            Form::InPlace(callback, length) => {
                let (function, user) = callback.get()?;
                let mut returned = 0;
                let is_right = self.answers.list.push_written(count, length, |room| {
                    let (values, ends) = (room.values.as_mut_ptr(), room.ends.as_mut_ptr());
                    let (coordinates, entries) = (room.coordinates.as_mut_ptr(), room.entries.as_mut_ptr());
                    // SAFETY: as above; there is room for `count` components with `length` entries.
                    returned = unsafe { function(user, dim, at, count, numbers, values, ends, coordinates, entries) };
                    returned == 0
                });
                done(returned)?;
                let wrong = || format!("expected ends of subgradients in order, the last at most {length}").into();
                is_right.then_some(()).ok_or_else(wrong)
            }
            Form::Exact(_) | Form::Within(_) => Err("the function is not a sum".into()),
        }
    }

    /// Value and subgradient of the sum of all components.
    fn add_up(&mut self, point: &[f64], subgradient: &mut [f64]) -> Result<Interval, OracleError> {
        let all = std::mem::take(&mut self.components);
        let asked = self.ask(&all, point);
        self.components = all;
        asked?;
        // An evaluation of the whole function has no further cuts.
        self.answers.solutions[1].clear();
        let list = &self.answers.list;
        if list.len() != self.components.len() {
            return Err(format!("expected {} components, found {}", self.components.len(), list.len()).into());
        }
        subgradient.copy_from_slice(&self.linear);
        let linear: f64 = self.linear.iter().zip(point).map(|(entry, at)| entry * at).sum();
        let mut interval = Interval::exact(linear);
        for component in 0..list.len() {
            let factor = self.multiplicity(component);
            interval.cut += factor * list.values()[component];
            interval.bound += factor * list.bounds()[component];
            let (coordinates, entries) = list.subgradient(component);
            for (&at, entry) in coordinates.iter().zip(entries) {
                let wrong = || format!("component {component}: expected a coordinate below {}, found {at}", self.dim);
                *subgradient.get_mut(at as usize).ok_or_else(wrong)? += factor * entry;
            }
        }
        Ok(interval)
    }
}

/// The result of a callback.
fn done(returned: c_int) -> Result<(), OracleError> {
    if returned == 0 { Ok(()) } else { Err(format!("the callback returned {returned}").into()) }
}

impl Oracle for Callbacks {
    fn dim(&self) -> usize {
        self.dim
    }

    fn evaluate(&mut self, point: &[f64], subgradient: &mut [f64]) -> Result<f64, OracleError> {
        self.evaluate_within(point, subgradient).map(|interval| interval.cut)
    }

    fn evaluate_within(&mut self, point: &[f64], subgradient: &mut [f64]) -> Result<Interval, OracleError> {
        // A number that the callback does not write is found by the solver's check.
        let mut interval = Interval::exact(f64::NAN);
        let (dim, at, slope) = (point.len(), point.as_ptr(), subgradient.as_mut_ptr());
        match self.form {
            Form::Exact(callback) => {
                let (function, user) = callback.get()?;
                // SAFETY: the caller's function takes these arguments; both arrays have `dim` entries.
                done(unsafe { function(user, dim, at, &raw mut interval.cut, slope) })?;
                interval.bound = interval.cut;
            }
            Form::Within(callback) => {
                let (function, user) = callback.get()?;
                let Interval { cut, bound } = &mut interval;
                // SAFETY: the caller's function takes these arguments; both arrays have `dim` entries.
                done(unsafe { function(user, dim, at, cut, bound, slope) })?;
            }
            Form::Components(_) | Form::InPlace(..) => interval = self.add_up(point, subgradient)?,
        }
        Ok(interval)
    }

    fn wish(&mut self, accuracy: f64) {
        if let Callback { function: Some(function), user } = self.wish {
            // SAFETY: the caller's function takes these arguments.
            unsafe { function(user, accuracy) };
        }
    }

    fn domain(&self) -> Domain {
        self.domain.clone()
    }

    fn sense(&self) -> bundlenet::Sense {
        self.sense
    }

    fn minimizer_box(&self) -> Option<(Vec<f64>, Vec<f64>)> {
        self.minimizer_box.clone()
    }

    fn work(&self) -> Option<f64> {
        self.work
    }

    fn scales(&self) -> Option<Vec<f64>> {
        self.scales.clone()
    }

    fn as_sum(&mut self) -> Option<&mut dyn SumOracle> {
        matches!(self.form, Form::Components(_) | Form::InPlace(..)).then_some(self as &mut dyn SumOracle)
    }

    fn as_primal(&mut self) -> Option<&mut dyn PrimalOracle> {
        let has_solutions = self.keeps_solutions && matches!(self.form, Form::Components(_));
        has_solutions.then_some(self as &mut dyn PrimalOracle)
    }
}

impl PrimalOracle for Callbacks {
    fn write_solutions(&mut self, solutions: &mut Solutions) {
        let [firsts, further] = &self.answers.solutions;
        solutions.append(firsts);
        if further.len() == self.further_cuts {
            solutions.append(further);
        }
    }
}

impl SumOracle for Callbacks {
    fn component_count(&self) -> usize {
        self.components.len()
    }

    fn linear(&self) -> &[f64] {
        &self.linear
    }

    fn evaluate_components(&mut self, point: &[f64], minorants: &mut bundlenet::Minorants) -> Result<(), OracleError> {
        let all = std::mem::take(&mut self.components);
        let asked = self.evaluate_some(&all, point, minorants);
        self.components = all;
        asked
    }

    fn evaluate_some(
        &mut self,
        components: &[usize],
        point: &[f64],
        minorants: &mut bundlenet::Minorants,
    ) -> Result<(), OracleError> {
        // The callback fills the solver's own list, which is empty.
        std::mem::swap(&mut self.answers.list, minorants);
        let asked = self.ask(components, point);
        std::mem::swap(&mut self.answers.list, minorants);
        asked
    }

    fn multiplicity(&self, component: usize) -> f64 {
        self.multiplicities.as_ref().and_then(|all| all.get(component)).copied().unwrap_or(1.0)
    }

    fn fingerprint(&self, component: usize) -> Option<u64> {
        self.fingerprints.as_ref()?.get(component).copied()
    }

    fn reprice(&self, component: usize, coordinates: &[u32], entries: &[f64]) -> Option<f64> {
        let (function, user) = self.reprice.get().ok()?;
        let mut constant = f64::NAN;
        let (count, at, slope) = (entries.len(), coordinates.as_ptr(), entries.as_ptr());
        // SAFETY: the caller's function takes these arguments; both arrays have `count` entries.
        let returned = unsafe { function(user, component, count, at, slope, &raw mut constant) };
        (returned == 0 && constant.is_finite()).then_some(constant)
    }
}
