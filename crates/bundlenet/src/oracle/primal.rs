//! Primal solutions: those of a Lagrangian dual's subproblems, combined with the weights of the cuts they came with.
//!
//! A subproblem's solution `x` of cost `c'x` is a cut: the dual is bounded by `c'x + (b - A x)'pi`. So a convex combination of
//! cuts is one of solutions, and as its slope goes to 0 the combination satisfies the constraints that were dualised: it solves
//! the convexified problem. Every cut therefore carries its solution with it, and an aggregate that of its parts.

use std::ops::Range;

use bundlenet_linalg::sparse::pairs;

use super::{Oracle, Solutions};

/// An oracle that hands back the solutions of its subproblems.
///
/// Reached through [`Oracle::as_primal`]; asked only where [`Settings::primal`](crate::Settings::primal) says so.
pub trait PrimalOracle: Oracle {
    /// Pushes the solutions behind the value and the subgradient of the last evaluation onto the cleared `solutions`: one for
    /// each component of a [`SumOracle`](crate::SumOracle), in order; a single one for any other oracle. The oracle numbers
    /// the variables as it likes; the numbers of all components are different.
    ///
    /// The last evaluation may have been one of the whole function or one of its components.
    fn write_solutions(&mut self, solutions: &mut Solutions);
}

/// A convex combination of the solutions of all subproblems.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Primal {
    /// Its cost, in the objective of the problem: what the combined cuts come to at multipliers of 0.
    pub cost: f64,
    /// The variables that are not 0, in ascending order, with their values.
    pub variables: Vec<(u32, f64)>,
}

impl Primal {
    /// The solution of one component, of several, or of all.
    pub(crate) fn of(solutions: &Solutions, components: Range<usize>) -> Self {
        let cost = solutions.costs()[components.clone()].iter().sum();
        let entries = components.flat_map(|component| pairs(solutions.variables(component)));
        Self { cost, variables: added_up(entries.collect()) }
    }

    /// The solution of the whole function.
    pub(crate) fn of_all(solutions: &Solutions) -> Self {
        Self::of(solutions, 0..solutions.len())
    }

    /// The sum of solutions with weights.
    pub(crate) fn combine<'a>(parts: impl Iterator<Item = (f64, &'a Self)> + Clone) -> Self {
        let cost = parts.clone().map(|(weight, part)| weight * part.cost).sum();
        let scaled = |(weight, part): (f64, &'a Self)| {
            part.variables.iter().map(move |&(variable, value)| (variable, weight * value))
        };
        Self { cost, variables: added_up(parts.flat_map(scaled).collect()) }
    }
}

/// Brings entries into order and adds up those of the same variable.
fn added_up(mut entries: Vec<(u32, f64)>) -> Vec<(u32, f64)> {
    // Stable, so that sums are always taken in the same order.
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
        let all = Primal::of_all(&solutions);
        assert_eq!(all, Primal { cost: 3.0, variables: vec![(1, 1.0), (3, 1.0)] });
        let parts = [(0.25, &all), (0.75, &Primal::of(&solutions, 0..1))];
        let combined = Primal::combine(parts.into_iter());
        assert_eq!(combined, Primal { cost: 1.5, variables: vec![(1, 1.0), (3, 0.25), (4, 1.5)] });
    }
}
