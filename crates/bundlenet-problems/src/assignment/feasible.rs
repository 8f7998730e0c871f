//! Feasible placements from a solution of the relaxation.
//!
//! Three placements are built: by greatest share, by worth and by weight. Then items move, swap and make room for
//! each other as long as that pays. An item in no bin is worth nothing; if every item needs a bin, it is worth less
//! than any placement.

use super::Assignment;
use super::primal::Placement;
use bundlenet::Sense;

/// Most rounds of improving a placement. Few take more than ten.
const ROUNDS: usize = 50;

/// A feasible placement close to the given shares, if one is found.
pub(super) fn find(instance: &Assignment, convex: &Placement) -> Option<Placement> {
    let starts = [by_shares(instance, convex), by_worth(instance), by_weight(instance)];
    let improved = starts.into_iter().map(|order| {
        let mut plan = Plan::new(instance, order);
        plan.improve();
        plan
    });
    let complete =
        improved.filter(|plan| instance.sense() == Sense::Maximize || plan.places.iter().all(Option::is_some));
    let best = complete.max_by(|one, other| one.total().total_cmp(&other.total()))?;
    Some(Placement::of_places(instance, &best.places))
}

/// Items and bins by falling shares, then worth.
fn by_shares(instance: &Assignment, convex: &Placement) -> Vec<(usize, usize)> {
    let share = |(item, bin): (usize, usize)| convex.shares(item)[bin];
    let mut pairs = by_worth(instance);
    pairs.retain(|&pair| share(pair) > 0.0);
    pairs.sort_by(|&one, &other| share(other).total_cmp(&share(one)));
    pairs
}

/// Items and bins by falling worth.
fn by_worth(instance: &Assignment) -> Vec<(usize, usize)> {
    let worth = |(item, bin): (usize, usize)| -instance.sense().sign() * instance.profits(bin)[item];
    let mut pairs: Vec<(usize, usize)> =
        (0..instance.items()).flat_map(|item| (0..instance.bins()).map(move |bin| (item, bin))).collect();
    pairs.sort_by(|&one, &other| worth(other).total_cmp(&worth(one)));
    pairs
}

/// Items and bins for tight capacities. Items come by the least part of a bin's capacity that they take, the greatest
/// first. Bins of an item come by that part, the least first.
fn by_weight(instance: &Assignment) -> Vec<(usize, usize)> {
    let part = |item: usize, bin: usize| f64::from(instance.weights(bin)[item]) / f64::from(instance.capacities()[bin]);
    let mut rows: Vec<(f64, Vec<(usize, usize)>)> = vec![];
    for item in 0..instance.items() {
        let mut row: Vec<(usize, usize)> = (0..instance.bins()).map(|bin| (item, bin)).collect();
        row.sort_by(|one, other| part(item, one.1).total_cmp(&part(item, other.1)));
        rows.push((part(item, row[0].1), row));
    }
    rows.sort_by(|one, other| other.0.total_cmp(&one.0));
    rows.into_iter().flat_map(|(_, row)| row).collect()
}

/// Items in bins, within the capacities.
struct Plan<'a> {
    instance: &'a Assignment,
    places: Vec<Option<usize>>,
    /// Remaining capacities.
    left: Vec<u32>,
    /// The worth of an item in no bin.
    nowhere: f64,
}

impl<'a> Plan<'a> {
    /// Puts each item into the bin of its first pair that has room.
    fn new(instance: &'a Assignment, pairs: Vec<(usize, usize)>) -> Self {
        let nowhere = match instance.sense() {
            Sense::Maximize => 0.0,
            // No placement of the other items makes up for a missing one.
            Sense::Minimize => -1.0 - 2.0 * instance.all_profits().iter().map(|cost| cost.abs()).sum::<f64>(),
        };
        let places = vec![None; instance.items()];
        let mut plan = Self { instance, places, left: instance.capacities().to_vec(), nowhere };
        for (item, bin) in pairs {
            if plan.places[item].is_none() && plan.weight(item, bin) <= plan.left[bin] {
                plan.put(item, Some(bin));
            }
        }
        plan
    }

    fn weight(&self, item: usize, bin: usize) -> u32 {
        self.instance.weights(bin)[item]
    }

    fn worth(&self, item: usize, place: Option<usize>) -> f64 {
        place.map_or(self.nowhere, |bin| -self.instance.sense().sign() * self.instance.profits(bin)[item])
    }

    fn total(&self) -> f64 {
        self.places.iter().enumerate().map(|(item, &place)| self.worth(item, place)).sum()
    }

    /// Moves an item.
    fn put(&mut self, item: usize, place: Option<usize>) {
        if let Some(bin) = self.places[item] {
            self.left[bin] += self.weight(item, bin);
        }
        if let Some(bin) = place {
            self.left[bin] -= self.weight(item, bin);
        }
        self.places[item] = place;
    }

    /// Whether an item fits into a place once another has left it.
    fn fits(&self, item: usize, place: Option<usize>, without: usize) -> bool {
        place.is_none_or(|bin| {
            let freed = if self.places[without] == place { self.weight(without, bin) } else { 0 };
            self.weight(item, bin) <= self.left[bin] + freed
        })
    }

    /// The best other place of an item, and the gain of moving it there.
    fn best_move(&self, item: usize) -> (Option<usize>, f64) {
        let here = self.places[item];
        let bins = (0..self.instance.bins()).map(Some).filter(|&place| place != here && self.fits(item, place, item));
        let best = bins
            .map(|place| (place, self.worth(item, place)))
            .fold((None, self.nowhere), |best, next| if next.1 > best.1 { next } else { best });
        (best.0, best.1 - self.worth(item, here))
    }

    /// Moves items, swaps them, and makes room for one by moving another, as long as that pays.
    fn improve(&mut self) {
        // A gain within round-off does not count: the search has to end.
        let least = 1e-9 * (0..self.places.len()).map(|item| self.best_worth(item).abs()).fold(0.0, f64::max);
        for _ in 0..ROUNDS {
            let mut is_better = false;
            for item in 0..self.places.len() {
                let (place, gain) = self.best_move(item);
                if gain > least {
                    self.put(item, place);
                    is_better = true;
                }
                is_better |= self.exchange(item, least);
            }
            if !is_better {
                break;
            }
        }
    }

    fn best_worth(&self, item: usize) -> f64 {
        (0..self.instance.bins()).map(|bin| self.worth(item, Some(bin))).fold(f64::NEG_INFINITY, f64::max)
    }

    /// Makes the best exchange: another item takes the bin of `item`, which moves to that one's place or to its best
    /// place.
    fn exchange(&mut self, item: usize, least: f64) -> bool {
        let here = self.places[item];
        if here.is_none() {
            return false;
        }
        let (elsewhere, loss) = self.best_move(item);
        let mut best = (least, None);
        for other in (0..self.places.len()).filter(|&other| self.places[other] != here) {
            let there = self.places[other];
            if !self.fits(other, here, item) {
                continue;
            }
            let gain = self.worth(other, here) - self.worth(other, there);
            let swapped = gain + self.worth(item, there) - self.worth(item, here);
            if swapped > best.0 && self.fits(item, there, other) {
                best = (swapped, Some((other, there)));
            }
            if gain + loss > best.0 {
                best = (gain + loss, Some((other, elsewhere)));
            }
        }
        let Some((other, place)) = best.1 else { return false };
        self.put(item, None);
        self.put(other, here);
        self.put(item, place);
        true
    }
}
