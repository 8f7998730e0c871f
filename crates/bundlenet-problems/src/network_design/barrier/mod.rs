//! An interior-point method for the strong linear relaxation, whose value is that of the Lagrangian dual.
//!
//! Cuts of arcs solve small instances in milliseconds. On large ones they crawl: the function of an arc with a hundred
//! commodities has too many faces. The relaxation itself is a linear program with an inequality for each arc and
//! commodity, and Mehrotra's predictor-corrector method solves it in some forty steps. Its linear algebra follows the
//! network ([`newton`]).
//!
//! Every step gives multipliers, whose dual value is a lower bound, and flows that nearly conserve flow. Repaired flows
//! give an upper bound. The proof is the difference of the two, never a residual of this method.
//!
//! Proximal terms keep the linear system within the accuracy of the arithmetic when the weights are many orders of
//! magnitude apart: one on the multipliers, one on the flows (Friedlander and Orban, 2012).

mod iterate;
mod laplacian;
mod newton;
mod program;

use std::sync::Arc;

use bundlenet::{Lines, Primal, StructuredMethod, StructuredStep};
use bundlenet_linalg::simd::{Block, LANES, blocks_for, flat, flat_mut};

use self::iterate::{Iterate, Residuals, Right, Terms, no_terms};
use self::newton::{IsOver, Newton, norm};
use self::program::Program;
use super::lagrangian::Tables;
use super::primal::{Design, Recovery};

/// Proximal terms of the multipliers and of the flows, in units of the scaled program. They grow by `STIFFER` when
/// conjugate gradients leave more than `FAILED` of a residual, at most `MOST_FACTORS` times in a step.
const MULTIPLIER_TERM: f64 = 1e-6;
const FLOW_TERM: f64 = 1e-7;
const STIFFER: f64 = 10.0;
const FAILED: f64 = 1e-3;
const MOST_FACTORS: usize = 4;

/// Share of the way to the boundary that a step goes.
const WAY: f64 = 0.95;

/// Most corrections of a direction's centrality. Each has to lengthen the two steps by `LONGER` in all. It aims at steps
/// longer by the share and the amount `FARTHER`; steps longer than `LONG` need none.
const MOST_CORRECTIONS: usize = 2;
const LONGER: f64 = 0.01;
const FARTHER: f64 = 0.08;
const LONG: f64 = 0.95;

/// Most refinements of a direction's flow conservation, the part of the residual before that they aim at, and the residual
/// that needs none, as a share of the supplies.
const MOST_REFINEMENTS: usize = 2;
const REFINED: f64 = 0.1;
const CONSERVED: f64 = 1e-11;

/// Accuracy of linear systems: a share of the primal residual, and a share of the supplies.
const RELATIVE_ACCURACY: f64 = 1e-2;
const ACCURACY: f64 = 1e-10;

/// Complementarity is not reduced below this share of the tolerance: a proof does not need it, and round-off grows.
const ENOUGH: f64 = 0.3;
/// The least tolerance that round-off allows.
const LEAST_TOLERANCE: f64 = 1e-10;

/// Flows are repaired when complementarity has fallen by this factor since the last time, and in every step once it is
/// within `NEAR` times the tolerance; not before they conserve flow up to `BALANCED` mean demands.
const REPAIR: f64 = 0.1;
const NEAR: f64 = 2.0;
const BALANCED: f64 = 1e-2;

/// Steps without progress after which the method is stuck. A step makes progress if it lowers complementarity by a tenth.
const PATIENCE: usize = 20;
const PROGRESS: f64 = 0.9;

/// Steps of a typical run, for the estimate of its work.
const STEPS: f64 = 45.0;
/// Work of the parts of a step, in nanoseconds of a present-day core: of each product in Newton's matrix for a commodity
/// and a pair of arcs, of each product of its potentials, of its factorisation, and of each flow in all other parts.
/// `cargo bench --bench barrier` prints the work next to the measured time.
const PAIR_WORK: f64 = 0.55;
const POTENTIAL_WORK: f64 = 0.2;
const FACTOR_WORK: f64 = 0.1;
const FLOW_WORK: f64 = 80.0;

/// Most bytes that the method may take.
const MOST_BYTES: usize = 1 << 32;

/// Estimated work of the method, in nanoseconds. `None` if it takes too much memory.
pub(super) fn work(tables: &Tables) -> Option<f64> {
    let (nodes, arcs, commodities) = (tables.nodes, tables.arcs.len(), tables.commodities);
    let blocks = iterate::blocks(blocks_for(commodities), arcs, nodes) + arcs * arcs.div_ceil(2);
    if blocks.checked_mul(size_of::<Block>())? > MOST_BYTES {
        return None;
    }
    let (nodes, arcs, commodities) = (nodes as f64, arcs as f64, commodities as f64);
    let pairs = PAIR_WORK * commodities * arcs * arcs;
    let potentials = POTENTIAL_WORK * commodities * arcs * nodes * nodes;
    let factor = FACTOR_WORK * (2.0 * arcs).powi(3) / 6.0;
    Some(STEPS * (pairs + potentials + factor + FLOW_WORK * commodities * arcs))
}

/// The method. It keeps its memory from step to step.
pub(super) struct Barrier {
    tables: Arc<Tables>,
    program: Program,
    tolerance: f64,
    point: Iterate,
    direction: Iterate,
    correction: Iterate,
    terms: Terms,
    corrections: Terms,
    residuals: Residuals,
    newton: Newton,
    right: Right,
    /// Proximal term of the flows.
    proximal: f64,
    recovery: Recovery,
    /// The best repaired solution.
    best: Option<Design>,
    /// Complementarity at the last repair, the least one so far, and the steps since it fell.
    repaired_product: f64,
    least_product: f64,
    idle_steps: usize,
}

impl Barrier {
    /// The method for a relative gap of `tolerance`. `None` if there is nothing to send, or if it takes too much memory.
    pub(super) fn new(tables: Arc<Tables>, tolerance: f64) -> Option<Self> {
        work(&tables)?;
        let network = tables.network();
        let program = Program::new(&network)?;
        let recovery = Recovery::new(&network);
        let mut barrier = Self {
            tolerance: tolerance.max(LEAST_TOLERANCE),
            point: Iterate::start(&program),
            direction: Iterate::zero(&program),
            correction: Iterate::zero(&program),
            terms: no_terms(&program),
            corrections: no_terms(&program),
            residuals: Residuals::new(&program),
            newton: Newton::new(&program),
            right: Right::new(&program),
            proximal: FLOW_TERM,
            recovery,
            best: None,
            repaired_product: f64::INFINITY,
            least_product: f64::INFINITY,
            idle_steps: 0,
            program,
            tables,
        };
        barrier.newton.proximal = MULTIPLIER_TERM;
        barrier.measure();
        Some(barrier)
    }

    fn measure(&mut self) {
        self.point.measure(&self.program, self.proximal, &mut self.residuals, &mut self.newton);
    }

    /// Number of complementarity products.
    fn count(&self) -> f64 {
        (2 * (self.program.flows + self.program.ends.len())) as f64
    }

    /// Sum of the complementarity products over the objective: about the relative gap of a point that conserves flow.
    fn gap(&self) -> f64 {
        let size = self.residuals.objective.abs().max(1.0 / self.program.unit());
        self.count() * self.residuals.product / size
    }

    /// Finds a direction and moves along it. `None` if `is_over` ends it before: then the point is the old one.
    fn move_on(&mut self, is_over: IsOver<'_>) -> Option<()> {
        self.predict(is_over)?;
        let target = self.target();
        self.point.second_order(&self.program, &self.direction, target, &mut self.terms);
        self.aim_whole();
        self.correct(target);
        self.refine();
        let (primal, dual) = self.point.reach(&self.direction);
        self.point.advance(&self.direction, (WAY * primal, WAY * dual));
        self.measure();
        Some(())
    }

    /// The predictor: the direction to complementarity 0. If its linear system cannot be solved, the proximal terms grow.
    fn predict(&mut self, is_over: IsOver<'_>) -> Option<()> {
        self.direction.clear();
        self.point.second_order(&self.program, &self.direction, 0.0, &mut self.terms);
        for _ in 0..MOST_FACTORS {
            self.newton.factor(&self.program, is_over)?;
            if self.aim_whole() <= FAILED || is_over() {
                break;
            }
            self.newton.proximal *= STIFFER;
            self.proximal *= STIFFER;
            self.measure();
        }
        (!is_over()).then_some(())
    }

    /// Mehrotra's target for the complementarity products.
    fn target(&self) -> f64 {
        let product = self.residuals.product;
        let after = self.point.products(&self.direction, self.point.reach(&self.direction)) / self.count();
        let enough = ENOUGH * self.tolerance * product / self.gap();
        ((after / product).powi(3) * product).max(enough.min(product))
    }

    /// Lengthens the steps along the direction by corrections of its centrality.
    fn correct(&mut self, target: f64) {
        let (mut primal, mut dual) = self.point.reach(&self.direction);
        for _ in 0..MOST_CORRECTIONS {
            if primal > LONG && dual > LONG {
                break;
            }
            let farther = |step: f64| ((1.0 + FARTHER) * step + FARTHER).min(1.0);
            let aim = ((farther(primal), farther(dual)), target);
            self.point.centrality(&self.program, &self.direction, aim, &mut self.corrections);
            self.right.flows.fill(Block::splat(0.0));
            let left = self.aim(false);
            self.direction.advance(&self.correction, (1.0, 1.0));
            let steps = self.point.reach(&self.direction);
            if left > FAILED || steps.0 + steps.1 < primal + dual + LONGER {
                self.direction.advance(&self.correction, (-1.0, -1.0));
                break;
            }
            (primal, dual) = steps;
        }
    }

    /// Solves again for the part of the flow conservation that the direction misses by round-off.
    fn refine(&mut self) {
        self.corrections.iter_mut().for_each(|terms| terms.fill(Block::splat(0.0)));
        for _ in 0..MOST_REFINEMENTS {
            negate(&self.residuals.flows, &mut self.right.flows);
            let missed = self.direction.conserve(&self.program, &mut self.right.flows);
            let enough = (REFINED * norm(&self.residuals.flows)).max(CONSERVED * norm(&self.program.supplies));
            if missed <= enough {
                break;
            }
            self.aim(false);
            self.direction.advance(&self.correction, (1.0, 1.0));
        }
    }

    /// Solves for the direction of `terms` and of all residuals. Returns the share of the right-hand side that is left.
    fn aim_whole(&mut self) -> f64 {
        negate(&self.residuals.flows, &mut self.right.flows);
        self.aim(true)
    }

    /// Solves for the direction of `terms` and of the dual residuals, or for the correction of `corrections` alone.
    /// `right.flows` are the flows to conserve.
    fn aim(&mut self, is_whole: bool) -> f64 {
        let accuracy = RELATIVE_ACCURACY * norm(&self.residuals.flows) + ACCURACY * norm(&self.program.supplies);
        let Self { program, point, residuals, newton, right, .. } = self;
        let (terms, direction) = match is_whole {
            true => (&self.terms, &mut self.direction),
            false => (&self.corrections, &mut self.correction),
        };
        point.gather(program, terms, (residuals, newton), is_whole, right);
        let left = newton.solve(program, (&right.flows, &right.arcs), &mut direction.potentials, accuracy);
        point.spread(program, terms, newton, right, direction);
        left
    }

    /// Whether the flows are worth a repair now.
    fn is_due(&self) -> bool {
        let imbalance = flat(&self.residuals.flows).iter().fold(0.0, |most: f64, flow| most.max(flow.abs()));
        let has_fallen = self.residuals.product <= REPAIR * self.repaired_product;
        imbalance <= BALANCED && (has_fallen || self.gap() <= NEAR * self.tolerance)
    }

    /// Repairs the flows and keeps the result if it is the best.
    fn repair(&mut self) {
        self.repaired_product = self.residuals.product;
        let flows = self.lines();
        let network = self.tables.network();
        let least = self.best.as_ref().map_or(f64::INFINITY, Design::cost);
        if self.recovery.recover(&network, &flows).is_some_and(|cost| cost < least) {
            self.best = self.recovery.solution().cloned();
        }
    }

    /// The flows as the slopes of the arcs' cuts.
    fn lines(&self) -> Lines {
        let Program { arcs, commodities, usable, flow_unit, .. } = &self.program;
        let mut lines = Lines::new();
        let mut next = 0;
        for (arc, data) in self.tables.arcs.iter().enumerate() {
            let is_ours = arcs.get(next) == Some(&arc);
            let flow = |(place, &commodity): (usize, &usize)| {
                let at = place / LANES * arcs.len() + next;
                let amount = usable[at].0[place % LANES] * self.point.flows()[at].0[place % LANES];
                ((commodity * self.tables.nodes + data.head) as u32, flow_unit * amount)
            };
            lines.push(
                0.0,
                commodities.iter().enumerate().filter(|_| is_ours).map(flow).filter(|(_, flow)| *flow > 0.0),
            );
            next += usize::from(is_ours);
        }
        lines
    }

    /// Writes the multipliers in units of the instance.
    fn write(&self, point: &mut [f64]) {
        let Program { nodes, cost_unit, commodities, .. } = &self.program;
        for (place, &commodity) in commodities.iter().enumerate() {
            let potentials = &self.point.potentials[place / LANES * nodes..(place / LANES + 1) * nodes];
            let row = &mut point[commodity * nodes..(commodity + 1) * nodes];
            row.iter_mut().zip(potentials).for_each(|(entry, block)| *entry = cost_unit * block.0[place % LANES]);
        }
    }

    /// Counts steps without progress.
    fn count_idle(&mut self) {
        let product = self.residuals.product;
        if product < PROGRESS * self.least_product {
            (self.least_product, self.idle_steps) = (product, 0);
        } else {
            self.idle_steps += 1;
        }
    }

    /// Whether there were too many steps without progress, or round-off has spoiled the point.
    fn is_stuck(&self) -> bool {
        let is_finite = self.residuals.product.is_finite() && norm(&self.point.potentials).is_finite();
        self.idle_steps > PATIENCE || !is_finite
    }
}

impl StructuredMethod for Barrier {
    fn step(&mut self, point: &mut [f64], is_over: &dyn Fn() -> bool) -> StructuredStep {
        if self.move_on(is_over).is_none() {
            return StructuredStep::Interrupted;
        }
        self.count_idle();
        if self.is_stuck() {
            return StructuredStep::Stuck;
        }
        self.write(point);
        if self.is_due() {
            self.repair();
        }
        StructuredStep::Moved
    }

    fn bound(&self) -> Option<f64> {
        self.best.as_ref().map(Design::cost)
    }

    fn primal(&self) -> Option<Primal> {
        self.best.as_ref().map(Design::to_primal)
    }
}

/// Writes `-vector`.
fn negate(vector: &[Block], out: &mut [Block]) {
    flat_mut(out).iter_mut().zip(flat(vector)).for_each(|(out, entry)| *out = -entry);
}
