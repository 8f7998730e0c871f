//! Weighted graph Laplacians of eight commodities at once, each grounded at the commodity's destination.
//!
//! Elimination of a node adds weights between its neighbours, and none of the sums has a negative term. So every number
//! of the factor is accurate to some units in its last place, however far the weights are apart. In the last steps of an
//! interior-point method they are 20 orders of magnitude apart, and a Cholesky factorisation breaks down.

use bundlenet_linalg::simd::{Block, Lanes, multiversion};

multiversion! {
    /// Factors the Laplacian with edge weights `weights[i * nodes + j]`, `i < j`, and weights `ground` to the ground.
    /// Replaces the weights of each node by their shares in its sum of weights. Writes one over these sums to `pivots`;
    /// 0 for a node without edges.
    pub(super) fn factor(nodes: usize, weights: &mut [Block], ground: &mut [Block], pivots: &mut [Block]) = factor_kernel;
}

#[inline(always)]
fn factor_kernel<L: Lanes>(nodes: usize, weights: &mut [Block], ground: &mut [Block], pivots: &mut [Block]) {
    let zero = L::splat(0.0);
    for node in 0..nodes {
        let (above, below) = weights.split_at_mut((node + 1) * nodes);
        let row = &mut above[node * nodes..];
        let to_ground = L::load(&ground[node]);
        let sum = row[node + 1..].iter().fold(to_ground, |sum, weight| sum.add(L::load(weight)));
        let pivot = zero.if_less(sum, L::splat(1.0).div(sum), zero);
        pivot.store(&mut pivots[node]);
        for (other, target) in (node + 1..nodes).zip(below.chunks_exact_mut(nodes)) {
            let share = L::load(&row[other]).mul(pivot);
            L::load(&ground[other]).add(share.mul(to_ground)).store(&mut ground[other]);
            for (target, weight) in target[other + 1..].iter_mut().zip(&row[other + 1..]) {
                L::load(target).add(share.mul(L::load(weight))).store(target);
            }
        }
        row[node + 1..].iter_mut().for_each(|weight| L::load(weight).mul(pivot).store(weight));
    }
}

/// Solves with a factor, in place. The right-hand side is 0 at nodes before `first`.
#[inline(always)]
pub(super) fn solve<L: Lanes>(nodes: usize, first: usize, shares: &[Block], pivots: &[Block], vector: &mut [Block]) {
    for node in first..nodes {
        let (done, rest) = vector.split_at_mut(node + 1);
        let entry = L::load(&done[node]);
        for (other, share) in rest.iter_mut().zip(&shares[node * nodes + node + 1..(node + 1) * nodes]) {
            L::load(other).add(entry.mul(L::load(share))).store(other);
        }
    }
    for node in (0..nodes).rev() {
        let (head, done) = vector.split_at_mut(node + 1);
        let mut entry = L::load(&head[node]).mul(L::load(&pivots[node]));
        for (other, share) in done.iter().zip(&shares[node * nodes + node + 1..(node + 1) * nodes]) {
            entry = entry.add(L::load(other).mul(L::load(share)));
        }
        entry.store(&mut head[node]);
    }
}

multiversion! {
    /// Solves with the factors of all groups of commodities.
    pub(super) fn solve_all(nodes: usize, shares: &[Block], pivots: &[Block], vectors: &mut [Block]) = solve_all_kernel;
}

#[inline(always)]
fn solve_all_kernel<L: Lanes>(nodes: usize, shares: &[Block], pivots: &[Block], vectors: &mut [Block]) {
    let factors = shares.chunks_exact(nodes * nodes).zip(pivots.chunks_exact(nodes));
    for ((shares, pivots), vector) in factors.zip(vectors.chunks_exact_mut(nodes)) {
        solve::<L>(nodes, 0, shares, pivots, vector);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bundlenet_linalg::Stream;

    /// `L x` of one lane, by its definition.
    fn product(nodes: usize, weights: &[Block], ground: &[Block], x: &[Block], lane: usize) -> Vec<f64> {
        let weight = |i: usize, j: usize| weights[i.min(j) * nodes + i.max(j)].0[lane];
        let row = |i: usize| {
            let edges = (0..nodes).filter(|&j| j != i).map(|j| weight(i, j) * (x[i].0[lane] - x[j].0[lane]));
            edges.sum::<f64>() + ground[i].0[lane] * x[i].0[lane]
        };
        (0..nodes).map(row).collect()
    }

    #[test]
    fn solutions_satisfy_the_system() {
        let mut stream = Stream::new(3, "laplacians", 0);
        for nodes in [2, 3, 9, 30] {
            let mut random = |zero: usize| {
                let number = |stream: &mut Stream| if stream.below(zero) == 0 { 0.0 } else { stream.symmetric().abs() };
                Block(std::array::from_fn(|_| number(&mut stream)))
            };
            let weights: Vec<Block> = (0..nodes * nodes).map(|_| random(3)).collect();
            let ground: Vec<Block> = (0..nodes).map(|_| random(100)).collect();
            let right: Vec<Block> = (0..nodes).map(|_| random(100)).collect();
            let (mut shares, mut grounds, mut pivots) = (weights.clone(), ground.clone(), right.clone());
            factor(nodes, &mut shares, &mut grounds, &mut pivots);
            let mut x = right.clone();
            solve_all(nodes, &shares, &pivots, &mut x);
            for lane in 0..8 {
                for (found, expected) in product(nodes, &weights, &ground, &x, lane).iter().zip(&right) {
                    assert!((found - expected.0[lane]).abs() < 1e-9, "{nodes}: {found} {}", expected.0[lane]);
                }
            }
        }
    }

    /// Two nodes with an edge of weight `strong` and an edge of weight `weak` to the ground. The difference of their
    /// potentials, for a flow from one to the other, is one over `strong` to the last place.
    #[test]
    fn weights_may_be_far_apart() {
        let (strong, weak) = (1e12, 1e-12);
        let mut weights = vec![Block::splat(0.0); 4];
        weights[1] = Block::splat(strong);
        let mut ground = vec![Block::splat(0.0), Block::splat(weak)];
        let mut pivots = vec![Block::splat(0.0); 2];
        factor(2, &mut weights, &mut ground, &mut pivots);
        let mut flow = vec![Block::splat(1.0), Block::splat(-1.0)];
        solve_all(2, &weights, &pivots, &mut flow);
        let difference = flow[0].0[0] - flow[1].0[0];
        assert!((difference * strong - 1.0).abs() < 1e-15, "{difference}");
    }
}
