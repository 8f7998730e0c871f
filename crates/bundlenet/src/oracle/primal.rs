//! Primal solutions: convex combinations of the subproblems' solutions, with the weights of their cuts.
//!
//! A solution `x` of a subproblem with cost `c'x` gives a cut: the dual is bounded by `c'x + (b - A x)'pi`. So a convex
//! combination of cuts is also one of solutions. As its slope goes to 0, it satisfies the dualised constraints and
//! solves the convexified problem. Every cut therefore keeps its solution, and an aggregate that of its parts.

use std::ops::Range;

use bundlenet_linalg::sparse::pairs;

use super::{Oracle, Solutions};

/// An oracle that also returns the solutions of its subproblems.
///
/// A run asks for them through [`Oracle::as_primal`] if [`Settings::primal`](crate::Settings::primal) is set.
pub trait PrimalOracle: Oracle {
    /// Pushes the solutions that belong to the value and the subgradient of the last evaluation: one for each component
    /// of a [`SumOracle`](crate::SumOracle), in order, or a single one for any other oracle. Those of further cuts may
    /// follow, in the order of the cuts: all of them or none. Without them the run does not use further cuts.
    /// `solutions` is empty before. The oracle chooses the numbers of the variables; two components have no number in
    /// common.
    ///
    /// The last evaluation was one of the whole function, of its components or of some components. After one of the
    /// whole function there are no further cuts.
    fn write_solutions(&mut self, solutions: &mut Solutions);

    /// The minorant of a component that belongs to a solution of an earlier run, with the present data: its value at
    /// the origin, and the entries of its slope. All numbers are in the problem's own sense. `None` if the solution is
    /// not feasible any more, or if that is unknown.
    ///
    /// A run with a [`State`](crate::State) asks for it if the data of the component have changed, or may have changed,
    /// and the cut has a primal solution. The cut is then used with the new line, and the value at the origin becomes
    /// the cost of `solution`. Without an answer, [`SumOracle::reprice`](crate::SumOracle::reprice) is asked.
    ///
    /// `solution` may be a convex combination of solutions. The oracle may change its variables, if they have to follow
    /// the data; it need not set the cost. An oracle that is not a sum is asked for component 0, the whole function. The
    /// solutions of a sum as a whole are not asked for.
    fn line_of(&mut self, component: usize, solution: &mut Primal) -> Option<(f64, Vec<(u32, f64)>)> {
        let _ = (component, solution);
        None
    }
}

/// A convex combination of the solutions of all subproblems.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Primal {
    /// Cost in the objective of the problem. It is the value of the combined cuts at zero multipliers.
    pub cost: f64,
    /// Nonzero variables in ascending order, with their values.
    pub variables: Vec<(u32, f64)>,
}

impl Primal {
    /// The sum of the solutions of a range of components.
    pub(crate) fn of(solutions: &Solutions, components: Range<usize>) -> Self {
        let cost = solutions.costs()[components.clone()].iter().sum();
        let entries = components.flat_map(|component| pairs(solutions.variables(component)));
        Self { cost, variables: added_up(entries.collect()) }
    }

    /// The weighted sum of solutions. `None` if there are none, or if one of them is unknown.
    pub(crate) fn combine_all<'a>(parts: impl Iterator<Item = (f64, Option<&'a Self>)> + Clone) -> Option<Self> {
        let are_known = parts.clone().next().is_some() && parts.clone().all(|(_, part)| part.is_some());
        are_known.then(|| Self::combine(parts.filter_map(|(weight, part)| Some((weight, part?)))))
    }

    /// A multiple of the solution.
    pub(crate) fn scaled(&self, factor: f64) -> Self {
        let variables = self.variables.iter().map(|&(variable, value)| (variable, factor * value));
        Self { cost: factor * self.cost, variables: variables.collect() }
    }

    /// The weighted sum of solutions.
    pub(crate) fn combine<'a>(parts: impl Iterator<Item = (f64, &'a Self)> + Clone) -> Self {
        let cost = parts.clone().map(|(weight, part)| weight * part.cost).sum();
        let scaled = |(weight, part): (f64, &'a Self)| {
            part.variables.iter().map(move |&(variable, value)| (variable, weight * value))
        };
        Self { cost, variables: added_up(parts.flat_map(scaled).collect()) }
    }
}

/// Sorts the entries and adds up those of the same variable.
fn added_up(mut entries: Vec<(u32, f64)>) -> Vec<(u32, f64)> {
    // The sort is stable, so the sums always have the same order.
    entries.sort_by_key(|(variable, _)| *variable);
    entries.dedup_by(|next, sum| {
        let is_same = next.0 == sum.0;
        if is_same {
            sum.1 += next.1;
        }
        is_same
    });
    entries.retain(|(_, value)| *value != 0.0);
    entries.shrink_to_fit();
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn combinations_add_up() {
        let mut solutions = Solutions::new();
        solutions.push(1.0, [(4, 2.0), (1, 1.0)]);
        solutions.push(2.0, [(4, -2.0), (3, 1.0)]);
        let all = Primal::of(&solutions, 0..2);
        assert_eq!(all, Primal { cost: 3.0, variables: vec![(1, 1.0), (3, 1.0)] });
        let parts = [(0.25, &all), (0.75, &Primal::of(&solutions, 0..1))];
        let combined = Primal::combine(parts.into_iter());
        assert_eq!(combined, Primal { cost: 1.5, variables: vec![(1, 1.0), (3, 0.25), (4, 1.5)] });
    }
}
