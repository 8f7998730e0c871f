//! The linear system of a Newton step.
//!
//! With the flows eliminated, it has the changes `p` of the multipliers, and of each arc the change `y` of its design and
//! the force `v` of its capacity:
//!
//! ```text
//! L p + V z = r        L    a weighted graph Laplacian of each commodity, with the weights beta
//! Q z - V'p = a        Q    a 2 x 2 block of each arc, z = (y, v)
//!                      V    N (alpha y - beta v) for each commodity
//! ```
//!
//! Elimination of `p` leaves `T = Q + V' L^-1 V`, with two rows for each arc: a positive definite block for the designs and
//! a negative definite one for the forces. With the potentials `Z = L^-1 N` of a commodity, `N' Z` is the matrix of
//! potential differences of arc `b` for a unit of flow on arc `a`, and it enters `T` three times, scaled by `alpha` and
//! `beta`. So a commodity takes a few operations for each pair of arcs, `nodes` times fewer than by a factor of `L`.
//!
//! `T` has round-off. Conjugate gradients on `S = L + V Q^-1 V'`, which is applied without round-off to speak of, correct
//! it: the factor of `T` is their preconditioner.

use bundlenet_linalg::Cholesky;
use bundlenet_linalg::simd::{Block, LANES, Lanes, blocks_for, flat, flat_mut, multiversion};

use super::laplacian;
use super::program::Program;

/// Most steps of conjugate gradients. They end earlier if a residual is `WORSE` times the least one.
const MOST_STEPS: usize = 20;
const WORSE: f64 = 10.0;
/// Steps before that is judged.
const FIRST_STEPS: usize = 4;

const ZERO: Block = Block([0.0; LANES]);

/// Asked in a long computation: whether it has to end.
pub(super) type IsOver<'a> = &'a dyn Fn() -> bool;

#[derive(Clone, Debug)]
pub(super) struct Newton {
    /// `alpha = d w_1 / D` and `beta = 1 / D` by group of commodities, then arc. `w_0` and `w_1` are multipliers over
    /// slacks of `x >= 0` and `x <= d y`, and `D` is their sum with the proximal term of the flows.
    pub(super) alphas: Vec<Block>,
    pub(super) betas: Vec<Block>,
    /// `Q` of each arc: its entries `yy`, `yv` and `vv`.
    pub(super) corners: Vec<[f64; 3]>,
    /// The solution: `y` and `v` of each arc.
    pub(super) designs: Vec<(f64, f64)>,
    /// Proximal term of the multipliers: it is added to the diagonal of `L`.
    pub(super) proximal: f64,
    /// Factors of the Laplacians by group.
    shares: Vec<Block>,
    pivots: Vec<Block>,
    schur: Cholesky,
    panel: Panel,
    ground: Vec<Block>,
    sums: Vec<Block>,
    right: Vec<f64>,
    gradients: Gradients,
}

/// Numbers of eight commodities, each by arc.
#[derive(Clone, Debug)]
struct Panel {
    /// Potentials by commodity, then node.
    potentials: Vec<Block>,
    /// `alpha` and `beta` by commodity.
    alphas: Vec<Block>,
    betas: Vec<Block>,
    columns: Vec<Block>,
}

/// The vectors of conjugate gradients.
#[derive(Clone, Debug, Default)]
struct Gradients {
    residual: Vec<Block>,
    preconditioned: Vec<Block>,
    direction: Vec<Block>,
    image: Vec<Block>,
    best: Vec<Block>,
    scratch: Vec<Block>,
}

impl Newton {
    pub(super) fn new(program: &Program) -> Self {
        let (nodes, arcs, groups) = (program.nodes, program.ends.len(), program.groups());
        let width = blocks_for(arcs);
        let zeros = |count: usize| vec![ZERO; count];
        let vector = || zeros(groups * nodes);
        Self {
            alphas: zeros(groups * arcs),
            betas: zeros(groups * arcs),
            corners: vec![[0.0; 3]; arcs],
            designs: vec![(0.0, 0.0); arcs],
            proximal: 0.0,
            shares: zeros(groups * nodes * nodes),
            pivots: vector(),
            schur: Cholesky::default(),
            panel: Panel {
                potentials: zeros(LANES * nodes * width),
                alphas: zeros(LANES * width),
                betas: zeros(LANES * width),
                columns: zeros(LANES * nodes),
            },
            ground: zeros(nodes),
            sums: zeros(2 * arcs),
            right: vec![0.0; 2 * width * LANES],
            gradients: Gradients {
                residual: vector(),
                preconditioned: vector(),
                direction: vector(),
                image: vector(),
                best: vector(),
                scratch: vector(),
            },
        }
    }

    /// Factors the system of the present weights. `None` if `is_over` ends it before.
    pub(super) fn factor(&mut self, program: &Program, is_over: IsOver<'_>) -> Option<()> {
        let (nodes, arcs) = (program.nodes, program.ends.len());
        // The forces begin at a whole block.
        let first = blocks_for(arcs) * LANES;
        let ends_now = |_: usize| is_over();
        self.schur.reset(first + arcs, &ends_now)?;
        (arcs..first).for_each(|pad| self.schur.row_mut(pad)[pad] = 1.0);
        for group in 0..program.groups() {
            if is_over() {
                return None;
            }
            self.factor_group(program, group);
            let shares = &self.shares[group * nodes * nodes..(group + 1) * nodes * nodes];
            let pivots = &self.pivots[group * nodes..(group + 1) * nodes];
            let range = group * arcs..(group + 1) * arcs;
            let weights = (&self.alphas[range.clone()], &self.betas[range]);
            fill_panel(&program.ends, (shares, pivots), weights, &mut self.panel);
            let commodities = (program.commodities.len() - group * LANES).min(LANES);
            add_products(&program.ends, nodes, commodities, &self.panel, &mut self.schur);
        }
        for (arc, [yy, yv, vv]) in self.corners.iter().enumerate() {
            self.schur.row_mut(arc)[arc] += yy;
            let row = self.schur.row_mut(first + arc);
            row[arc] += yv;
            row[first + arc] += vv;
        }
        self.schur.factor_quasidefinite(first, 0.0, &ends_now).map(|_| ())
    }

    /// Factors the Laplacians of a group.
    fn factor_group(&mut self, program: &Program, group: usize) {
        let (nodes, arcs) = (program.nodes, program.ends.len());
        let weights = &mut self.shares[group * nodes * nodes..(group + 1) * nodes * nodes];
        weights.fill(ZERO);
        self.ground.fill(ZERO);
        add_weights(nodes, &program.ends, &self.betas[group * arcs..(group + 1) * arcs], weights);
        for (lane, &destination) in program.destinations[group * LANES..].iter().take(LANES).enumerate() {
            for node in (0..nodes).filter(|&node| node != destination) {
                let edge = &mut weights[node.min(destination) * nodes + node.max(destination)].0[lane];
                self.ground[node].0[lane] = std::mem::take(edge) + self.proximal;
            }
        }
        laplacian::factor(nodes, weights, &mut self.ground, &mut self.pivots[group * nodes..(group + 1) * nodes]);
    }

    /// Solves for right-hand sides `r` and `a`, until the residual's norm is at most `tolerance`. Writes the change of the
    /// multipliers and `designs`. Returns the norm of the residual, over that of the right-hand side.
    pub(super) fn solve(
        &mut self,
        program: &Program,
        (flows, arcs): (&[Block], &[(f64, f64)]),
        change: &mut [Block],
        tolerance: f64,
    ) -> f64 {
        let mut gradients = std::mem::take(&mut self.gradients);
        for ((design, corner), &right) in self.designs.iter_mut().zip(&self.corners).zip(arcs) {
            *design = solve_corner(corner, right);
        }
        self.conserve(program, flows, &mut gradients.residual);
        let relative = self.descend(program, &mut gradients, change, tolerance);
        self.gradients = gradients;
        self.solve_corners(program, Some(arcs), change);
        relative
    }

    /// Conjugate gradients from 0. `gradients.residual` is the right-hand side before.
    fn descend(&mut self, program: &Program, gradients: &mut Gradients, change: &mut [Block], tolerance: f64) -> f64 {
        let Gradients { residual, preconditioned, direction, image, best, scratch } = gradients;
        change.fill(ZERO);
        best.fill(ZERO);
        let first = norm(residual);
        let (mut least, mut slope) = (first, 0.0);
        for step in 0..MOST_STEPS {
            if least <= tolerance || first == 0.0 {
                break;
            }
            self.precondition(program, residual, preconditioned, scratch);
            let next = dot(residual, preconditioned);
            let share = if step == 0 { 0.0 } else { next / slope };
            slope = next;
            let pairs = flat_mut(direction).iter_mut().zip(flat(preconditioned));
            pairs.for_each(|(direction, entry)| *direction = entry + share * if step == 0 { 0.0 } else { *direction });
            self.apply(program, direction, image);
            let curvature = dot(direction, image);
            let is_usable = curvature > 0.0 && slope.is_finite();
            if !is_usable {
                break;
            }
            let length = slope / curvature;
            add(change, length, direction);
            add(residual, -length, image);
            let size = norm(residual);
            if size < least {
                least = size;
                best.copy_from_slice(change);
            } else if step >= FIRST_STEPS && size > WORSE * least {
                break;
            }
        }
        change.copy_from_slice(best);
        if first > 0.0 { least / first } else { 0.0 }
    }

    /// `flows - V z` at the nodes where flow is conserved, with `z` in `designs`.
    fn conserve(&self, program: &Program, flows: &[Block], out: &mut [Block]) {
        out.fill(ZERO);
        send(program.nodes, &program.ends, (&self.alphas, &self.betas), &self.designs, None, out);
        let rest = flat_mut(out).iter_mut().zip(flat(flows)).zip(flat(&program.conserved));
        rest.for_each(|((sent, flow), conserved)| *sent = (flow - *sent) * conserved);
    }

    /// `z = Q^-1 (a + V'p)`, in `designs`.
    fn solve_corners(&mut self, program: &Program, right: Option<&[(f64, f64)]>, potentials: &[Block]) {
        self.add_differences(program, potentials);
        for (arc, (design, corner)) in self.designs.iter_mut().zip(&self.corners).enumerate() {
            let (with_alpha, with_beta) = (total(&self.sums[2 * arc]), total(&self.sums[2 * arc + 1]));
            let (first, second) = right.map_or((0.0, 0.0), |right| right[arc]);
            *design = solve_corner(corner, (first + with_alpha, second - with_beta));
        }
    }

    /// Sums over all commodities of each arc's potential differences, times `alpha` and times `beta`, in `sums`.
    fn add_differences(&mut self, program: &Program, potentials: &[Block]) {
        self.sums.fill(ZERO);
        differences(program.nodes, &program.ends, (&self.alphas, &self.betas), potentials, &mut self.sums);
    }

    /// `S p`, with the proximal term.
    fn apply(&mut self, program: &Program, potentials: &[Block], out: &mut [Block]) {
        self.solve_corners(program, None, potentials);
        out.fill(ZERO);
        let weights = (&self.alphas[..], &self.betas[..]);
        send(program.nodes, &program.ends, weights, &self.designs, Some(potentials), out);
        let rest = flat_mut(out).iter_mut().zip(flat(&program.conserved)).zip(flat(potentials));
        rest.for_each(|((sent, conserved), potential)| *sent = *sent * conserved + self.proximal * potential);
    }

    /// `S^-1 r = L^-1 (r - V T^-1 V' L^-1 r)`, up to round-off.
    fn precondition(&mut self, program: &Program, right: &[Block], out: &mut [Block], scratch: &mut [Block]) {
        let first = blocks_for(program.ends.len()) * LANES;
        out.copy_from_slice(right);
        laplacian::solve_all(program.nodes, &self.shares, &self.pivots, out);
        self.add_differences(program, out);
        self.right.fill(0.0);
        for (arc, sums) in self.sums.as_chunks::<2>().0.iter().enumerate() {
            self.right[arc] = total(&sums[0]);
            self.right[first + arc] = -total(&sums[1]);
        }
        self.schur.solve(&mut self.right);
        for (arc, design) in self.designs.iter_mut().enumerate() {
            *design = (self.right[arc], self.right[first + arc]);
        }
        self.conserve(program, right, scratch);
        laplacian::solve_all(program.nodes, &self.shares, &self.pivots, scratch);
        out.copy_from_slice(scratch);
    }
}

/// Solves with `Q` of an arc. Its determinant is a sum of two negative terms.
fn solve_corner(&[yy, yv, vv]: &[f64; 3], (first, second): (f64, f64)) -> (f64, f64) {
    let determinant = yy * vv - yv * yv;
    ((vv * first - yv * second) / determinant, (yy * second - yv * first) / determinant)
}

/// Sum of the lanes.
pub(super) fn total(block: &Block) -> f64 {
    block.0.iter().sum()
}

fn dot(one: &[Block], other: &[Block]) -> f64 {
    flat(one).iter().zip(flat(other)).map(|(a, b)| a * b).sum()
}

pub(super) fn norm(vector: &[Block]) -> f64 {
    dot(vector, vector).sqrt()
}

/// Adds a multiple of a vector.
pub(super) fn add(target: &mut [Block], factor: f64, vector: &[Block]) {
    flat_mut(target).iter_mut().zip(flat(vector)).for_each(|(entry, other)| *entry += factor * other);
}

/// Tail and head of each arc.
type Ends = [(usize, usize)];

/// Adds the weights of parallel arcs, in both directions.
fn add_weights(nodes: usize, ends: &Ends, betas: &[Block], weights: &mut [Block]) {
    for (&(tail, head), beta) in ends.iter().zip(betas) {
        let weight = &mut weights[tail.min(head) * nodes + tail.max(head)];
        weight.0.iter_mut().zip(&beta.0).for_each(|(weight, beta)| *weight += beta);
    }
}

multiversion! {
    /// Computes the potentials of a group of commodities for a unit of flow on each arc.
    fn fill_panel(
        ends: &Ends,
        factor: (&[Block], &[Block]),
        weights: (&[Block], &[Block]),
        panel: &mut Panel,
    ) = fill_panel_kernel;
}

#[inline(always)]
fn fill_panel_kernel<L: Lanes>(
    ends: &Ends,
    (shares, pivots): (&[Block], &[Block]),
    (alphas, betas): (&[Block], &[Block]),
    panel: &mut Panel,
) {
    let (nodes, width) = (pivots.len(), blocks_for(ends.len()));
    for at in 0..width {
        let arcs = at * LANES..((at + 1) * LANES).min(ends.len());
        transpose_to::<L>(&alphas[arcs.clone()], &mut panel.alphas, width, at);
        transpose_to::<L>(&betas[arcs.clone()], &mut panel.betas, width, at);
        panel.columns.fill(ZERO);
        for (column, &(tail, head)) in panel.columns.chunks_exact_mut(nodes).zip(&ends[arcs]) {
            column[tail] = Block::splat(1.0);
            column[head] = Block::splat(-1.0);
            laplacian::solve::<L>(nodes, tail.min(head), shares, pivots, column);
        }
        for node in 0..nodes {
            let entry = |arc: usize| L::load(&panel.columns[arc * nodes + node]);
            let entries = [entry(0), entry(1), entry(2), entry(3), entry(4), entry(5), entry(6), entry(7)];
            for (lane, row) in L::transpose(entries).into_iter().enumerate() {
                row.store(&mut panel.potentials[(lane * nodes + node) * width + at]);
            }
        }
    }
}

/// Writes up to eight blocks as the columns of block `at` in eight rows.
#[inline(always)]
fn transpose_to<L: Lanes>(blocks: &[Block], rows: &mut [Block], width: usize, at: usize) {
    let block = |arc: usize| blocks.get(arc).map_or(L::splat(0.0), L::load);
    let blocks = [block(0), block(1), block(2), block(3), block(4), block(5), block(6), block(7)];
    for (lane, row) in L::transpose(blocks).into_iter().enumerate() {
        row.store(&mut rows[lane * width + at]);
    }
}

multiversion! {
    /// Adds `V' L^-1 V` of the first `commodities` of a group to the lower triangle of `T`.
    fn add_products(ends: &Ends, nodes: usize, commodities: usize, panel: &Panel, schur: &mut Cholesky) =
        add_products_kernel;
}

#[inline(always)]
fn add_products_kernel<L: Lanes>(ends: &Ends, nodes: usize, commodities: usize, panel: &Panel, schur: &mut Cholesky) {
    let width = blocks_for(ends.len());
    let row = |row: usize| row * width..(row + 1) * width;
    for (arc, &(tail, head)) in ends.iter().enumerate() {
        let half = arc / LANES + 1;
        let (designs, forces) = schur.two_rows_mut(arc, width * LANES + arc);
        let (mixed, forces) = forces.split_at_mut(width);
        let (designs, forces, mixed) = (&mut designs[..half], &mut forces[..half], &mut mixed[..width]);
        for lane in 0..commodities {
            let alphas = &panel.alphas[row(lane)];
            let betas = &panel.betas[row(lane)];
            let (alpha, beta) = (L::splat(flat(alphas)[arc]), L::splat(flat(betas)[arc]));
            let tails = &panel.potentials[row(lane * nodes + tail)];
            let heads = &panel.potentials[row(lane * nodes + head)];
            let (near, far) = mixed.split_at_mut(half);
            let inputs = alphas.iter().zip(betas).zip(tails.iter().zip(heads));
            let outputs = designs.iter_mut().zip(&mut *forces).zip(near);
            for (((yy, vv), vy), ((alphas, betas), (tails, heads))) in outputs.zip(inputs) {
                let difference = L::load(tails).sub(L::load(heads));
                let (with_alphas, with_betas) = (difference.mul(L::load(alphas)), difference.mul(L::load(betas)));
                L::load(yy).add(with_alphas.mul(alpha)).store(yy);
                L::load(vy).sub(with_alphas.mul(beta)).store(vy);
                L::load(vv).add(with_betas.mul(beta)).store(vv);
            }
            let inputs = alphas[half..].iter().zip(tails[half..].iter().zip(&heads[half..]));
            for (vy, (alphas, (tails, heads))) in far.iter_mut().zip(inputs) {
                let with_alphas = L::load(tails).sub(L::load(heads)).mul(L::load(alphas));
                L::load(vy).sub(with_alphas.mul(beta)).store(vy);
            }
        }
    }
}

multiversion! {
    /// Adds each arc's potential differences to `sums`, times `alpha` and times `beta`.
    fn differences(
        nodes: usize,
        ends: &Ends,
        weights: (&[Block], &[Block]),
        potentials: &[Block],
        sums: &mut [Block],
    ) = differences_kernel;
}

#[inline(always)]
fn differences_kernel<L: Lanes>(
    nodes: usize,
    ends: &Ends,
    (alphas, betas): (&[Block], &[Block]),
    potentials: &[Block],
    sums: &mut [Block],
) {
    let groups = alphas.chunks_exact(ends.len()).zip(betas.chunks_exact(ends.len()));
    for ((alphas, betas), potentials) in groups.zip(potentials.chunks_exact(nodes)) {
        let arcs = ends.iter().zip(alphas.iter().zip(betas));
        for ((&(tail, head), (alpha, beta)), sums) in arcs.zip(sums.as_chunks_mut::<2>().0) {
            let difference = L::load(&potentials[tail]).sub(L::load(&potentials[head]));
            L::load(&sums[0]).add(difference.mul(L::load(alpha))).store(&mut sums[0]);
            L::load(&sums[1]).add(difference.mul(L::load(beta))).store(&mut sums[1]);
        }
    }
}

multiversion! {
    /// Adds the net outflow `N (beta (N'p - v) + alpha y)` of all commodities. Without potentials, `p` is 0.
    fn send(
        nodes: usize,
        ends: &Ends,
        weights: (&[Block], &[Block]),
        designs: &[(f64, f64)],
        potentials: Option<&[Block]>,
        out: &mut [Block],
    ) = send_kernel;
}

#[inline(always)]
fn send_kernel<L: Lanes>(
    nodes: usize,
    ends: &Ends,
    (alphas, betas): (&[Block], &[Block]),
    designs: &[(f64, f64)],
    potentials: Option<&[Block]>,
    out: &mut [Block],
) {
    let groups = alphas.chunks_exact(ends.len()).zip(betas.chunks_exact(ends.len()));
    for (group, ((alphas, betas), out)) in groups.zip(out.chunks_exact_mut(nodes)).enumerate() {
        let potentials = potentials.map(|potentials| &potentials[group * nodes..(group + 1) * nodes]);
        let arcs = ends.iter().zip(designs).zip(alphas.iter().zip(betas));
        for ((&(tail, head), &(design, force)), (alpha, beta)) in arcs {
            let difference = potentials.map_or(L::splat(0.0), |p| L::load(&p[tail]).sub(L::load(&p[head])));
            let through = difference.sub(L::splat(force)).mul(L::load(beta));
            let flow = through.add(L::load(alpha).mul(L::splat(design)));
            L::load(&out[tail]).add(flow).store(&mut out[tail]);
            L::load(&out[head]).sub(flow).store(&mut out[head]);
        }
    }
}
