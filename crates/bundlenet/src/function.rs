//! The function as methods see it: minimised, checked, scaled, and timed.

use std::time::Instant;

use crate::error::EvaluationError;
use crate::grouping::Grouping;
use crate::oracle::{Domain, Minimized, Minorants, Oracle, Sense};
use crate::settings::Granularity;
use crate::state::{CutsOf, Fingerprint, Harvest, Memory};
use crate::vectors::{all_within, scale};

/// Entries of a scaled subgradient beyond this could not be squared and added up.
const LARGEST_ENTRY: f64 = 1e150;

/// How far a scale that is taken over may be from the one at the start.
const SCALE_RANGE: f64 = 1e3;

/// The function as methods see it: minimised, checked, and scaled by the norm of its first subgradient.
pub(crate) struct Function<'a> {
    minimized: Minimized<'a>,
    /// Corners of a box that holds a minimiser.
    minimizer_box: Option<(Vec<f64>, Vec<f64>)>,
    scale: f64,
    /// The last value, minimised but not scaled.
    latest: f64,
    oracle_seconds: f64,
    /// Of which for the quickest evaluation.
    quickest_seconds: f64,
    /// Coefficients of the linear part, minimised but not scaled, where there are components.
    linear: Vec<f64>,
    grouping: Option<Grouping>,
    /// Evaluations by component that are remembered, if any are, and whether more of them are to be.
    recent: Option<Recent>,
    is_remembering: bool,
    /// Primal solutions of the last evaluation by component or group, where they are asked for and there are any.
    solutions: Option<Minorants>,
}

/// The scaled function at a point, by component.
#[derive(Clone, Debug, Default)]
pub(crate) struct Evaluation {
    /// Which evaluation, counted from 1.
    pub(crate) number: usize,
    pub(crate) point: Vec<f64>,
    pub(crate) value: f64,
    pub(crate) minorants: Minorants,
    pub(crate) solutions: Option<Minorants>,
}

/// The last evaluations, and the best if it is not among them.
struct Recent(Vec<Evaluation>);

/// Evaluations that are remembered. More cuts make the first masters slower, not better (`docs/experiments.md`).
const REMEMBERED: usize = 8;

impl Recent {
    /// Forgets the oldest evaluation that is not the best if there are enough of them: an evaluation to write to.
    fn make_room(&mut self) -> Evaluation {
        if self.0.len() < REMEMBERED {
            return Evaluation::default();
        }
        let is_best_first = self.0[1..].iter().all(|other| self.0[0].value <= other.value);
        self.0.remove(usize::from(is_best_first))
    }
}

/// The scaled function at the start.
pub(crate) struct Beginning {
    pub(crate) value: f64,
    pub(crate) subgradient: Vec<f64>,
    /// By component, where they are asked for and there are any.
    pub(crate) minorants: Option<Minorants>,
}

impl<'a> Function<'a> {
    /// Evaluates an oracle at the start, which gives the scale, unless that is known.
    pub(crate) fn begin(
        oracle: &'a mut dyn Oracle,
        start: &[f64],
        granularity: Granularity,
        known_scale: Option<f64>,
        with_primal: bool,
    ) -> Result<(Self, Beginning), EvaluationError> {
        let minimizer_box = oracle.minimizer_box();
        let mut minimized = Minimized::new(oracle)?;
        let sign = minimized.sense().sign();
        let sum = if granularity == Granularity::Aggregated { None } else { minimized.as_sum() };
        let linear = sum.as_ref().map_or_else(Vec::new, |sum| sum.linear().iter().map(|entry| sign * entry).collect());
        let grouping = match (granularity, &sum) {
            (Granularity::Groups(groups), Some(sum)) => Some(Grouping::new(&**sum, groups)),
            _ => None,
        };
        let mut minorants = sum.is_some().then(Minorants::new);
        let solutions = (with_primal && minimized.is_primal()).then(Minorants::new);
        let mut subgradient = vec![0.0; minimized.dim()];
        let mut function = Self {
            minimized,
            minimizer_box,
            scale: 1.0,
            latest: 0.0,
            oracle_seconds: 0.0,
            quickest_seconds: f64::INFINITY,
            linear,
            grouping,
            recent: None,
            is_remembering: true,
            solutions,
        };
        match &mut minorants {
            None => function.call(start, &mut subgradient)?,
            Some(minorants) => {
                function.call_components(start, minorants)?;
                subgradient.copy_from_slice(&function.linear);
                minorants.add_to(&mut subgradient);
            }
        }
        let fresh = scale_of(&subgradient);
        // Steps and the stop test go by the scale: one that was made for another function will not do.
        let is_alike = |scale: &f64| (1.0 / SCALE_RANGE..=SCALE_RANGE).contains(&(scale / fresh));
        function.scale = known_scale.filter(is_alike).unwrap_or(fresh);
        scale(&mut subgradient, function.scale);
        if let Some(minorants) = &mut minorants {
            minorants.scale(function.scale);
        }
        let value = function.scaled(&subgradient)?;
        Ok((function, Beginning { value, subgradient, minorants }))
    }

    pub(crate) fn evaluate(&mut self, point: &[f64], subgradient: &mut [f64]) -> Result<f64, EvaluationError> {
        if self.is_remembering
            && let Some(mut recent) = self.recent.take()
        {
            let mut evaluation = recent.make_room();
            let value = self.evaluate_components(point, &mut evaluation.minorants);
            let Evaluation { minorants, .. } = &evaluation;
            subgradient.iter_mut().zip(&self.linear).for_each(|(sum, entry)| *sum = self.scale * entry);
            minorants.add_to(subgradient);
            evaluation.point.clear();
            evaluation.point.extend_from_slice(point);
            if let Ok(value) = &value {
                let (number, solutions) = (self.evaluations(), self.solutions.clone());
                recent.0.push(Evaluation { number, value: *value, solutions, ..evaluation });
            }
            self.recent = Some(recent);
            return value;
        }
        self.call(point, subgradient)?;
        scale(subgradient, self.scale);
        self.scaled(subgradient)
    }

    /// From now on remembers the last evaluations by component, the one at the start first. Only for oracles that are sums.
    pub(crate) fn remember(&mut self, start: Evaluation) {
        self.recent = Some(Recent(vec![start]));
    }

    /// The most entries of subgradients that a remembered evaluation has; none if none is remembered.
    pub(crate) fn remembered_entries(&self) -> Option<usize> {
        let Recent(evaluations) = self.recent.as_ref()?;
        evaluations.iter().map(|evaluation| evaluation.minorants.entries().len()).max()
    }

    /// Whether evaluations are to be remembered from now on: by component they take longer.
    pub(crate) fn set_remembering(&mut self, is_remembering: bool) {
        self.is_remembering = is_remembering;
    }

    /// What was remembered, the oldest first; nothing will be any more.
    pub(crate) fn take_remembered(&mut self) -> Vec<Evaluation> {
        self.recent.take().map_or_else(Vec::new, |recent| recent.0)
    }

    /// Whether evaluations by component are remembered.
    pub(crate) fn remembers(&self) -> bool {
        self.recent.is_some()
    }

    /// Hands over the cuts of remembered evaluations after that with the given number.
    pub(crate) fn harvest(&self, since: u64, harvest: &mut Harvest) {
        harvest.cuts_of = CutsOf::Components;
        let remembered = self.recent.as_ref().map_or(&[][..], |recent| &recent.0);
        for (index, Evaluation { number, point, minorants, .. }) in remembered.iter().enumerate() {
            harvest.newest = harvest.newest.max(*number as u64);
            for component in (0..minorants.len()).filter(|_| *number as u64 > since) {
                let (coordinates, entries) = minorants.subgradient(component);
                // Most evaluations bring a component's cut once more.
                let is_same = |other: &Evaluation| other.minorants.subgradient(component) == (coordinates, entries);
                if remembered[..index].iter().any(is_same) {
                    continue;
                }
                let slope = coordinates.iter().copied().zip(entries.iter().copied());
                let rise: f64 = slope.clone().map(|(at, entry)| entry * point[at as usize]).sum();
                harvest.cuts.push(component as u32, minorants.values()[component] - rise, slope);
            }
        }
    }

    /// Whether components are taken together.
    pub(crate) fn is_grouped(&self) -> bool {
        self.grouping.is_some()
    }

    /// Fingerprints of all components, or one of the whole function.
    pub(crate) fn fingerprints(&mut self, cuts_of: CutsOf) -> Vec<Option<u64>> {
        let Some(sum) = self.minimized.as_sum() else { return vec![None] };
        let mut each = (0..sum.component_count()).map(|component| sum.fingerprint(component));
        match cuts_of {
            CutsOf::Components => each.collect(),
            CutsOf::Whole => {
                let linear = Fingerprint::new().numbers(sum.linear());
                let all = each.try_fold(linear, |hash, next| Some(hash.whole(next?)));
                vec![all.map(Fingerprint::finish)]
            }
        }
    }

    /// Whether what is known is known of this very function.
    pub(crate) fn is_of(&mut self, memory: &Memory) -> bool {
        memory.fingerprints.iter().all(Option::is_some) && self.fingerprints(memory.cuts_of) == memory.fingerprints
    }

    /// The height at the origin, scaled, of a component's minorant with a scaled slope, if it has one.
    pub(crate) fn reprice(
        &mut self,
        cuts_of: CutsOf,
        component: usize,
        coordinates: &[u32],
        entries: &[f64],
    ) -> Option<f64> {
        let factor = self.sense().sign() * self.scale;
        let sum = self.minimized.as_sum().filter(|_| cuts_of == CutsOf::Components)?;
        let entries: Vec<f64> = entries.iter().map(|entry| entry / factor).collect();
        sum.reprice(component, coordinates, &entries).map(|height| factor * height).filter(|height| height.is_finite())
    }

    /// Calls the oracle and does not scale.
    fn call(&mut self, point: &[f64], subgradient: &mut [f64]) -> Result<(), EvaluationError> {
        let begin = Instant::now();
        let value = self.minimized.evaluate(point, subgradient).and_then(|value| self.record().map(|()| value));
        self.count(begin);
        self.latest = value?;
        Ok(())
    }

    /// Asks for the primal solutions of the last evaluation where they are wanted.
    fn record(&mut self) -> Result<(), EvaluationError> {
        let Some(solutions) = &mut self.solutions else { return Ok(()) };
        self.minimized.write_solutions(solutions)?;
        if let Some(grouping) = &self.grouping {
            solutions.gather(grouping.groups());
        }
        Ok(())
    }

    /// Primal solutions of the last evaluation by component or group, where they are asked for and there are any.
    pub(crate) fn solutions(&self) -> Option<&Minorants> {
        self.solutions.as_ref()
    }

    /// As [`Self::evaluate`], by component or group. Only for oracles that are sums.
    pub(crate) fn evaluate_components(
        &mut self,
        point: &[f64],
        minorants: &mut Minorants,
    ) -> Result<f64, EvaluationError> {
        self.call_components(point, minorants)?;
        minorants.scale(self.scale);
        self.scaled(minorants.entries())
    }

    /// Calls the oracle for its components and does not scale.
    fn call_components(&mut self, point: &[f64], minorants: &mut Minorants) -> Result<(), EvaluationError> {
        let begin = Instant::now();
        let result = self.minimized.evaluate_components(point, minorants).and_then(|_| self.record());
        self.count(begin);
        result?;
        let linear: f64 = self.linear.iter().zip(point).map(|(entry, at)| entry * at).sum();
        self.latest = linear + minorants.values().iter().sum::<f64>();
        if let Some(grouping) = &mut self.grouping {
            grouping.merge(minorants);
        }
        Ok(())
    }

    fn count(&mut self, begin: Instant) {
        let seconds = begin.elapsed().as_secs_f64();
        self.oracle_seconds += seconds;
        self.quickest_seconds = self.quickest_seconds.min(seconds);
    }

    /// The last value, scaled; the entries of subgradients have been already.
    fn scaled(&self, entries: &[f64]) -> Result<f64, EvaluationError> {
        let value = self.latest * self.scale;
        // The squares of the entries are added up in the master.
        if value.is_finite() && all_within(entries, LARGEST_ENTRY) {
            Ok(value)
        } else {
            Err(EvaluationError::Overflow { evaluation: self.minimized.evaluations(), value: self.latest })
        }
    }

    /// The linear part, scaled.
    pub(crate) fn linear(&self) -> Vec<f64> {
        self.linear.iter().map(|entry| self.scale * entry).collect()
    }

    /// A lower bound on the scaled function that combinations of its components' minorants prove. They are changed.
    pub(crate) fn prove(&mut self, aggregates: &mut Minorants) -> Option<f64> {
        // What is known of groups says nothing of each component.
        if self.grouping.is_some() {
            return None;
        }
        aggregates.scale(1.0 / self.scale);
        self.minimized.prove(aggregates).map(|bound| self.scale * bound)
    }

    /// Seconds of the quickest evaluation: what they take where nothing else interferes.
    pub(crate) fn quickest_seconds(&self) -> f64 {
        self.quickest_seconds
    }

    pub(crate) fn project(&self, point: &mut [f64]) {
        self.minimized.domain().project(point);
    }

    pub(crate) fn domain(&self) -> &Domain {
        self.minimized.domain()
    }

    pub(crate) fn minimizer_box(&self) -> Option<&(Vec<f64>, Vec<f64>)> {
        self.minimizer_box.as_ref()
    }

    pub(crate) fn sense(&self) -> Sense {
        self.minimized.sense()
    }

    /// Oracle calls so far.
    pub(crate) fn evaluations(&self) -> usize {
        self.minimized.evaluations()
    }

    /// Seconds spent in the oracle so far.
    pub(crate) fn oracle_seconds(&self) -> f64 {
        self.oracle_seconds
    }

    /// The last value, minimised but not scaled.
    pub(crate) fn latest(&self) -> f64 {
        self.latest
    }

    /// The last value, scaled.
    pub(crate) fn latest_scaled(&self) -> f64 {
        self.latest * self.scale
    }

    /// What values and subgradients are multiplied by.
    pub(crate) fn scale(&self) -> f64 {
        self.scale
    }

    /// `max(1, |f|)` of the user's function, scaled: what gaps are relative to.
    pub(crate) fn magnitude(&self, value: f64) -> f64 {
        value.abs().max(self.scale)
    }
}

/// What a subgradient is multiplied by to have norm 1; 1 for a subgradient of 0. Safe for entries whose squares are out of
/// range.
fn scale_of(subgradient: &[f64]) -> f64 {
    let largest = subgradient.iter().fold(0.0_f64, |largest, entry| largest.max(entry.abs()));
    if largest == 0.0 {
        return 1.0;
    }
    let relative: f64 = subgradient.iter().map(|entry| (entry / largest) * (entry / largest)).sum();
    1.0 / relative.sqrt() / largest
}
