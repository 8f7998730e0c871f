//! Random boxes, for the tests of the masters.

use bundlenet_linalg::Stream;

use crate::oracle::{Bound, Domain};

/// A domain: free, nonnegative, or a mixture of bounds of all kinds.
pub(super) fn random_domain(stream: &mut Stream, dim: usize) -> Domain {
    match stream.below(4) {
        0 => Domain::Free,
        1 => Domain::Nonnegative,
        _ => Domain::PerCoordinate((0..dim).map(|_| random_bound(stream)).collect()),
    }
}

fn random_bound(stream: &mut Stream) -> Bound {
    let (a, b) = (stream.normal(), 10_f64.powi(stream.below(4) as i32 - 2));
    let (lower, upper) = match stream.below(8) {
        0 => return Bound::Free,
        1 => return Bound::Nonnegative,
        2 => (a, f64::INFINITY),
        3 => (f64::NEG_INFINITY, a),
        4 => (a, a),
        5 => (0.0, b),
        _ => (a, a + b),
    };
    Bound::Between { lower, upper }
}

/// Constraints `sign * step <= reach` of the steps from a centre: a coordinate, a sign and a reach for each finite limit.
pub(super) fn reaches(domain: &Domain, centre: &[f64]) -> Vec<(usize, f64, f64)> {
    let both = |(index, at): (usize, &f64)| {
        let (lower, upper) = domain.limits(index);
        [(index, -1.0, at - lower), (index, 1.0, upper - at)]
    };
    centre.iter().enumerate().flat_map(both).filter(|(_, _, reach)| reach.is_finite()).collect()
}
