//! Proofs of safe bounds, which a program without any part of this one can check: `tools/bundlenet_verify.py`.
//!
//! A proof has the multipliers as fractions, and for each subproblem a number from which its bound follows. It is made in
//! integers by simple code that has nothing in common with the fast code of [`SafeBound`].

use serde::Serialize;

use crate::safe::SafeBound;

/// Name and version of the format.
const FORMAT: &str = "bundlenet proof 1";

/// A proof of a [`SafeBound`]. `docs/formats.md` has its fields.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Proof {
    format: &'static str,
    family: &'static str,
    sense: &'static str,
    bound: String,
    multipliers: Vec<String>,
    #[serde(flatten)]
    subproblems: Subproblems,
}

/// Numbers from which the bounds of the subproblems follow.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub(crate) enum Subproblems {
    /// For each arc the multiplier of its capacity.
    Arcs { breaks: Vec<String> },
    /// For each bin an upper bound on its knapsack, and the multiplier of its capacity.
    Bins { knapsacks: Vec<String>, ratios: Vec<String> },
}

impl Proof {
    pub(crate) fn new(family: &'static str, sense: &'static str, bound: &SafeBound, subproblems: Subproblems) -> Self {
        let price = |&multiplier: &f64| fraction(bound.units(multiplier).into(), bound.one().into());
        let multipliers = bound.multipliers().iter().map(price).collect();
        Self { format: FORMAT, family, sense, bound: bound.to_string(), multipliers, subproblems }
    }

    /// The content of a proof file.
    #[must_use]
    pub fn to_json(&self) -> String {
        let text = serde_json::to_string(self).unwrap_or_else(|error| unreachable!("texts can be written: {error}"));
        text + "\n"
    }
}

/// A fraction in lowest terms, as text. The denominator is positive.
pub(crate) fn fraction(numerator: i128, denominator: i128) -> String {
    let (mut common, mut rest) = (denominator, numerator.abs());
    while rest != 0 {
        (common, rest) = (rest, common % rest);
    }
    match denominator / common {
        1 => (numerator / common).to_string(),
        denominator => format!("{}/{denominator}", numerator / common),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_are_in_lowest_terms() {
        let cases = [(6, 4, "3/2"), (-6, 4, "-3/2"), (0, 8, "0"), (8, 8, "1"), (-5, 1, "-5"), (7, 12, "7/12")];
        for (numerator, denominator, expected) in cases {
            assert_eq!(fraction(numerator, denominator), expected);
        }
    }
}
