//! The state of a run, for a later run: a point, a step length, and cuts.
//!
//! Internally, cuts belong to the function as methods see it: minimised, and multiplied by the scale of their run. The
//! next run takes over the scale as well. So a cut that the oracle returns again has the same entries to the last bit.

use std::sync::Arc;

use bundlenet_linalg::sparse::pairs;

use crate::model::{SavedCut, SavedCuts, StepLength};
use crate::oracle::{CutsOf, Function, Primal, Sense};

/// The state of a run: the warm start of a later run, of the same function or after a change of the data.
///
/// ```
/// use bundlenet::{FnOracle, Settings, Solver, State};
///
/// let mut oracle = FnOracle::new(1, |point: &[f64], subgradient: &mut [f64]| {
///     subgradient[0] = 2.0 * (point[0] - 3.0);
///     Ok((point[0] - 3.0).powi(2))
/// });
/// let mut state = State::new();
/// let first = Solver::new(Settings::default())?.state(&mut state).solve(&mut oracle)?;
/// // The same function again, or one with changed data: few steps are left.
/// let second = Solver::new(Settings::default())?.state(&mut state).solve(&mut oracle)?;
/// assert!(second.steps < first.steps);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// In a branch and bound, a clone of the parent's state is the warm start of a child.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// Start point of the next run; empty for 0.
    pub(super) point: Vec<f64>,
    /// Value at the point, in the problem's sense.
    pub(super) value: Option<f64>,
    /// Number of steps of all runs so far.
    pub(super) steps: usize,
    pub(super) memory: Option<Memory>,
    pub(super) is_trusted: bool,
    /// Where its file is damaged.
    pub(super) damage: Option<String>,
}

/// Cuts and step length of a function.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Memory {
    pub(crate) sense: Sense,
    /// Scale of the function.
    pub(crate) scale: f64,
    pub(crate) step_length: Option<StepLength>,
    pub(crate) cuts_of: CutsOf,
    /// Fingerprints of the components, or of the whole function, at the time of the cuts.
    pub(crate) fingerprints: Vec<Option<u64>>,
    pub(crate) cuts: SavedCuts,
}

/// An affine function `constant + slope'x` that bounds a component or the whole function: from below for one to
/// minimise, from above for one to maximise. Values are in the problem's sense and units.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Cut {
    /// The component. `None` for the whole function with its linear part.
    pub component: Option<usize>,
    /// Value at the origin.
    pub constant: f64,
    /// Nonzero entries. A coordinate may occur more than once: its entries are added up.
    pub slope: Vec<(u32, f64)>,
    /// The solution of the component, or of the whole function, that the cut belongs to, or a convex combination of
    /// solutions. Its cost is `constant`, up to round-off. `None` if the run of the cut did not keep primal solutions.
    pub primal: Option<Arc<Primal>>,
}

impl Cut {
    /// Value at a point.
    ///
    /// # Panics
    /// If the point has too few entries.
    #[must_use]
    pub fn value(&self, point: &[f64]) -> f64 {
        self.constant + self.slope.iter().map(|&(at, entry)| entry * point[at as usize]).sum::<f64>()
    }
}

impl Memory {
    /// Factor from the user's numbers to the internal ones.
    fn factor(&self) -> f64 {
        self.sense.sign() * self.scale
    }

    /// Whether these are cuts of the given function, with the same data.
    pub(crate) fn is_of(&self, function: &mut Function<'_>) -> bool {
        self.fingerprints.iter().all(Option::is_some) && function.fingerprints(self.cuts_of) == self.fingerprints
    }

    /// Whether some of these cuts are cuts of the given function.
    pub(crate) fn has_part_of(&self, function: &mut Function<'_>) -> bool {
        let present = function.fingerprints(self.cuts_of);
        self.fingerprints.iter().zip(&present).any(|(saved, present)| saved.is_some() && saved == present)
    }

    fn cut(&self, SavedCut { component, constant, slope, primal }: SavedCut<'_>) -> Cut {
        let factor = self.factor();
        let slope = pairs(slope).map(|(at, entry)| (at, entry / factor)).collect();
        let component = (self.cuts_of == CutsOf::Components).then_some(component as usize);
        Cut { component, constant: constant / factor, slope, primal: primal.cloned() }
    }
}

impl State {
    /// An empty state. A run with it begins like a run without a state.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A state with a start point and nothing else.
    #[must_use]
    pub fn at(point: &[f64]) -> Self {
        Self { point: point.to_vec(), ..Self::default() }
    }

    pub(crate) fn of_run(point: &[f64], value: f64, steps: usize, memory: Option<Memory>) -> Self {
        Self { point: point.to_vec(), value: Some(value), steps, memory, ..Self::default() }
    }

    /// The best point so far: the start point of the next run. Empty for an empty state.
    #[must_use]
    pub fn point(&self) -> &[f64] {
        &self.point
    }

    /// Value at the best point, in the problem's sense, for the data of the last run.
    #[must_use]
    pub fn value(&self) -> Option<f64> {
        self.value
    }

    /// Number of steps of all runs so far.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// Says where the file of the state is damaged or incomplete, as a kill or a power failure may leave it. The state is
    /// that of the steps before.
    #[must_use]
    pub fn damage(&self) -> Option<&str> {
        self.damage.as_deref()
    }

    /// Number of cuts.
    #[must_use]
    pub fn cut_count(&self) -> usize {
        self.memory.as_ref().map_or(0, |memory| memory.cuts.len())
    }

    /// The cuts.
    pub fn cuts(&self) -> impl Iterator<Item = Cut> {
        self.memory.iter().flat_map(|memory| memory.cuts.iter().map(|cut| memory.cut(cut)))
    }

    /// Declares all cuts valid for the function of the next run. Use it for oracles without
    /// [`fingerprints`](crate::SumOracle::fingerprint). A cut above the function at the start point is still rejected.
    /// A saved state is still trusted after it is read.
    pub fn trust_cuts(&mut self) {
        self.is_trusted = true;
    }

    pub(crate) fn memory(&self) -> Option<&Memory> {
        self.memory.as_ref()
    }

    pub(crate) fn is_trusted(&self) -> bool {
        self.is_trusted
    }

    /// Removes multipliers, which fixes them at 0. Cuts lose these entries and stay valid, with their primal solutions.
    ///
    /// # Panics
    /// If there is no such multiplier.
    pub fn remove_multipliers(&mut self, removed: &[usize]) {
        let mut places: Vec<Option<u32>> = vec![Some(0); self.point.len()];
        removed.iter().for_each(|&index| places[index] = None);
        for (place, new) in places.iter_mut().flatten().zip(0..) {
            *place = new;
        }
        let mut kept = places.iter();
        self.point.retain(|_| kept.next().is_some_and(Option::is_some));
        self.value = None;
        self.change_cuts(|_, coordinates, entries| {
            let moved = coordinates.iter().zip(entries).filter_map(|(&at, &entry)| Some((places[at as usize]?, entry)));
            Some(moved.collect())
        });
    }

    /// Appends multipliers with the value 0. `entries` returns the entries of a cut for the new multipliers, in the
    /// problem's sense and units; `None` removes the cut. The other cuts keep their primal solutions.
    ///
    /// The primal solution of a cut determines its entries: for a new constraint `a'x = b`, the entry of a cut of a
    /// component is `-a'x`, if `b` is in the linear part.
    ///
    /// # Panics
    /// If `entries` returns a wrong number of entries.
    pub fn add_multipliers(&mut self, count: usize, mut entries: impl FnMut(&Cut) -> Option<Vec<f64>>) {
        let first = self.point.len() as u32;
        self.point.resize(self.point.len() + count, 0.0);
        self.value = None;
        let Some(factor) = self.memory.as_ref().map(Memory::factor) else { return };
        self.change_cuts(|cut, coordinates, old| {
            let new = entries(cut)?;
            assert_eq!(new.len(), count, "entries of a cut for the new multipliers");
            let added =
                new.iter().zip(first..).map(|(entry, at)| (at, factor * entry)).filter(|(_, entry)| *entry != 0.0);
            Some(coordinates.iter().copied().zip(old.iter().copied()).chain(added).collect())
        });
    }

    /// Gives every cut a new slope, or removes it.
    fn change_cuts(&mut self, mut change: impl FnMut(&Cut, &[u32], &[f64]) -> Option<Vec<(u32, f64)>>) {
        let Some(memory) = &mut self.memory else { return };
        let mut changed = SavedCuts::default();
        for saved in memory.cuts.iter() {
            if let Some(slope) = change(&memory.cut(saved), saved.slope.0, saved.slope.1) {
                changed.push(saved.component, saved.constant, slope, saved.primal.cloned());
            }
        }
        memory.cuts = changed;
    }
}
