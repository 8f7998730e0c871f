//! A Lagrangian bound as a service: generalised assignment to proved optimality by branch and bound.
//!
//! A node forbids some item-bin pairs. Its bound is the optimum of the Lagrangian dual. The run starts from the parent's state,
//! whose cuts mostly still hold, and stops once the bound cannot beat the best known assignment. A node is pruned by a safe
//! bound, which no rounding error can make wrong.

use bundlenet::{Limits, Minorants, Sense, Settings, Solver, State, SumOracle};
use bundlenet_problems::{Assignment, AssignmentDual, InvalidInstance};

/// The optimum and how it was found.
pub(crate) struct Outcome {
    pub(crate) profit: f64,
    pub(crate) nodes: usize,
    pub(crate) oracle_calls: usize,
}

struct Node {
    /// Item-bin pairs that are not allowed.
    forbidden: Vec<(usize, usize)>,
    state: State,
}

/// Solves an instance with integer profits, each item at most once, to optimality.
pub(crate) fn branch_and_bound(instance: &Assignment) -> Result<Outcome, Box<dyn std::error::Error + Send + Sync>> {
    let mut outcome = Outcome { profit: 0.0, nodes: 0, oracle_calls: 0 };
    let mut open = vec![Node { forbidden: vec![], state: State::new() }];
    while let Some(Node { forbidden, mut state }) = open.pop() {
        outcome.nodes += 1;
        let restricted = without(instance, &forbidden)?;
        let mut dual = AssignmentDual::new(&restricted);
        // Profits are integers: a bound below the next integer prunes the node.
        let limits = Limits { target: Some(outcome.profit + 0.999), ..Limits::default() };
        let solver = Solver::new(Settings { limits, ..Settings::default() })?;
        let solution = solver.state(&mut state).solve(&mut dual)?;
        outcome.oracle_calls += solution.oracle_calls;
        if restricted.safe_bound(&solution.point)?.value() < outcome.profit + 1.0 {
            continue;
        }
        // The bins that an item fits into. An item with one such bin is not contested: its price is 0.
        let fits = |item: usize, bin: usize| restricted.weights(bin)[item] <= restricted.capacities()[bin];
        let places: Vec<Vec<usize>> =
            (0..instance.items()).map(|item| (0..instance.bins()).filter(|&bin| fits(item, bin)).collect()).collect();
        let price = |item: usize| if places[item].len() > 1 { solution.point[item] } else { 0.0 };
        let prices: Vec<f64> = (0..instance.items()).map(price).collect();
        // The items that each bin takes at these prices. The bin with the highest profit gets an item that several bins take.
        let mut wanted = Minorants::new();
        dual.evaluate_components(&prices, &mut wanted)?;
        let mut bins_of = vec![vec![]; instance.items()];
        for bin in 0..instance.bins() {
            wanted.subgradient(bin).0.iter().for_each(|&item| bins_of[item as usize].push(bin));
        }
        let best_of = |item: usize| bins_of[item].iter().map(|&bin| instance.profits(bin)[item]).fold(0.0, f64::max);
        outcome.profit = outcome.profit.max((0..instance.items()).map(best_of).sum());
        // Branch on the item whose price is most wrong: several bins take it, or none does although its price is positive. If
        // there is no such item, the assignment is optimal for this node.
        let wrong = |item: usize| match bins_of[item].len() {
            0 => prices[item],
            count => (count - 1) as f64 * (1.0 + prices[item]),
        };
        let worst = (0..instance.items()).max_by(|&a, &b| wrong(a).total_cmp(&wrong(b)));
        let Some(item) = worst.filter(|&item| wrong(item) > 0.0) else { continue };
        // One child leaves the item out; each other child puts it into one bin. The last child is solved first.
        for place in std::iter::once(None).chain(places[item].iter().map(Some)) {
            let others = places[item].iter().filter(|&bin| Some(bin) != place).map(|&bin| (item, bin));
            open.push(Node { forbidden: forbidden.iter().copied().chain(others).collect(), state: state.clone() });
        }
    }
    Ok(outcome)
}

/// The instance without some item-bin pairs: the item then weighs more than the bin holds.
fn without(instance: &Assignment, forbidden: &[(usize, usize)]) -> Result<Assignment, InvalidInstance> {
    let bins = 0..instance.bins();
    let mut weights: Vec<u32> = bins.clone().flat_map(|bin| instance.weights(bin).to_vec()).collect();
    for &(item, bin) in forbidden {
        weights[bin * instance.items() + item] = instance.capacities()[bin] + 1;
    }
    let profits = bins.flat_map(|bin| instance.profits(bin).to_vec()).collect();
    Assignment::new(instance.sense(), instance.items(), instance.capacities().to_vec(), profits, weights)
}

/// An instance with 4 bins and 16 items; heavier items have higher profits.
pub(crate) fn example() -> Result<Assignment, InvalidInstance> {
    let pairs = || (0..4_u32).flat_map(|bin| (0..16_u32).map(move |item| (bin, item)));
    let weight = |(bin, item): (u32, u32)| 8 + (37 * item + 11 * bin * item + 3 * bin) % 21;
    let profit = |pair: (u32, u32)| f64::from(2 * weight(pair) + (53 * pair.1 + 17 * pair.0) % 9);
    Assignment::new(
        Sense::Maximize,
        16,
        vec![43, 38, 51, 46],
        pairs().map(profit).collect(),
        pairs().map(weight).collect(),
    )
}

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let Outcome { profit, nodes, oracle_calls } = branch_and_bound(&example()?)?;
    println!("the best profit is {profit}: {nodes} nodes, {oracle_calls} oracle calls");
    Ok(())
}
