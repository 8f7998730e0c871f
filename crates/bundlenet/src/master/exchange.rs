//! Exchanges of weight between pairs of a component's cuts, from the most expensive cut to the cheapest one.

use bundlenet_linalg::simd::{LANES, Lanes, multiversion};

use super::product::LEAST_WEIGHT;
use crate::model::Component;

/// Exchanges at most, for each cut.
const MOST_EXCHANGES: usize = 3;

/// Difference of two costs that counts as none, relative to their size.
const SAME: f64 = 1e-14;

/// The cheapest cut, and the most expensive one with weight: cost and place.
#[derive(Clone, Copy)]
struct Extremes {
    low: (f64, usize),
    high: (f64, usize),
}

/// Exchanges weight until no exchange gains. `costs` are those of the weights. True if any weight changed.
pub(super) fn exchange(component: &Component, costs: &mut [f64], weights: &mut [f64]) -> bool {
    let mut is_changed = false;
    // Nothing is added at first.
    let none = component.gram_row(0);
    let mut extremes = shift(costs, weights, (none, none), 0.0);
    for _ in 0..MOST_EXCHANGES * costs.len() {
        let Extremes { low, high } = extremes;
        let difference = high.0 - low.0;
        if difference.is_nan() || difference <= SAME * (high.0.abs() + low.0.abs()) {
            break;
        }
        let (to, from) = (low.1, high.1);
        let (gains, losses) = (component.gram_row(to), component.gram_row(from));
        let curvature = gains[to] + losses[from] - 2.0 * gains[from];
        let most = weights[from];
        let wanted = if curvature > 0.0 { difference / curvature } else { most };
        if wanted < LEAST_WEIGHT {
            break;
        }
        let step = if wanted > most - LEAST_WEIGHT { most } else { wanted };
        weights[to] += step;
        weights[from] = if step == most { 0.0 } else { most - step };
        extremes = shift(costs, weights, (gains, losses), step);
        is_changed = true;
    }
    is_changed
}

multiversion! {
    /// Adds `step` times the gains less the losses to the costs, and returns their extremes.
    fn shift(costs: &mut [f64], weights: &[f64], rows: (&[f64], &[f64]), step: f64) -> Extremes = shift_kernel;
}

#[inline(always)]
fn shift_kernel<L: Lanes>(
    costs: &mut [f64],
    weights: &[f64],
    (gains, losses): (&[f64], &[f64]),
    step: f64,
) -> Extremes {
    let (costs, last_costs) = costs.as_chunks_mut::<LANES>();
    let (weights, last_weights) = weights.as_chunks::<LANES>();
    let (gains, last_gains) = gains.as_chunks::<LANES>();
    let (losses, last_losses) = losses.as_chunks::<LANES>();
    let (zero, infinite, eight) = (L::splat(0.0), L::splat(f64::INFINITY), L::splat(LANES as f64));
    let (mut low, mut high) = (infinite, L::splat(f64::NEG_INFINITY));
    let least = high;
    // Places are numbers as well, so that they move along with the costs.
    let mut place = L::load_array(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
    let (mut low_place, mut high_place) = (zero, zero);
    for (((costs, weights), gains), losses) in costs.iter_mut().zip(weights).zip(gains).zip(losses) {
        let change = L::splat(step).mul(L::load_array(gains).sub(L::load_array(losses)));
        let cost = L::load_array(costs).add(change);
        *costs = cost.block().0;
        let heavy = zero.if_less(L::load_array(weights), cost, least);
        low_place = cost.if_less(low, place, low_place);
        low = cost.if_less(low, cost, low);
        high_place = high.if_less(heavy, place, high_place);
        high = high.if_less(heavy, heavy, high);
        place = place.add(eight);
    }
    let (lowest, highest) = (low.least(), high.greatest());
    let low_place = L::splat(lowest).if_less(low, infinite, low_place).least();
    let high_place = high.if_less(L::splat(highest), infinite, high_place).least();
    let mut extremes = Extremes { low: (lowest, low_place as usize), high: (highest, high_place as usize) };
    let first = costs.len() * LANES;
    let last = last_costs.iter_mut().zip(last_weights).zip(last_gains.iter().zip(last_losses));
    for (at, ((cost, &weight), (gain, loss))) in last.enumerate() {
        *cost += step * (gain - loss);
        if *cost < extremes.low.0 {
            extremes.low = (*cost, first + at);
        }
        if weight > 0.0 && *cost > extremes.high.0 {
            extremes.high = (*cost, first + at);
        }
    }
    extremes
}

#[cfg(test)]
mod tests {
    use bundlenet_linalg::Stream;

    use super::*;

    /// Extremes of costs that were shifted one by one. The first of equal costs counts.
    fn plain(costs: &mut [f64], weights: &[f64], (gains, losses): (&[f64], &[f64]), step: f64) -> Extremes {
        let mut extremes = Extremes { low: (f64::INFINITY, 0), high: (f64::NEG_INFINITY, 0) };
        for at in 0..costs.len() {
            costs[at] += step * (gains[at] - losses[at]);
            if costs[at] < extremes.low.0 {
                extremes.low = (costs[at], at);
            }
            if weights[at] > 0.0 && costs[at] > extremes.high.0 {
                extremes.high = (costs[at], at);
            }
        }
        extremes
    }

    #[test]
    fn eight_at_once_are_as_one_by_one() {
        let mut stream = Stream::new(3, "exchange", 0);
        for count in (0..40).chain(0..40) {
            // Whole numbers, so that many are equal.
            let mut numbers = || (0..count).map(|_| (4.0 * stream.symmetric()).round()).collect::<Vec<_>>();
            let (mut costs, weights, gains, losses) = (numbers(), numbers(), numbers(), numbers());
            let mut others = costs.clone();
            let fast = shift(&mut costs, &weights, (&gains, &losses), 0.5);
            let slow = plain(&mut others, &weights, (&gains, &losses), 0.5);
            assert_eq!((fast.low, fast.high, costs), (slow.low, slow.high, others));
        }
    }
}
