//! A point of the interior-point method: slacks and multipliers of four families of inequalities, designs, and the
//! multipliers of flow conservation.

use bundlenet_linalg::simd::{Block, LANES, Lanes, blocks_for, flat, flat_mut, multiversion};

use super::newton::{Newton, add, norm, total};
use super::program::Program;

/// The families of inequalities: `x >= 0`, `x <= d y`, `sum_k x <= c y` and `y <= 1`.
pub(super) const FLOW: usize = 0;
pub(super) const LINK: usize = 1;
pub(super) const CAPACITY: usize = 2;
pub(super) const OPEN: usize = 3;
const FAMILIES: usize = 4;

/// The design of every arc at the start, and the complementarity products there. In a wide range neither matters.
const FIRST_DESIGN: f64 = 0.5;
const FIRST_PRODUCT: f64 = 0.1;

/// Complementarity products at a trial point should lie between these multiples of their target.
const LEAST_PRODUCT: f64 = 0.1;
const LARGEST_PRODUCT: f64 = 10.0;

const ZERO: Block = Block([0.0; LANES]);

/// Slacks and multipliers of a family of inequalities. The slacks of `x >= 0` are the flows.
#[derive(Clone, Debug)]
pub(super) struct Family {
    pub(super) slacks: Vec<Block>,
    pub(super) multipliers: Vec<Block>,
}

/// A point, or a direction from one. Inequalities that do not exist have slack 1 and multiplier 0.
#[derive(Clone, Debug)]
pub(super) struct Iterate {
    pub(super) families: [Family; FAMILIES],
    pub(super) designs: Vec<f64>,
    pub(super) potentials: Vec<Block>,
}

/// A term of the complementarity equations `slack d(multiplier) + multiplier d(slack) = -term`, for each inequality.
pub(super) type Terms = [Vec<Block>; FAMILIES];

/// Violations of a point, and their measures.
#[derive(Clone, Debug)]
pub(super) struct Residuals {
    /// `N x - b`, by group and node.
    pub(super) flows: Vec<Block>,
    /// Dual residuals of the flows and of the designs.
    pub(super) costs: Vec<Block>,
    pub(super) designs: Vec<f64>,
    /// Mean complementarity product, and the objective of the program.
    pub(super) product: f64,
    pub(super) objective: f64,
}

impl Residuals {
    pub(super) fn new(program: &Program) -> Self {
        Self {
            flows: vec![ZERO; program.supplies.len()],
            costs: vec![ZERO; program.costs.len()],
            designs: vec![0.0; program.ends.len()],
            product: 0.0,
            objective: 0.0,
        }
    }
}

/// For each inequality of a family: 1 if it exists.
fn mask(program: &Program, family: usize) -> &[Block] {
    if family <= LINK { &program.usable } else { &program.present }
}

/// Zero terms.
pub(super) fn no_terms(program: &Program) -> Terms {
    std::array::from_fn(|family| vec![ZERO; mask(program, family).len()])
}

impl Iterate {
    /// A direction of length 0.
    pub(super) fn zero(program: &Program) -> Self {
        let family = |family: usize| {
            let zeros = vec![ZERO; mask(program, family).len()];
            Family { slacks: zeros.clone(), multipliers: zeros }
        };
        Self {
            families: std::array::from_fn(family),
            designs: vec![0.0; program.ends.len()],
            potentials: vec![ZERO; program.supplies.len()],
        }
    }

    /// The start: every arc is half open and half full, and every inequality holds strictly.
    pub(super) fn start(program: &Program) -> Self {
        let mut start = Self::zero(program);
        let arcs = program.ends.len();
        start.designs.fill(FIRST_DESIGN);
        for (family, Family { slacks, .. }) in start.families.iter_mut().enumerate() {
            slacks.fill(Block::splat(1.0));
            let slacks = flat_mut(slacks);
            match family {
                CAPACITY => slacks[..arcs].copy_from_slice(&program.capacities),
                OPEN => slacks[..arcs].fill(1.0 - FIRST_DESIGN),
                _ => {}
            }
        }
        let [flows, links, capacities, _] = &mut start.families;
        let capacities = &mut flat_mut(&mut capacities.slacks)[..arcs];
        capacities.iter_mut().for_each(|capacity| *capacity *= FIRST_DESIGN);
        let limit_sum = |arc: usize| program.limits[arc..].iter().step_by(arcs).map(total).sum::<f64>();
        for (arc, room) in capacities.iter_mut().enumerate() {
            // The share of its limit that every flow has.
            let share = 0.5 * FIRST_DESIGN * (program.capacities[arc] / limit_sum(arc)).min(1.0);
            for at in (arc..program.limits.len()).step_by(arcs) {
                for lane in (0..LANES).filter(|&lane| program.usable[at].0[lane] > 0.0) {
                    let limit = program.limits[at].0[lane];
                    flows.slacks[at].0[lane] = share * limit;
                    links.slacks[at].0[lane] = FIRST_DESIGN * limit - share * limit;
                    *room -= share * limit;
                }
            }
        }
        for (family, Family { slacks, multipliers }) in start.families.iter_mut().enumerate() {
            let entries = flat_mut(multipliers).iter_mut().zip(flat(slacks)).zip(flat(mask(program, family)));
            entries.for_each(|((multiplier, slack), mask)| *multiplier = mask * FIRST_PRODUCT / slack);
        }
        start
    }

    /// Sets a direction to 0.
    pub(super) fn clear(&mut self) {
        for Family { slacks, multipliers } in &mut self.families {
            slacks.fill(ZERO);
            multipliers.fill(ZERO);
        }
        self.designs.fill(0.0);
        self.potentials.fill(ZERO);
    }

    /// Subtracts the net outflow of a direction from `flows`, where flow is conserved. Returns the norm of the rest.
    pub(super) fn conserve(&self, program: &Program, flows: &mut [Block]) -> f64 {
        leave(program, self.flows(), flows);
        let conserved = flat_mut(flows).iter_mut().zip(flat(&program.conserved));
        conserved.for_each(|(flow, conserved)| *flow *= conserved);
        norm(flows)
    }

    /// The flows, by group and arc.
    pub(super) fn flows(&self) -> &[Block] {
        &self.families[FLOW].slacks
    }

    /// Adds a direction: a share of its primal part and a share of its dual part.
    pub(super) fn advance(&mut self, direction: &Self, (primal, dual): (f64, f64)) {
        for (family, change) in self.families.iter_mut().zip(&direction.families) {
            add(&mut family.slacks, primal, &change.slacks);
            add(&mut family.multipliers, dual, &change.multipliers);
        }
        let designs = self.designs.iter_mut().zip(&direction.designs);
        designs.for_each(|(design, change)| *design += primal * change);
        add(&mut self.potentials, dual, &direction.potentials);
    }

    /// Shares of the primal and of the dual part of a direction, up to 1, after which all slacks and multipliers are still
    /// nonnegative.
    pub(super) fn reach(&self, direction: &Self) -> (f64, f64) {
        let (mut primal, mut dual) = (1.0_f64, 1.0_f64);
        for (family, change) in self.families.iter().zip(&direction.families) {
            primal = primal.min(reach(&family.slacks, &change.slacks));
            dual = dual.min(reach(&family.multipliers, &change.multipliers));
        }
        (primal, dual)
    }

    /// Sum of the complementarity products after a step.
    pub(super) fn products(&self, direction: &Self, steps: (f64, f64)) -> f64 {
        self.families.iter().zip(&direction.families).map(|(family, change)| products(family, change, steps)).sum()
    }

    /// Terms of a step to complementarity products of `target`, with the second-order terms of a direction.
    pub(super) fn second_order(&self, program: &Program, direction: &Self, target: f64, terms: &mut Terms) {
        for (family, terms) in terms.iter_mut().enumerate() {
            let (point, change) = (&self.families[family], &direction.families[family]);
            second_order(point, change, mask(program, family), target, terms);
        }
    }

    /// Terms of a correction, by which the products after a step come closer to their target (Gondzio, 1996).
    pub(super) fn centrality(
        &self,
        program: &Program,
        direction: &Self,
        (steps, target): ((f64, f64), f64),
        terms: &mut Terms,
    ) {
        for (family, terms) in terms.iter_mut().enumerate() {
            let (point, change) = (&self.families[family], &direction.families[family]);
            centrality(point, change, mask(program, family), (steps, target), terms);
        }
    }

    /// Computes the residuals and the weights of Newton's system. `proximal` is the proximal term of the flows.
    pub(super) fn measure(&self, program: &Program, proximal: f64, residuals: &mut Residuals, newton: &mut Newton) {
        let arcs = program.ends.len();
        let mut sums = Sums { by_arc: vec![ZERO; 4 * arcs], objective: ZERO, product: ZERO };
        let negated = flat_mut(&mut residuals.flows).iter_mut().zip(flat(&program.supplies));
        negated.for_each(|(flow, supply)| *flow = -supply);
        weigh(program, self, proximal, (residuals, newton), &mut sums);
        let conserved = flat_mut(&mut residuals.flows).iter_mut().zip(flat(&program.conserved));
        conserved.for_each(|(flow, conserved)| *flow *= conserved);
        let (mut product, mut objective) = (total(&sums.product), total(&sums.objective));
        let of = |family: usize, arc: usize| {
            let Family { slacks, multipliers } = &self.families[family];
            (flat(slacks)[arc], flat(multipliers)[arc])
        };
        for (arc, sums) in sums.by_arc.as_chunks::<4>().0.iter().enumerate() {
            let ((room, force), (closed, pull)) = (of(CAPACITY, arc), of(OPEN, arc));
            let capacity = program.capacities[arc];
            let [alpha, beta, yy, link] = sums.map(|block| total(&block));
            newton.corners[arc] = [yy + pull / closed, alpha - capacity, -room / force - beta];
            residuals.designs[arc] = program.fixed_costs[arc] - link - capacity * force + pull;
            product += room * force + closed * pull;
            objective += program.fixed_costs[arc] * self.designs[arc];
        }
        residuals.product = product / (2 * (program.flows + arcs)) as f64;
        residuals.objective = objective;
    }

    /// The right-hand sides of Newton's system: for the flows, and for the designs and capacities of each arc. `forces`
    /// keeps what `spread` needs.
    pub(super) fn gather(
        &self,
        program: &Program,
        terms: &Terms,
        (residuals, newton): (&Residuals, &Newton),
        is_whole: bool,
        right: &mut Right,
    ) {
        let arcs = program.ends.len();
        let share = if is_whole { 1.0 } else { 0.0 };
        let quotient = |family: usize, arc: usize| flat(&terms[family])[arc] / flat(&self.families[family].slacks)[arc];
        right.sums.fill(ZERO);
        right.capacities.clear();
        right.capacities.extend((0..arcs).map(|arc| quotient(CAPACITY, arc)));
        push(program, self, (&terms[FLOW], &terms[LINK]), (residuals, newton, share), right);
        let conserved = flat_mut(&mut right.flows).iter_mut().zip(flat(&program.conserved));
        conserved.for_each(|(flow, conserved)| *flow *= conserved);
        for (arc, sums) in right.sums.as_chunks::<2>().0.iter().enumerate() {
            let own = quotient(OPEN, arc) - program.capacities[arc] * right.capacities[arc];
            let of_design = own - share * residuals.designs[arc] + total(&sums[0]);
            right.arcs[arc] = (of_design, -total(&sums[1]));
        }
    }

    /// Writes the direction that belongs to a solution of Newton's system: `direction.potentials` and `newton.designs`.
    pub(super) fn spread(
        &self,
        program: &Program,
        terms: &Terms,
        newton: &Newton,
        right: &Right,
        direction: &mut Self,
    ) {
        spread(program, self, (&terms[FLOW], &terms[LINK]), (newton, right), direction);
        let Self { families, designs, .. } = direction;
        for (arc, &(design, force)) in newton.designs.iter().enumerate() {
            designs[arc] = design;
            for family in [CAPACITY, OPEN] {
                let Family { slacks, multipliers } = &self.families[family];
                let (slack, multiplier) = (flat(slacks)[arc], flat(multipliers)[arc]);
                let change = if family == CAPACITY { -force * slack / multiplier } else { -design };
                flat_mut(&mut families[family].slacks)[arc] = change;
                let term = flat(&terms[family])[arc];
                flat_mut(&mut families[family].multipliers)[arc] = -(term + multiplier * change) / slack;
            }
        }
    }
}

/// Right-hand sides of Newton's system.
#[derive(Clone, Debug)]
pub(super) struct Right {
    pub(super) flows: Vec<Block>,
    pub(super) arcs: Vec<(f64, f64)>,
    /// The force on each flow, and the part of it from the capacity of its arc.
    forces: Vec<Block>,
    capacities: Vec<f64>,
    sums: Vec<Block>,
}

impl Right {
    pub(super) fn new(program: &Program) -> Self {
        let arcs = program.ends.len();
        Self {
            flows: vec![ZERO; program.supplies.len()],
            arcs: vec![(0.0, 0.0); arcs],
            forces: vec![ZERO; program.costs.len()],
            capacities: vec![0.0; arcs],
            sums: vec![ZERO; 2 * arcs],
        }
    }
}

/// Sums of `weigh`: of each arc's `alpha`, `beta`, curvature of its design and link forces; of the objective's and the
/// complementarity's part of the flows.
struct Sums {
    by_arc: Vec<Block>,
    objective: Block,
    product: Block,
}

multiversion! {
    fn weigh(
        program: &Program,
        point: &Iterate,
        proximal: f64,
        target: (&mut Residuals, &mut Newton),
        sums: &mut Sums,
    ) = weigh_kernel;
}

#[inline(always)]
fn weigh_kernel<L: Lanes>(
    program: &Program,
    point: &Iterate,
    proximal: f64,
    (residuals, newton): (&mut Residuals, &mut Newton),
    sums: &mut Sums,
) {
    let (nodes, arcs) = (program.nodes, program.ends.len());
    let forces = flat(&point.families[CAPACITY].multipliers);
    let (proximal, one) = (L::splat(proximal), L::splat(1.0));
    let (mut objective, mut product) = (L::splat(0.0), L::splat(0.0));
    for group in 0..program.groups() {
        let potentials = &point.potentials[group * nodes..(group + 1) * nodes];
        let outflow = &mut residuals.flows[group * nodes..(group + 1) * nodes];
        for (arc, sums) in sums.by_arc.as_chunks_mut::<4>().0.iter_mut().enumerate() {
            let at = group * arcs + arc;
            let (tail, head) = program.ends[arc];
            let of = |family: usize| {
                let Family { slacks, multipliers } = &point.families[family];
                (L::load(&slacks[at]), L::load(&multipliers[at]))
            };
            let ((flow, sign), (slack, link)) = (of(FLOW), of(LINK));
            let (usable, limit, cost) =
                (L::load(&program.usable[at]), L::load(&program.limits[at]), L::load(&program.costs[at]));
            let sent = usable.mul(flow);
            L::load(&outflow[tail]).add(sent).store(&mut outflow[tail]);
            L::load(&outflow[head]).sub(sent).store(&mut outflow[head]);
            let reduced = cost.sub(L::load(&potentials[tail])).add(L::load(&potentials[head]));
            let residual = reduced.sub(sign).add(link).add(L::splat(forces[arc]));
            usable.mul(residual).store(&mut residuals.costs[at]);
            // One over `D`, times the flow and the slack: no quotient of small numbers.
            let sign_part = sign.mul(slack).add(proximal.mul(flow).mul(slack));
            let whole = sign_part.add(link.mul(flow)).add(one.sub(usable));
            let inverse = one.div(whole);
            let alpha = limit.mul(link).mul(flow).mul(inverse);
            let beta = usable.mul(flow).mul(slack).mul(inverse);
            alpha.store(&mut newton.alphas[at]);
            beta.store(&mut newton.betas[at]);
            let stiffness = limit.mul(limit).mul(link).mul(sign.add(proximal.mul(flow))).mul(inverse);
            for (sum, term) in sums.iter_mut().zip([alpha, beta, stiffness, limit.mul(link)]) {
                L::load(sum).add(term).store(sum);
            }
            objective = objective.add(cost.mul(flow));
            product = product.add(flow.mul(sign)).add(slack.mul(link));
        }
    }
    objective.store(&mut sums.objective);
    product.store(&mut sums.product);
}

multiversion! {
    fn push(
        program: &Program,
        point: &Iterate,
        terms: (&[Block], &[Block]),
        known: (&Residuals, &Newton, f64),
        right: &mut Right,
    ) = push_kernel;
}

#[inline(always)]
fn push_kernel<L: Lanes>(
    program: &Program,
    point: &Iterate,
    (flow_terms, link_terms): (&[Block], &[Block]),
    (residuals, newton, share): (&Residuals, &Newton, f64),
    right: &mut Right,
) {
    let (nodes, arcs) = (program.nodes, program.ends.len());
    let share = L::splat(share);
    for group in 0..program.groups() {
        let outflow = &mut right.flows[group * nodes..(group + 1) * nodes];
        for (arc, sums) in right.sums.as_chunks_mut::<2>().0.iter_mut().enumerate() {
            let at = group * arcs + arc;
            let (tail, head) = program.ends[arc];
            let of_link = L::load(&link_terms[at]).div(L::load(&point.families[LINK].slacks[at]));
            let of_flow = L::load(&flow_terms[at]).div(L::load(&point.families[FLOW].slacks[at]));
            let own = of_link.sub(of_flow).sub(share.mul(L::load(&residuals.costs[at])));
            let force = L::load(&program.usable[at]).mul(own.add(L::splat(right.capacities[arc])));
            force.store(&mut right.forces[at]);
            let (alpha, beta) = (L::load(&newton.alphas[at]), L::load(&newton.betas[at]));
            let of_design = alpha.mul(force).sub(L::load(&program.limits[at]).mul(of_link));
            L::load(&sums[0]).add(of_design).store(&mut sums[0]);
            let pushed = beta.mul(force);
            L::load(&sums[1]).add(pushed).store(&mut sums[1]);
            L::load(&outflow[tail]).sub(pushed).store(&mut outflow[tail]);
            L::load(&outflow[head]).add(pushed).store(&mut outflow[head]);
        }
    }
}

multiversion! {
    fn leave(program: &Program, flows: &[Block], rest: &mut [Block]) = leave_kernel;
}

#[inline(always)]
fn leave_kernel<L: Lanes>(program: &Program, flows: &[Block], rest: &mut [Block]) {
    let groups = flows.chunks_exact(program.ends.len()).zip(rest.chunks_exact_mut(program.nodes));
    for (flows, rest) in groups {
        for (&(tail, head), flow) in program.ends.iter().zip(flows) {
            let flow = L::load(flow);
            L::load(&rest[tail]).sub(flow).store(&mut rest[tail]);
            L::load(&rest[head]).add(flow).store(&mut rest[head]);
        }
    }
}

multiversion! {
    fn spread(
        program: &Program,
        point: &Iterate,
        terms: (&[Block], &[Block]),
        solved: (&Newton, &Right),
        direction: &mut Iterate,
    ) = spread_kernel;
}

#[inline(always)]
fn spread_kernel<L: Lanes>(
    program: &Program,
    point: &Iterate,
    (flow_terms, link_terms): (&[Block], &[Block]),
    (newton, right): (&Newton, &Right),
    direction: &mut Iterate,
) {
    let (nodes, arcs) = (program.nodes, program.ends.len());
    let [flows, links, ..] = &mut direction.families;
    for group in 0..program.groups() {
        let potentials = &direction.potentials[group * nodes..(group + 1) * nodes];
        for (arc, &(design, force)) in newton.designs.iter().enumerate() {
            let at = group * arcs + arc;
            let (tail, head) = program.ends[arc];
            let difference = L::load(&potentials[tail]).sub(L::load(&potentials[head]));
            let pull = L::load(&right.forces[at]).add(difference).sub(L::splat(force));
            let of_design = L::load(&newton.alphas[at]).mul(L::splat(design));
            let flow = L::load(&newton.betas[at]).mul(pull).add(of_design);
            let slack = L::load(&program.limits[at]).mul(L::splat(design)).sub(flow);
            for (family, term, change, target) in
                [(FLOW, &flow_terms[at], flow, &mut *flows), (LINK, &link_terms[at], slack, &mut *links)]
            {
                let Family { slacks, multipliers } = &point.families[family];
                change.store(&mut target.slacks[at]);
                let sum = L::load(term).add(L::load(&multipliers[at]).mul(change));
                L::splat(0.0).sub(sum).div(L::load(&slacks[at])).store(&mut target.multipliers[at]);
            }
        }
    }
}

multiversion! {
    fn reach(numbers: &[Block], changes: &[Block]) -> f64 = reach_kernel;
}

/// The least ratio of a number to its decrease; infinite if none decreases.
#[inline(always)]
fn reach_kernel<L: Lanes>(numbers: &[Block], changes: &[Block]) -> f64 {
    let (zero, none) = (L::splat(0.0), L::splat(f64::INFINITY));
    let ratio = |(number, change): (&Block, &Block)| {
        let (number, change) = (L::load(number), L::load(change));
        change.if_less(zero, zero.sub(number).div(change), none)
    };
    numbers.iter().zip(changes).map(ratio).fold(none, |least, ratio| ratio.min(least)).least()
}

multiversion! {
    fn products(point: &Family, change: &Family, steps: (f64, f64)) -> f64 = products_kernel;
}

#[inline(always)]
fn products_kernel<L: Lanes>(point: &Family, change: &Family, (primal, dual): (f64, f64)) -> f64 {
    let (primal, dual) = (L::splat(primal), L::splat(dual));
    let slacks = point.slacks.iter().zip(&change.slacks);
    let multipliers = point.multipliers.iter().zip(&change.multipliers);
    let product = |((slack, ds), (multiplier, dm)): ((&Block, &Block), (&Block, &Block))| {
        let slack = L::load(slack).add(primal.mul(L::load(ds)));
        slack.mul(L::load(multiplier).add(dual.mul(L::load(dm))))
    };
    slacks.zip(multipliers).map(product).fold(L::splat(0.0), L::add).sum()
}

multiversion! {
    fn second_order(point: &Family, change: &Family, mask: &[Block], target: f64, terms: &mut [Block]) =
        second_order_kernel;
}

#[inline(always)]
fn second_order_kernel<L: Lanes>(point: &Family, change: &Family, mask: &[Block], target: f64, terms: &mut [Block]) {
    let target = L::splat(target);
    for (at, (term, mask)) in terms.iter_mut().zip(mask).enumerate() {
        let now = L::load(&point.slacks[at]).mul(L::load(&point.multipliers[at]));
        let second = L::load(&change.slacks[at]).mul(L::load(&change.multipliers[at]));
        L::load(mask).mul(now.add(second).sub(target)).store(term);
    }
}

multiversion! {
    fn centrality(
        point: &Family,
        change: &Family,
        mask: &[Block],
        aim: ((f64, f64), f64),
        terms: &mut [Block],
    ) = centrality_kernel;
}

#[inline(always)]
fn centrality_kernel<L: Lanes>(
    point: &Family,
    change: &Family,
    mask: &[Block],
    ((primal, dual), target): ((f64, f64), f64),
    terms: &mut [Block],
) {
    let (primal, dual) = (L::splat(primal), L::splat(dual));
    let (least, most) = (L::splat(LEAST_PRODUCT * target), L::splat(LARGEST_PRODUCT * target));
    for (at, (term, mask)) in terms.iter_mut().zip(mask).enumerate() {
        let slack = L::load(&point.slacks[at]).add(primal.mul(L::load(&change.slacks[at])));
        let multiplier = L::load(&point.multipliers[at]).add(dual.mul(L::load(&change.multipliers[at])));
        let product = slack.mul(multiplier);
        // A product that is far too large is lowered by a moderate amount only.
        let excess = product.sub(product.max(least).min(most)).min(most);
        L::load(mask).mul(excess).store(term);
    }
}

/// Blocks of numbers that an iterate, two directions and their terms take for `groups` of commodities.
pub(super) fn blocks(groups: usize, arcs: usize, nodes: usize) -> usize {
    // Four numbers of each flow in three iterates, two in two sets of terms, and seven more of the program, the residuals,
    // the weights and the right-hand side.
    groups * (23 * arcs + nodes * (nodes + 20)) + LANES * (nodes + 2) * blocks_for(arcs)
}
