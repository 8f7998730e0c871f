//! What a run leaves behind for the next one: a point, a step length, and cuts.
//!
//! Inside, cuts are those of the function as methods see it: minimised, and multiplied by the scale of the run that made them.
//! The next run takes over the scale, too: so a cut that the oracle gives again is recognised by its entries, to the last bit.

use crate::model::{SavedCuts, StepLength};
use crate::oracle::{CutsOf, Function, Sense};

/// The state of a run, to go on with, or to begin the next run with after a change of the data.
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
/// // The same once more, or after a change of the data: nearly done before it begins.
/// let second = Solver::new(Settings::default())?.state(&mut state).solve(&mut oracle)?;
/// assert!(second.steps < first.steps);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A clone per child makes it the warm start of a branch and bound.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// Where the next run begins; empty for 0.
    pub(super) point: Vec<f64>,
    /// The value there, in the problem's sense.
    pub(super) value: Option<f64>,
    /// Steps of all runs so far.
    pub(super) steps: usize,
    pub(super) memory: Option<Memory>,
    pub(super) is_trusted: bool,
}

/// What is known of a function.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Memory {
    pub(crate) sense: Sense,
    /// What the function was multiplied by.
    pub(crate) scale: f64,
    pub(crate) step_length: Option<StepLength>,
    pub(crate) cuts_of: CutsOf,
    /// Of each component, or of the whole function, when the cuts were made.
    pub(crate) fingerprints: Vec<Option<u64>>,
    pub(crate) cuts: SavedCuts,
}

/// An affine function `constant + slope'x` that bounds a component, or the whole function: from below for one to minimise, from
/// above for one to maximise. Values are in the problem's sense and units.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Cut {
    /// The component; `None` for the whole function, linear part included.
    pub component: Option<usize>,
    /// Value at the origin.
    pub constant: f64,
    /// Entries that are not 0. A coordinate may come more than once: its entries are added up.
    pub slope: Vec<(u32, f64)>,
}

impl Cut {
    /// Its value at a point.
    ///
    /// # Panics
    /// If the point has too few entries.
    #[must_use]
    pub fn value(&self, point: &[f64]) -> f64 {
        self.constant + self.slope.iter().map(|&(at, entry)| entry * point[at as usize]).sum::<f64>()
    }
}

impl Memory {
    /// What numbers inside are divided by to be the user's.
    fn factor(&self) -> f64 {
        self.sense.sign() * self.scale
    }

    /// Whether it is known of this very function.
    pub(crate) fn is_of(&self, function: &mut Function<'_>) -> bool {
        self.fingerprints.iter().all(Option::is_some) && function.fingerprints(self.cuts_of) == self.fingerprints
    }

    fn cut(&self, (component, value, (coordinates, entries)): (u32, f64, (&[u32], &[f64]))) -> Cut {
        let factor = self.factor();
        let slope = coordinates.iter().zip(entries).map(|(&at, entry)| (at, entry / factor)).collect();
        let component = (self.cuts_of == CutsOf::Components).then_some(component as usize);
        Cut { component, constant: value / factor, slope }
    }
}

impl State {
    /// Nothing is known: a run begins as it does with no state.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A run begins at a point, and nothing else is known.
    #[must_use]
    pub fn at(point: &[f64]) -> Self {
        Self { point: point.to_vec(), ..Self::default() }
    }

    pub(crate) fn of_run(point: &[f64], value: f64, steps: usize, memory: Option<Memory>) -> Self {
        Self { point: point.to_vec(), value: Some(value), steps, memory, is_trusted: false }
    }

    /// The best point so far, where the next run begins; empty where nothing is known.
    #[must_use]
    pub fn point(&self) -> &[f64] {
        &self.point
    }

    /// The value at the best point, in the problem's sense, for the data that the last run had.
    #[must_use]
    pub fn value(&self) -> Option<f64> {
        self.value
    }

    /// Steps of all runs so far.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.steps
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

    /// Says that all cuts hold for the function of the next run, whatever the oracle knows: for oracles without
    /// [`fingerprints`](crate::SumOracle::fingerprint). A cut that is above the function where the run begins is still found out.
    pub fn trust_cuts(&mut self) {
        self.is_trusted = true;
    }

    pub(crate) fn memory(&self) -> Option<&Memory> {
        self.memory.as_ref()
    }

    pub(crate) fn is_trusted(&self) -> bool {
        self.is_trusted
    }

    /// Removes multipliers: the function becomes what it was where they are 0. Cuts lose their entries and stay valid for that.
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

    /// Appends multipliers, which begin at 0. `entries` gives a cut's entries for the new ones, as many as there are, in the
    /// problem's sense and units; a cut for which there are none is forgotten.
    ///
    /// # Panics
    /// If `entries` gives another number of entries.
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

    /// Gives every cut a new slope, or forgets it.
    fn change_cuts(&mut self, mut change: impl FnMut(&Cut, &[u32], &[f64]) -> Option<Vec<(u32, f64)>>) {
        let Some(memory) = &mut self.memory else { return };
        let mut changed = SavedCuts::default();
        for (component, value, (coordinates, entries)) in memory.cuts.iter() {
            let cut = memory.cut((component, value, (coordinates, entries)));
            if let Some(slope) = change(&cut, coordinates, entries) {
                changed.push(component, value, slope);
            }
        }
        memory.cuts = changed;
    }
}
