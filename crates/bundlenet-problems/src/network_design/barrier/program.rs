//! The strong linear relaxation in scaled units, laid out for eight commodities at once.

use bundlenet_linalg::simd::{Block, LANES, blocks_for, flat_mut};

use crate::network_design::primal::Network;

/// The linear program
///
/// ```text
/// min  sum_a f_a y_a + sum_(a,k) r_a^k x_a^k
/// s.t. N x^k = b^k,   0 <= x_a^k <= d_a^k y_a,   sum_k x_a^k <= c_a y_a,   y_a <= 1,       d_a^k = min(q_k, c_a)
/// ```
///
/// Commodities without demand are left out, and arcs that no commodity can use. Flows are in units of the mean demand,
/// costs in units of the largest routing cost or fixed cost over capacity. Numbers of flows are blocks of eight
/// commodities, by group of commodities, then arc; those of multipliers by group, then node.
#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) nodes: usize,
    /// Tail and head of each arc.
    pub(super) ends: Vec<(usize, usize)>,
    /// Number of each arc in the instance.
    pub(super) arcs: Vec<usize>,
    /// Number of each commodity in the instance.
    pub(super) commodities: Vec<usize>,
    pub(super) destinations: Vec<usize>,
    pub(super) costs: Vec<Block>,
    /// 1 for flows that exist, 0 elsewhere.
    pub(super) usable: Vec<Block>,
    /// The limits `d`; 0 for flows that do not exist.
    pub(super) limits: Vec<Block>,
    pub(super) supplies: Vec<Block>,
    /// 0 at the destination of each commodity, 1 elsewhere. Its flow conservation follows from that of the others.
    pub(super) conserved: Vec<Block>,
    /// 1 for each arc, then 0 to the end of the last block.
    pub(super) present: Vec<Block>,
    pub(super) fixed_costs: Vec<f64>,
    pub(super) capacities: Vec<f64>,
    /// Number of flows that exist.
    pub(super) flows: usize,
    pub(super) flow_unit: f64,
    pub(super) cost_unit: f64,
}

impl Program {
    /// `None` if there is no demand, or no arc for it.
    pub(super) fn new(network: &Network<'_>) -> Option<Self> {
        let has_demand = |&commodity: &usize| network.commodities[commodity].demand > 0.0;
        let commodities: Vec<usize> = (0..network.commodities.len()).filter(has_demand).collect();
        let is_usable = |arc: usize, commodity: usize| network.cost(arc, commodity) < f64::INFINITY;
        let is_arc = |&arc: &usize| {
            let is_loop = network.arcs[arc].tail == network.arcs[arc].head;
            !is_loop && commodities.iter().any(|&commodity| is_usable(arc, commodity))
        };
        let arcs: Vec<usize> = (0..network.arcs.len()).filter(is_arc).collect();
        if arcs.is_empty() {
            return None;
        }
        let (nodes, groups, count) = (network.nodes, blocks_for(commodities.len()), arcs.len());
        let demands = || commodities.iter().map(|&commodity| network.commodities[commodity].demand);
        let flow_unit = demands().sum::<f64>() / commodities.len() as f64;
        let per_flow = |&arc: &usize| network.arcs[arc].fixed_cost.abs() / network.arcs[arc].capacity;
        let of_flows =
            arcs.iter().flat_map(|&arc| commodities.iter().map(move |&commodity| network.cost(arc, commodity)));
        let finite = of_flows.filter(|cost| cost.is_finite()).map(f64::abs);
        let largest = arcs.iter().map(per_flow).chain(finite).fold(0.0, f64::max);
        let cost_unit = if largest > 0.0 { largest } else { 1.0 };
        let zeros = |count: usize| vec![Block::splat(0.0); groups * count];
        let mut program = Self {
            nodes,
            ends: arcs.iter().map(|&arc| (network.arcs[arc].tail, network.arcs[arc].head)).collect(),
            destinations: commodities.iter().map(|&commodity| network.commodities[commodity].destination).collect(),
            costs: zeros(count),
            usable: zeros(count),
            limits: zeros(count),
            supplies: zeros(nodes),
            conserved: zeros(nodes),
            present: vec![Block::splat(0.0); blocks_for(count)],
            fixed_costs: arcs.iter().map(|&arc| network.arcs[arc].fixed_cost / (cost_unit * flow_unit)).collect(),
            capacities: arcs.iter().map(|&arc| network.arcs[arc].capacity / flow_unit).collect(),
            flows: 0,
            flow_unit,
            cost_unit,
            arcs,
            commodities,
        };
        flat_mut(&mut program.present)[..count].fill(1.0);
        (0..program.commodities.len()).for_each(|place| program.set_commodity(network, place));
        Some(program)
    }

    /// Writes the numbers of a commodity into its lane.
    fn set_commodity(&mut self, network: &Network<'_>, place: usize) {
        let (group, lane) = (place / LANES, place % LANES);
        let commodity = self.commodities[place];
        let data = &network.commodities[commodity];
        let demand = data.demand / self.flow_unit;
        for (index, &arc) in self.arcs.iter().enumerate() {
            let cost = network.cost(arc, commodity);
            if cost < f64::INFINITY {
                let at = group * self.arcs.len() + index;
                self.costs[at].0[lane] = cost / self.cost_unit;
                self.usable[at].0[lane] = 1.0;
                self.limits[at].0[lane] = demand.min(self.capacities[index]);
                self.flows += 1;
            }
        }
        let first = group * self.nodes;
        self.supplies[first + data.origin].0[lane] += demand;
        self.supplies[first + data.destination].0[lane] -= demand;
        for node in (0..self.nodes).filter(|&node| node != data.destination) {
            self.conserved[first + node].0[lane] = 1.0;
        }
    }

    pub(super) fn groups(&self) -> usize {
        blocks_for(self.commodities.len())
    }

    /// Objective of the scaled program in units of the instance.
    pub(super) fn unit(&self) -> f64 {
        self.cost_unit * self.flow_unit
    }
}
