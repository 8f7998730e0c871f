//! Instances of the families `mc-sml-40`, `mc-sml-var`, `mc-big-40` and `mc-big-var`.

use super::instance::check_sizes;
use super::{Arc, Commodity, NetworkDesign};
use crate::Problem;
use crate::error::Error;
use crate::generate::Family;
use bundlenet_linalg::Stream;

/// Four instances share demands and routing costs and differ in these factors on fixed costs and capacities.
const SMALL_VARIANTS: [(f64, f64); 4] = [(1.0, 1.0), (4.0, 1.0), (0.5, 0.5), (2.0, 0.5)];
const BIG_VARIANTS: [(f64, f64); 4] = [(1.0, 1.0), (5.0, 1.0), (0.66, 0.667), (3.3, 0.667)];

/// Numbers of published instances with 1, 2, ... times the commodities of their base.
const SMALL_SCALES: [usize; 5] = [428, 392, 392, 391, 397];
const BIG_SCALES: [usize; 3] = [188, 188, 188];
/// Numbers of published instances of `mc-big-var` with the small and the big graph.
const GRAPHS: [usize; 2] = [1436, 564];

/// Most draws of commodities before the base counts as too tight. A draw rarely fails on the bases of the families.
const ATTEMPTS: usize = 1000;

/// A graph, and the statistics of demands and costs drawn for it.
struct Base {
    letter: char,
    nodes: usize,
    arcs: Vec<Arc>,
    variants: [(f64, f64); 4],
    scales: &'static [usize],
    /// Commodities at scale 1.
    commodities: usize,
    /// The destination of all commodities, if they share one.
    destination: Option<usize>,
    /// Mean and deviation.
    routing_cost: (f64, f64),
    demand: (f64, f64),
}

impl Base {
    fn small(seed: u64) -> Self {
        let mut base = Self {
            letter: 's',
            nodes: 20,
            arcs: vec![],
            variants: SMALL_VARIANTS,
            scales: &SMALL_SCALES,
            commodities: 40,
            destination: None,
            routing_cost: (27.04, 13.11),
            demand: (448.0, 168.25),
        };
        base.draw_graph(&mut Stream::new(seed, "small graph", 0), 226, (221, 2188), (700, 3458));
        base
    }

    fn big(seed: u64) -> Self {
        let mut base = Self {
            letter: 'b',
            nodes: 30,
            arcs: vec![],
            variants: BIG_VARIANTS,
            scales: &BIG_SCALES,
            commodities: 40,
            destination: Some(0),
            routing_cost: (10.5, 5.2),
            demand: (52.0, 21.0),
        };
        base.draw_graph(&mut Stream::new(seed, "big graph", 0), 519, (41, 406), (71, 351));
        base
    }

    /// The base of a given instance: its graph, the statistics of its demands and costs.
    fn of(instance: &NetworkDesign, is_big: bool) -> Self {
        let commodities = instance.commodities();
        let first = commodities[0].destination;
        let one_destination = commodities.len() > 1 && commodities.iter().all(|one| one.destination == first);
        let costs = (0..instance.arcs().len()).flat_map(|arc| instance.routing_costs(arc)).copied();
        Self {
            letter: 'i',
            nodes: instance.nodes(),
            arcs: instance.arcs().to_vec(),
            variants: if is_big { BIG_VARIANTS } else { SMALL_VARIANTS },
            scales: if is_big { &BIG_SCALES } else { &SMALL_SCALES },
            commodities: commodities.len(),
            destination: one_destination.then_some(first),
            routing_cost: moments(costs),
            demand: moments(commodities.iter().map(|commodity| commodity.demand)),
        }
    }

    /// Draws distinct arcs with uniform fixed costs and capacities until every node can reach every other. If
    /// all commodities share a destination, enough capacity has to lead into it.
    fn draw_graph(&mut self, stream: &mut Stream, arcs: usize, fixed_cost: (u32, u32), capacity: (u32, u32)) {
        let nodes = self.nodes;
        loop {
            let mut pairs: Vec<(usize, usize)> = (0..nodes)
                .flat_map(|tail| (0..nodes).filter(move |&head| head != tail).map(move |head| (tail, head)))
                .collect();
            for index in 0..arcs {
                let chosen = index + stream.below(pairs.len() - index);
                pairs.swap(index, chosen);
            }
            self.arcs = pairs[..arcs]
                .iter()
                .map(|&(tail, head)| Arc {
                    tail,
                    head,
                    fixed_cost: f64::from(stream.between(fixed_cost.0, fixed_cost.1)),
                    capacity: f64::from(stream.between(capacity.0, capacity.1)),
                })
                .collect();
            if self.is_strongly_connected() && self.destination_is_wide() {
                return;
            }
        }
    }

    fn is_strongly_connected(&self) -> bool {
        let reaches_all = |ends: &dyn Fn(&Arc) -> (usize, usize)| {
            let mut reached = vec![false; self.nodes];
            let mut stack = vec![0];
            reached[0] = true;
            while let Some(node) = stack.pop() {
                for (from, to) in self.arcs.iter().map(ends) {
                    if from == node && !reached[to] {
                        reached[to] = true;
                        stack.push(to);
                    }
                }
            }
            reached.into_iter().all(|node| node)
        };
        reaches_all(&|arc| (arc.tail, arc.head)) && reaches_all(&|arc| (arc.head, arc.tail))
    }

    /// In the published big graph the least capacity into the destination is 1.16 times the mean total demand.
    fn destination_is_wide(&self) -> bool {
        let Some(destination) = self.destination else { return true };
        let into: f64 = self.arcs.iter().filter(|arc| arc.head == destination).map(|arc| arc.capacity).sum();
        let least = self.variants.iter().map(|&(_, factor)| factor).fold(1.0, f64::min);
        into * least >= 1.1 * self.commodities as f64 * self.demand.0
    }

    /// The arcs with fixed costs and capacities multiplied and rounded to whole numbers.
    fn variant(&self, (fixed, capacity): (f64, f64)) -> Vec<Arc> {
        let scaled = |number: f64, factor: f64| if factor == 1.0 { number } else { (number * factor).round() };
        self.arcs
            .iter()
            .map(|arc| Arc {
                fixed_cost: scaled(arc.fixed_cost, fixed),
                capacity: scaled(arc.capacity, capacity).max(1.0_f64.min(arc.capacity)),
                ..*arc
            })
            .collect()
    }

    /// Draws `count` commodities. Their demands shrink as their number grows: the total stays the same.
    fn draw_commodities(&self, stream: &mut Stream, count: usize) -> Vec<Commodity> {
        let scale = count as f64 / self.commodities as f64;
        (0..count)
            .map(|_| {
                let destination = self.destination.unwrap_or_else(|| stream.below(self.nodes));
                let other = stream.below(self.nodes - 1);
                let origin = if other < destination { other } else { other + 1 };
                let drawn = stream.positive_whole(self.demand.0, self.demand.1);
                let demand = if count == self.commodities { drawn } else { (drawn / scale).floor() + 1.0 };
                Commodity { origin, destination, demand }
            })
            .collect()
    }
}

/// Mean and sample standard deviation.
fn moments(numbers: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let count = numbers.clone().count() as f64;
    let mean = numbers.clone().sum::<f64>() / count;
    let squares: f64 = numbers.map(|number| (number - mean) * (number - mean)).sum();
    (mean, (squares / (count - 1.0).max(1.0)).sqrt())
}

/// Name, group and problem of instance `index`; four in a row are a group.
pub(crate) fn instance(
    family: Family,
    seed: u64,
    given: Option<&NetworkDesign>,
    fixed_commodities: Option<usize>,
    index: usize,
) -> Result<(String, usize, Problem), Error> {
    let (group, variant) = (index / 4 + 1, index % 4);
    let mut stream = Stream::new(seed, family.name(), group as u64);
    let base = match (given, family) {
        (Some(instance), Family::McSml40 | Family::McSmlVar) => Base::of(instance, false),
        (Some(instance), _) => Base::of(instance, true),
        (None, Family::McSml40 | Family::McSmlVar) => Base::small(seed),
        (None, Family::McBigVar) if stream.weighted(&GRAPHS) == 0 => Base::small(seed),
        (None, _) => Base::big(seed),
    };
    if base.nodes < 2 {
        return Err(Error::Generate { family, expected: "a base with two nodes", found: "one".to_string() });
    }
    let scale = match family {
        Family::McSml40 | Family::McBig40 => 1,
        _ => 1 + stream.weighted(base.scales),
    };
    let count = fixed_commodities.unwrap_or(base.commodities * scale);
    check_sizes(base.nodes, base.arcs.len(), count)?;
    let variants = base.variants.map(|factors| base.variant(factors));
    for _ in 0..ATTEMPTS {
        let commodities = base.draw_commodities(&mut stream, count);
        if !variants.iter().all(|arcs| is_routable(base.nodes, arcs, &commodities)) {
            continue;
        }
        let (mean, deviation) = base.routing_cost;
        let costs = (0..base.arcs.len() * count).map(|_| stream.positive_whole(mean, deviation)).collect();
        let scale = if scale == 1 || fixed_commodities.is_some() { String::new() } else { format!("x{scale}") };
        let name = format!("{}{}{scale}-{group}", base.letter, variant + 1);
        let arcs = variants[variant].clone();
        return NetworkDesign::new(base.nodes, arcs, commodities, costs)
            .map(|problem| (name, group, Problem::NetworkDesign(problem)))
            .map_err(Error::from);
    }
    Err(Error::Generate {
        family,
        expected: "a base with capacity for demands drawn with its own statistics",
        found: format!("none routable in {ATTEMPTS} draws of {count} commodities"),
    })
}

/// Whether the demands can be routed: only then is the Lagrangian dual bounded.
///
/// Commodities with the same destination are one flow, routed exactly. Destinations are routed one after another,
/// each in the capacity that the earlier ones leave. So `true` is a proof; `false` is one only if there is a single
/// destination.
fn is_routable(nodes: usize, arcs: &[Arc], commodities: &[Commodity]) -> bool {
    let mut capacity: Vec<f64> = arcs.iter().map(|arc| arc.capacity).collect();
    let mut incident = vec![vec![]; nodes];
    for (index, arc) in arcs.iter().enumerate() {
        incident[arc.tail].push(index);
        incident[arc.head].push(index);
    }
    (0..nodes).all(|destination| {
        let mut supply = vec![0.0; nodes];
        for commodity in commodities.iter().filter(|commodity| commodity.destination == destination) {
            supply[commodity.origin] += commodity.demand;
        }
        let mut flow = vec![0.0; arcs.len()];
        while let Some(origin) = supply.iter().position(|&amount| amount > 0.0) {
            let Some(path) = augmenting_path(arcs, &incident, &capacity, &flow, origin, destination) else {
                return false;
            };
            let room = |&(arc, forward): &(usize, bool)| if forward { capacity[arc] - flow[arc] } else { flow[arc] };
            let amount = path.iter().map(room).fold(supply[origin], f64::min);
            for (arc, forward) in path {
                flow[arc] += if forward { amount } else { -amount };
            }
            supply[origin] -= amount;
        }
        capacity.iter_mut().zip(&flow).for_each(|(left, used)| *left -= used);
        true
    })
}

/// A shortest path with room left: its arcs, each with whether the path follows it forwards.
fn augmenting_path(
    arcs: &[Arc],
    incident: &[Vec<usize>],
    capacity: &[f64],
    flow: &[f64],
    origin: usize,
    destination: usize,
) -> Option<Vec<(usize, bool)>> {
    let mut arrived: Vec<Option<(usize, bool)>> = vec![None; incident.len()];
    let mut queue = std::collections::VecDeque::from([origin]);
    while let Some(node) = queue.pop_front() {
        if node == destination {
            let mut path = vec![];
            let mut node = destination;
            while node != origin {
                let (arc, forward) = arrived[node]?;
                path.push((arc, forward));
                node = if forward { arcs[arc].tail } else { arcs[arc].head };
            }
            return Some(path);
        }
        for &arc in &incident[node] {
            let forward = arcs[arc].tail == node;
            let next = if forward { arcs[arc].head } else { arcs[arc].tail };
            let has_room = if forward { flow[arc] < capacity[arc] } else { flow[arc] > 0.0 };
            if has_room && next != origin && arrived[next].is_none() {
                arrived[next] = Some((arc, forward));
                queue.push_back(next);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routing_is_exact_for_one_destination() {
        // 0 -> 2 has room for 3 and 1 -> 2 for 2; 0 and 1 are joined both ways.
        let arc = |tail, head, capacity| Arc { tail, head, fixed_cost: 0.0, capacity };
        let arcs = [arc(0, 2, 3.0), arc(1, 2, 2.0), arc(0, 1, 9.0), arc(1, 0, 9.0)];
        let demand = |origin, demand| Commodity { origin, destination: 2, demand };
        assert!(is_routable(3, &arcs, &[demand(0, 1.0), demand(1, 4.0)]));
        assert!(is_routable(3, &arcs, &[demand(0, 5.0)]));
        assert!(!is_routable(3, &arcs, &[demand(0, 1.0), demand(1, 4.5)]));
    }

    #[test]
    fn graphs_have_the_stated_statistics() {
        for (base, fixed, capacity) in
            [(Base::small(5), (221.0, 2188.0), (700.0, 3458.0)), (Base::big(5), (41.0, 406.0), (71.0, 351.0))]
        {
            assert!(base.is_strongly_connected());
            let distinct: std::collections::HashSet<_> = base.arcs.iter().map(|arc| (arc.tail, arc.head)).collect();
            assert_eq!(distinct.len(), if base.letter == 's' { 226 } else { 519 });
            assert!(base.arcs.iter().all(|arc| (fixed.0..=fixed.1).contains(&arc.fixed_cost)));
            assert!(base.arcs.iter().all(|arc| (capacity.0..=capacity.1).contains(&arc.capacity)));
        }
    }
}
