//! A solution of the relaxation over the convex hulls of the knapsacks, from one that almost assigns every item once.
//!
//! The relaxation's optimum is that of the Lagrangian dual, so the value of any solution bounds the dual. Convex
//! combinations of the bins' solutions lie in the hulls, and remain there if the share of an item is reduced. Only the
//! assignment constraints may be violated.

use super::{Assignment, AssignmentDual};
use crate::knapsack::BinaryKnapsack;
use crate::{Recovered, Violation};
use bundlenet::Primal;
use bundlenet::{Lines, Sense, SumOracle};

/// Most rounds of the search for a covering: a solution with more than one of every item.
const COVERING_ROUNDS: usize = 300;

/// Rounds between two checks of how good a covering can be.
const CHECKED_ROUNDS: usize = 20;

/// Most rounds of a search that has to end soon. A few find a covering where capacities are not tight.
const LAST_ROUNDS: usize = 4;

/// How fast the price of an item falls when it is covered.
const PRICE_RATE: f64 = 0.1;

/// Excess over 1 of every item at which the search ends.
const LARGE_EXCESS: f64 = 0.25;

/// Excess over 1 below which a covering is of no use.
const SMALL_EXCESS: f64 = 1e-6;

/// Missing part of an item that counts as round-off: its shares are scaled up by it.
const ROUND_OFF: f64 = 1e-12;

/// The share of each item in every bin. Shares of a feasible solution are 0 or 1; those of the relaxation lie
/// between. The shares of a primal solution that is not repaired may violate the assignment constraints.
#[derive(Clone, Debug, PartialEq)]
pub struct Placement {
    bins: usize,
    /// By item, then bin.
    shares: Vec<f64>,
    value: f64,
}

impl Placement {
    /// Its profit, or cost.
    #[must_use]
    pub fn value(&self) -> f64 {
        self.value
    }

    /// Number of items.
    #[must_use]
    pub fn items(&self) -> usize {
        self.shares.len() / self.bins
    }

    /// The share of an item in every bin.
    ///
    /// # Panics
    /// If there is no such item.
    #[must_use]
    pub fn shares(&self, item: usize) -> &[f64] {
        &self.shares[item * self.bins..(item + 1) * self.bins]
    }

    /// Every item in one bin, or in none.
    pub(super) fn of_places(instance: &Assignment, places: &[Option<usize>]) -> Self {
        let bins = instance.bins();
        let mut placement = Self { bins, shares: vec![0.0; bins * places.len()], value: 0.0 };
        for (item, bin) in places.iter().enumerate().filter_map(|(item, place)| Some((item, (*place)?))) {
            placement.shares[item * bins + bin] = 1.0;
            placement.value += instance.profits(bin)[item];
        }
        placement
    }

    /// The primal solution of a run, in the problem's terms.
    fn of_primal(instance: &Assignment, primal: &Primal) -> Self {
        let (bins, items) = (instance.bins(), instance.items());
        let mut placement = Self { bins, shares: vec![0.0; items * bins], value: primal.cost };
        for &(variable, share) in &primal.variables {
            let (bin, item) = (variable as usize / items, variable as usize % items);
            if let Some(place) = placement.shares.get_mut(item * bins + bin) {
                *place = share;
            }
        }
        placement
    }

    /// Violation of the assignment constraints.
    fn violation(&self, instance: &Assignment) -> Violation {
        let mut violation = Violation::default();
        for shares in self.shares.chunks_exact(self.bins) {
            let excess = shares.iter().sum::<f64>() - 1.0;
            violation.add(if instance.sense() == Sense::Maximize { excess.max(0.0) } else { excess.abs() });
        }
        violation
    }

    /// The shares as the slopes of the bins' cuts.
    fn aggregate(&self, instance: &Assignment) -> Lines {
        let mut aggregate = Lines::new();
        for bin in 0..self.bins {
            let shares = (0..instance.items()).map(|item| (item as u32, -self.shares(item)[bin]));
            aggregate.push(0.0, shares.filter(|(_, share)| *share < 0.0));
        }
        aggregate
    }
}

impl Assignment {
    /// The primal solution of a run on the dual: the convex combination itself, repaired, and rounded to whole items.
    #[must_use]
    pub fn recover(&self, primal: &Primal) -> Recovered<Placement> {
        let convex = Placement::of_primal(self, primal);
        let mut dual = AssignmentDual::new(self);
        dual.prove(&convex.aggregate(self));
        let relaxed = dual.proof().cloned();
        let feasible = super::feasible::find(self, &convex);
        Recovered { violation: convex.violation(self), convex, relaxed, feasible }
    }
}

/// Makes solutions; keeps its memory from one to the next.
#[derive(Clone, Debug)]
pub(super) struct Recovery {
    solution: Placement,
    is_complete: bool,
    covering: Covering,
    /// Bins in the order in which an item leaves them.
    order: Vec<u32>,
}

/// A covering: a solution with more than one of every item.
#[derive(Clone, Debug)]
enum Covering {
    Unknown,
    Impossible,
    /// By item, then bin.
    Known(Vec<f64>),
    /// As `Known`, from a search that was cut short. The next one starts again.
    Preliminary(Vec<f64>),
}

impl Recovery {
    pub(super) fn new(instance: &Assignment) -> Self {
        let (items, bins) = (instance.items(), instance.bins());
        Self {
            solution: Placement { bins, shares: vec![0.0; items * bins], value: 0.0 },
            is_complete: false,
            covering: Covering::Unknown,
            order: Vec::with_capacity(bins),
        }
    }

    /// The solution that the last call of `recover` found.
    pub(super) fn solution(&self) -> Option<&Placement> {
        self.is_complete.then_some(&self.solution)
    }

    /// Value of a solution close to the shares in `aggregate`.
    pub(super) fn recover(
        &mut self,
        instance: &Assignment,
        knapsack: &mut BinaryKnapsack,
        aggregate: &Lines,
        is_over: &dyn Fn() -> bool,
    ) -> Option<f64> {
        self.is_complete = false;
        if aggregate.len() != instance.bins() {
            return None;
        }
        self.load(instance, aggregate);
        self.is_complete = match instance.sense() {
            Sense::Maximize => true,
            Sense::Minimize => self.cover(instance, knapsack, is_over),
        };
        if self.is_complete {
            self.price(instance);
        }
        self.is_complete.then_some(self.solution.value)
    }

    fn load(&mut self, instance: &Assignment, aggregate: &Lines) {
        let bins = instance.bins();
        self.solution.shares.fill(0.0);
        for bin in 0..bins {
            let (coordinates, entries) = aggregate.slope(bin);
            for (&item, &entry) in coordinates.iter().zip(entries) {
                if let Some(share) = self.solution.shares.get_mut(item as usize * bins + bin) {
                    *share += (-entry).max(0.0);
                }
            }
        }
        self.solution.shares.iter_mut().for_each(|share| *share = share.min(1.0));
    }

    /// Mixes in the least portion of a covering that assigns every item; false if there is no covering.
    fn cover(&mut self, instance: &Assignment, knapsack: &mut BinaryKnapsack, is_over: &dyn Fn() -> bool) -> bool {
        let bins = instance.bins();
        let total = |shares: &[f64]| shares.iter().sum::<f64>();
        if self.solution.shares.chunks_exact(bins).all(|shares| total(shares) >= 1.0 - ROUND_OFF) {
            return true;
        }
        if matches!(self.covering, Covering::Unknown | Covering::Preliminary(_)) {
            self.covering = find_covering(instance, knapsack, is_over);
        }
        let (Covering::Known(covering) | Covering::Preliminary(covering)) = &self.covering else { return false };
        let portion = self
            .solution
            .shares
            .chunks_exact(bins)
            .zip(covering.chunks_exact(bins))
            .map(|(shares, covering)| (1.0 - total(shares), total(covering) - 1.0))
            .filter(|&(missing, _)| missing > 0.0)
            .map(|(missing, excess)| missing / (missing + excess))
            .fold(0.0, f64::max);
        for (share, covering) in self.solution.shares.iter_mut().zip(covering) {
            *share = (1.0 - portion) * *share + portion * covering;
        }
        true
    }

    /// Reduces the least valuable shares until no item has more than 1, and computes the value.
    fn price(&mut self, instance: &Assignment) {
        let sign = instance.sense().opposite().sign();
        self.solution.value = 0.0;
        for (item, shares) in self.solution.shares.chunks_exact_mut(instance.bins()).enumerate() {
            let profit = |bin: usize| instance.profits(bin)[item];
            if instance.sense() == Sense::Maximize {
                // No bin is better than a loss.
                shares.iter_mut().enumerate().filter(|(bin, _)| profit(*bin) < 0.0).for_each(|(_, share)| *share = 0.0);
            }
            let mut total: f64 = shares.iter().sum();
            if total > 1.0 {
                self.order.clear();
                self.order.extend((0..shares.len() as u32).filter(|&bin| shares[bin as usize] > 0.0));
                let worth = |bin: u32| sign * profit(bin as usize);
                self.order.sort_unstable_by(|&one, &other| worth(one).total_cmp(&worth(other)).then(one.cmp(&other)));
                for share in self.order.iter().map(|&bin| bin as usize) {
                    let excess = total - 1.0;
                    if excess <= 0.0 {
                        break;
                    }
                    let taken = shares[share].min(excess);
                    shares[share] -= taken;
                    total -= taken;
                }
                total = shares.iter().sum();
            }
            // With "exactly once", only round-off remains.
            if instance.sense() == Sense::Minimize && total > 0.0 {
                shares.iter_mut().for_each(|share| *share /= total);
            }
            self.solution.value += shares.iter().enumerate().map(|(bin, share)| share * profit(bin)).sum::<f64>();
        }
    }
}

/// Searches for a covering. One bin after another solves its knapsack with prices, and the prices of chosen items
/// fall. The mean prices bound the largest excess, which ends the search early; `is_over` does so, too.
fn find_covering(instance: &Assignment, knapsack: &mut BinaryKnapsack, is_over: &dyn Fn() -> bool) -> Covering {
    let (items, bins) = (instance.items(), instance.bins());
    let mut counts = vec![0.0; items * bins];
    let mut covered = vec![0.0_f64; items];
    let mut prices = vec![1.0; items];
    let mut mean_prices = vec![0.0; items];
    let (mut excess, mut best) = (SMALL_EXCESS, None);
    // Prices fall with the cover beyond the least. While that stays, only those of the items chosen last change.
    let (mut priced_at, mut chosen) = (f64::NAN, vec![]);
    for round in 1..=COVERING_ROUNDS {
        for bin in 0..bins {
            let least = covered.iter().copied().fold(f64::INFINITY, f64::min);
            let price = |covered: f64| (PRICE_RATE * (least - covered)).exp();
            if least == priced_at {
                chosen.iter().for_each(|&item: &usize| prices[item] = price(covered[item]));
            } else {
                prices.iter_mut().zip(&covered).for_each(|(entry, covered)| *entry = price(*covered));
            }
            priced_at = least;
            if knapsack.solve(&prices, instance.weights(bin), instance.capacities()[bin]).is_err() {
                return Covering::Impossible;
            }
            chosen.clear();
            chosen.extend(knapsack.chosen().iter().map(|&item| item as usize));
            for &item in &chosen {
                counts[item * bins + bin] += 1.0;
                covered[item] += 1.0;
            }
        }
        let total: f64 = prices.iter().sum();
        mean_prices.iter_mut().zip(&prices).for_each(|(mean, price)| *mean += price / total);
        let least = covered.iter().copied().fold(f64::INFINITY, f64::min) / round as f64;
        if least - 1.0 > excess {
            excess = least - 1.0;
            best = Some(counts.iter().map(|count| count / round as f64).collect());
        }
        if excess >= LARGE_EXCESS {
            break;
        }
        if round % CHECKED_ROUNDS == 0 {
            // No covering is worth more at these prices.
            let most = (0..bins).try_fold(0.0, |sum, bin| {
                knapsack.solve(&mean_prices, instance.weights(bin), instance.capacities()[bin]).map(|value| sum + value)
            });
            let Ok(most) = most else { return Covering::Impossible };
            if excess >= 0.5 * (most / round as f64 - 1.0) {
                break;
            }
        }
        if is_over() && (best.is_some() || round >= LAST_ROUNDS) {
            return best.map_or(Covering::Unknown, Covering::Preliminary);
        }
    }
    best.map_or(Covering::Impossible, Covering::Known)
}
