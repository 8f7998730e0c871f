//! The instance type.

use crate::error::{Element, InvalidInstance};

/// Most arcs times commodities, and nodes times commodities. It keeps a short file from asking for more than about a
/// gigabyte of memory.
const MAX_PRODUCT: usize = 1 << 27;

/// An arc that can be opened.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arc {
    /// Node it leaves, counted from 0.
    pub tail: usize,
    /// Node it enters, counted from 0.
    pub head: usize,
    /// Cost of opening it, `f`.
    pub fixed_cost: f64,
    /// Flow it carries when open, `c`.
    pub capacity: f64,
}

/// A demand between two nodes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Commodity {
    /// Node it comes from, counted from 0.
    pub origin: usize,
    /// Node it goes to, counted from 0.
    pub destination: usize,
    /// Amount to send, `q`.
    pub demand: f64,
}

/// A valid instance of multicommodity network design. Parallel arcs are legal.
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkDesign {
    nodes: usize,
    arcs: Vec<Arc>,
    commodities: Vec<Commodity>,
    routing_costs: Vec<f64>,
}

impl NetworkDesign {
    /// Builds an instance; `routing_costs` holds `r` by arc, then commodity.
    ///
    /// # Errors
    /// If there is no arc or no commodity, a node that does not exist, an origin that is also the destination, a
    /// capacity that is not positive, a negative demand, a number that is not finite, or a list of the wrong length.
    pub fn new(
        nodes: usize,
        arcs: Vec<Arc>,
        commodities: Vec<Commodity>,
        routing_costs: Vec<f64>,
    ) -> Result<Self, InvalidInstance> {
        check_sizes(nodes, arcs.len(), commodities.len())?;
        if routing_costs.len() != arcs.len() * commodities.len() {
            let expected = "one for each arc and commodity";
            return Err(InvalidInstance::new(Element::RoutingCosts, expected, routing_costs.len()));
        }
        for (index, arc) in arcs.iter().enumerate() {
            check_node(nodes, Element::Tail(index), arc.tail)?;
            check_node(nodes, Element::Head(index), arc.head)?;
            check_finite(Element::FixedCost(index), arc.fixed_cost)?;
            if !(arc.capacity > 0.0 && arc.capacity.is_finite()) {
                let element = Element::ArcCapacity(index);
                return Err(InvalidInstance::new(element, "a positive finite number", arc.capacity));
            }
        }
        for (index, commodity) in commodities.iter().enumerate() {
            check_node(nodes, Element::Origin(index), commodity.origin)?;
            check_node(nodes, Element::Destination(index), commodity.destination)?;
            if commodity.origin == commodity.destination {
                let found = format!("node {} for both", commodity.origin);
                let element = Element::Destination(index);
                return Err(InvalidInstance::new(element, "another node than the origin", found));
            }
            if !(commodity.demand >= 0.0 && commodity.demand.is_finite()) {
                let element = Element::Demand(index);
                return Err(InvalidInstance::new(element, "a nonnegative finite number", commodity.demand));
            }
        }
        if let Some(at) = routing_costs.iter().position(|cost| !cost.is_finite()) {
            let (arc, commodity) = (at / commodities.len(), at % commodities.len());
            check_finite(Element::RoutingCost { arc, commodity }, routing_costs[at])?;
        }
        Ok(Self { nodes, arcs, commodities, routing_costs })
    }

    /// Builds an instance whose routing costs are the same for all commodities, one for each arc.
    ///
    /// # Errors
    /// As [`NetworkDesign::new`].
    pub fn with_common_costs(
        nodes: usize,
        arcs: Vec<Arc>,
        commodities: Vec<Commodity>,
        routing_costs: &[f64],
    ) -> Result<Self, InvalidInstance> {
        check_sizes(nodes, arcs.len(), commodities.len())?;
        let count = commodities.len();
        let expanded = routing_costs.iter().flat_map(|&cost| std::iter::repeat_n(cost, count)).collect();
        Self::new(nodes, arcs, commodities, expanded)
    }

    /// Number of nodes.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// The arcs.
    #[must_use]
    pub fn arcs(&self) -> &[Arc] {
        &self.arcs
    }

    /// The commodities.
    #[must_use]
    pub fn commodities(&self) -> &[Commodity] {
        &self.commodities
    }

    /// Cost `r` of routing a unit of each commodity on an arc.
    ///
    /// # Panics
    /// If there is no such arc.
    #[must_use]
    pub fn routing_costs(&self, arc: usize) -> &[f64] {
        let count = self.commodities.len();
        &self.routing_costs[arc * count..(arc + 1) * count]
    }

    /// Costs of routing by arc, then commodity.
    pub(crate) fn all_routing_costs(&self) -> &[f64] {
        &self.routing_costs
    }

    /// Whether a commodity may use an arc: no arc into its origin, and none out of its destination.
    ///
    /// # Panics
    /// If there is no such arc or commodity.
    #[must_use]
    pub fn is_usable(&self, arc: usize, commodity: usize) -> bool {
        let (arc, commodity) = (&self.arcs[arc], &self.commodities[commodity]);
        arc.head != commodity.origin && arc.tail != commodity.destination
    }

    /// Number of multipliers: one for each commodity and node.
    #[must_use]
    pub fn dual_dim(&self) -> usize {
        self.nodes * self.commodities.len()
    }

    /// Number of arcs times total demand over total capacity: the larger, the tighter the capacities.
    ///
    /// This is the "capacity ratio" by which the instances of this problem are usually classified.
    #[must_use]
    pub fn capacity_ratio(&self) -> f64 {
        let total: f64 = self.arcs.iter().map(|arc| arc.capacity).sum();
        self.arcs.len() as f64 * self.total_demand() / total
    }

    /// Number of commodities times total fixed cost, over total demand times total routing cost: the larger, the
    /// more fixed costs matter compared with routing costs.
    ///
    /// This is the "fixed-cost ratio" by which the instances of this problem are usually classified.
    #[must_use]
    pub fn fixed_cost_ratio(&self) -> f64 {
        let fixed: f64 = self.arcs.iter().map(|arc| arc.fixed_cost).sum();
        let routing: f64 = self.routing_costs.iter().sum::<f64>() / self.commodities.len() as f64;
        self.commodities.len() as f64 * fixed / (self.total_demand() * routing)
    }

    /// Sum of all demands.
    #[must_use]
    pub fn total_demand(&self) -> f64 {
        self.commodities.iter().map(|commodity| commodity.demand).sum()
    }
}

/// Refuses networks without arcs or commodities, and those too large for memory.
pub(super) fn check_sizes(nodes: usize, arcs: usize, commodities: usize) -> Result<(), InvalidInstance> {
    if arcs == 0 {
        return Err(InvalidInstance::new(Element::Arcs, "at least one", "none"));
    }
    if commodities == 0 {
        return Err(InvalidInstance::new(Element::Commodities, "at least one", "none"));
    }
    if nodes == 0 || nodes / 2 > arcs.saturating_add(commodities) {
        let expected = "at least 1 and at most two for each arc and commodity";
        return Err(InvalidInstance::new(Element::Nodes, expected, nodes));
    }
    let product = arcs.max(nodes).saturating_mul(commodities);
    if product > MAX_PRODUCT {
        let expected = "arcs (or nodes) times commodities within 2^27";
        return Err(InvalidInstance::new(Element::Commodities, expected, product));
    }
    Ok(())
}

fn check_node(nodes: usize, element: Element, node: usize) -> Result<(), InvalidInstance> {
    if node < nodes {
        Ok(())
    } else {
        Err(InvalidInstance::new(
            element,
            "a node that exists",
            format!("{node}, with nodes counted from 0 to {}", nodes - 1),
        ))
    }
}

fn check_finite(element: Element, number: f64) -> Result<(), InvalidInstance> {
    if number.is_finite() { Ok(()) } else { Err(InvalidInstance::new(element, "a finite number", number)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(
        nodes: usize,
        change_arc: impl Fn(&mut Arc),
        change_commodity: impl Fn(&mut Commodity),
        cost: f64,
    ) -> Result<NetworkDesign, InvalidInstance> {
        let mut arc = Arc { tail: 0, head: 1, fixed_cost: 1.0, capacity: 2.0 };
        let mut commodity = Commodity { origin: 0, destination: 1, demand: 1.0 };
        change_arc(&mut arc);
        change_commodity(&mut commodity);
        NetworkDesign::new(nodes, vec![arc], vec![commodity], vec![cost])
    }

    #[test]
    fn invalid_data_are_refused_by_name() {
        assert!(build(2, |_| (), |_| (), 1.0).is_ok());
        let element = |result: Result<NetworkDesign, InvalidInstance>| result.unwrap_err().element;
        assert_eq!(element(build(2, |arc| arc.capacity = 0.0, |_| (), 1.0)), Element::ArcCapacity(0));
        assert_eq!(element(build(2, |arc| arc.capacity = -1.0, |_| (), 1.0)), Element::ArcCapacity(0));
        assert_eq!(element(build(2, |arc| arc.capacity = f64::NAN, |_| (), 1.0)), Element::ArcCapacity(0));
        assert_eq!(element(build(2, |arc| arc.head = 2, |_| (), 1.0)), Element::Head(0));
        assert_eq!(element(build(2, |arc| arc.tail = 9, |_| (), 1.0)), Element::Tail(0));
        assert_eq!(element(build(2, |arc| arc.fixed_cost = f64::INFINITY, |_| (), 1.0)), Element::FixedCost(0));
        assert_eq!(element(build(2, |_| (), |one| one.demand = -1.0, 1.0)), Element::Demand(0));
        assert_eq!(element(build(2, |_| (), |one| one.origin = 1, 1.0)), Element::Destination(0));
        assert_eq!(element(build(2, |_| (), |one| one.origin = 3, 1.0)), Element::Origin(0));
        assert_eq!(element(build(2, |_| (), |_| (), f64::NAN)), Element::RoutingCost { arc: 0, commodity: 0 });
        assert_eq!(element(build(1 << 40, |_| (), |_| (), 1.0)), Element::Nodes);
        assert_eq!(element(NetworkDesign::new(2, vec![], vec![], vec![])), Element::Arcs);
        let arc = Arc { tail: 0, head: 1, fixed_cost: 1.0, capacity: 2.0 };
        assert_eq!(element(NetworkDesign::new(2, vec![arc], vec![], vec![])), Element::Commodities);
        let commodity = Commodity { origin: 0, destination: 1, demand: 1.0 };
        assert_eq!(element(NetworkDesign::new(2, vec![arc], vec![commodity], vec![])), Element::RoutingCosts);
    }
}
