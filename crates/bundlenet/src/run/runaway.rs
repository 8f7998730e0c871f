//! Detects a function that is unbounded below (or above, to maximise).

use crate::oracle::{Detail, Domain, Evaluation, Function};

/// The function is tested along a ray when the best point is this many times as far from the start as the first better
/// point, and again each time the distance has grown by this factor.
const FARTHER: f64 = 1e2;
/// The test evaluates at these multiples of the distance travelled. The first steps of a run may be shorter than the
/// scale of the function by many orders of magnitude: then it still looks linear at the nearer point.
const NEARER: f64 = 1e12;
const FARTHEST: f64 = 1e24;
/// The function is unbounded if it decreases there at this share, or more, of its mean rate on the way to the best point.
const UNDIMINISHED: f64 = 0.1;

/// Watches the distance from the start to the best point. On a bounded function it stays of the order of the first
/// steps. On an unbounded one it grows without end, and the way from the start to the best point becomes a ray along
/// which the function decreases at a constant rate.
pub(super) struct Runaway {
    start: Vec<f64>,
    first_value: f64,
    /// Distance of the next test; `None` before the first better point.
    next_distance: Option<f64>,
}

impl Runaway {
    pub(super) fn new(start: &Evaluation) -> Self {
        Self { start: start.point.clone(), first_value: start.unscaled, next_distance: None }
    }

    /// Whether the best point is so far away that the function has to be tested.
    pub(super) fn is_due(&mut self, best_point: &[f64]) -> bool {
        let distance = self.distance(best_point);
        let next = self.next_distance.get_or_insert_with(|| FARTHER * distance.max(norm(self.start.iter().copied())));
        distance >= *next && distance > 0.0
    }

    /// Evaluates the function far away, and farther if it has decreased. Returns a ray of length 1 along which it is
    /// unbounded, or `None`.
    pub(super) fn test(&mut self, function: &mut Function<'_>, best: f64, best_point: &[f64]) -> Option<Vec<f64>> {
        let distance = self.distance(best_point);
        self.next_distance = Some(FARTHER * distance);
        let ray = ray(&self.start, best_point, function.domain())?;
        let mean_rate = (self.first_value - best) / distance;
        let mut is_undiminished = |far: f64| {
            let point: Vec<f64> = best_point.iter().zip(&ray).map(|(from, entry)| from + far * entry).collect();
            let mut seen = Evaluation::at(&point);
            function.visit(&mut seen, Detail::Whole).ok()?;
            let rate = (best - seen.unscaled) / far;
            Some(rate >= UNDIMINISHED * mean_rate && rate > 0.0)
        };
        // A function that cannot be evaluated at the nearer point is not known to be unbounded. Many cannot be
        // evaluated at the farther one.
        let is_unbounded = is_undiminished(NEARER * distance)? && is_undiminished(FARTHEST * distance).unwrap_or(true);
        is_unbounded.then_some(ray)
    }

    fn distance(&self, point: &[f64]) -> f64 {
        norm(point.iter().zip(&self.start).map(|(to, from)| to - from))
    }
}

fn norm(entries: impl Iterator<Item = f64>) -> f64 {
    entries.map(|entry| entry * entry).sum::<f64>().sqrt()
}

/// The direction from one point to another, with length 1. Entries that would lead out of the domain are 0.
fn ray(from: &[f64], to: &[f64], domain: &Domain) -> Option<Vec<f64>> {
    let entry = |(index, (to, from)): (usize, (&f64, &f64))| {
        let (entry, (lower, upper)) = (to - from, domain.limits(index));
        let ends = if entry < 0.0 { lower.is_finite() } else { upper.is_finite() };
        if ends { 0.0 } else { entry }
    };
    let mut ray: Vec<f64> = to.iter().zip(from).enumerate().map(entry).collect();
    let length = norm(ray.iter().copied());
    ray.iter_mut().for_each(|entry| *entry /= length);
    (length > 0.0).then_some(ray)
}
