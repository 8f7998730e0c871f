//! Shortest paths in layered graphs with dualised constraints: a path with limits on resources, and commodities that
//! share the capacities of arcs.
//!
//! ```text
//! max sum_k q_k min { sum_a (c_a + sum_r u_r g_ra) x_a : x a path of k } - u'b,   u >= 0
//! ```

use bundlenet::{Domain, Minorants, Oracle, OracleError, Sense, SumOracle};
use bundlenet_linalg::{SparseRows, Stream};

/// Layers of nodes; every node has arcs to the three nearest nodes of the next layer.
#[derive(Clone, Copy)]
pub struct Grid {
    pub layers: usize,
    pub width: usize,
}

const ARCS: usize = 3;

impl Grid {
    fn arcs(self) -> usize {
        (self.layers - 1) * self.width * ARCS
    }

    fn arc(self, layer: usize, node: usize, choice: usize) -> usize {
        (layer * self.width + node) * ARCS + choice
    }

    /// The node at the end of an arc.
    fn head(self, node: usize, choice: usize) -> usize {
        (node + self.width + choice - 1) % self.width
    }

    /// A random path from a node of the first layer: its arcs.
    fn random_path(self, origin: usize, stream: &mut Stream) -> Vec<usize> {
        let mut node = origin;
        let step = |layer: usize| {
            let choice = stream.below(ARCS);
            let arc = self.arc(layer, node, choice);
            node = self.head(node, choice);
            arc
        };
        (0..self.layers - 1).map(step).collect()
    }
}

/// The dual. Paths end at any node of the last layer.
#[derive(Clone)]
pub struct Paths {
    grid: Grid,
    costs: Vec<f64>,
    /// Entries of every arc in the dualised constraints.
    uses: SparseRows,
    entries: usize,
    linear: Vec<f64>,
    /// First node and amount of every commodity.
    commodities: Vec<(usize, f64)>,
    reduced: Vec<f64>,
    /// Length of a shortest path from every node, and its first arc.
    lengths: Vec<f64>,
    choices: Vec<usize>,
}

impl Paths {
    fn new(grid: Grid, uses: SparseRows, commodities: Vec<(usize, f64)>, stream: &mut Stream) -> Self {
        Self {
            costs: (0..grid.arcs()).map(|_| f64::from(stream.between(1, 30))).collect(),
            entries: uses.entries().len(),
            uses,
            linear: vec![],
            commodities,
            reduced: vec![0.0; grid.arcs()],
            lengths: vec![0.0; grid.layers * grid.width],
            choices: vec![0; grid.layers * grid.width],
            grid,
        }
    }

    /// A single path with limits on resources. The mean of random paths is within the limits.
    pub fn with_resources(index: u64, grid: Grid, resources: usize) -> Self {
        let mut stream = Stream::new(1, "resources", index);
        let mut uses = SparseRows::default();
        for _ in 0..grid.arcs() {
            let amounts: Vec<f64> = (0..resources).map(|_| f64::from(stream.between(0, 10))).collect();
            uses.push((0..).zip(amounts));
        }
        let mut paths = Self::new(grid, uses, vec![(0, 1.0)], &mut stream);
        paths.limit(resources, 0.95, &mut stream);
        paths
    }

    /// Commodities that share the capacities of the arcs. The mean of random paths is within the capacities.
    pub fn with_capacities(index: u64, grid: Grid, commodities: usize) -> Self {
        let mut stream = Stream::new(1, "capacities", index);
        let mut uses = SparseRows::default();
        (0..grid.arcs() as u32).for_each(|arc| uses.push([(arc, 1.0)]));
        let commodity = |_| (stream.below(grid.width), f64::from(stream.between(1, 10)));
        let commodities = (0..commodities).map(commodity).collect();
        let mut paths = Self::new(grid, uses, commodities, &mut stream);
        paths.limit(grid.arcs(), 1.0, &mut stream);
        paths
    }

    /// Sets the limits of the constraints to a share of their mean use by random paths. A share below 1 is feasible if
    /// paths can be chosen better than at random.
    fn limit(&mut self, constraints: usize, share: f64, stream: &mut Stream) {
        const SAMPLES: usize = 40;
        self.linear = vec![0.0; constraints];
        for &(origin, amount) in &self.commodities {
            for arc in (0..SAMPLES).flat_map(|_| self.grid.random_path(origin, stream)) {
                let (coordinates, entries) = self.uses.row(arc);
                for (&at, entry) in coordinates.iter().zip(entries) {
                    self.linear[at as usize] -= share * amount * entry / SAMPLES as f64;
                }
            }
        }
    }

    /// Shortest paths from all nodes to the last layer.
    fn shorten(&mut self, point: &[f64]) {
        let grid = self.grid;
        for (arc, reduced) in self.reduced.iter_mut().enumerate() {
            let (coordinates, entries) = self.uses.row(arc);
            let price: f64 = coordinates.iter().zip(entries).map(|(&at, entry)| entry * point[at as usize]).sum();
            *reduced = self.costs[arc] + price;
        }
        for layer in (0..grid.layers - 1).rev() {
            for node in 0..grid.width {
                let length = |choice: usize| {
                    let rest = self.lengths[(layer + 1) * grid.width + grid.head(node, choice)];
                    (choice, self.reduced[grid.arc(layer, node, choice)] + rest)
                };
                let best =
                    (1..ARCS).map(length).fold(length(0), |best, next| if next.1 < best.1 { next } else { best });
                let at = layer * grid.width + node;
                (self.choices[at], self.lengths[at]) = best;
            }
        }
    }

    /// Calls `each` with the entries of a shortest path from a node of the first layer, times an amount.
    fn follow(&self, origin: usize, amount: f64, mut each: impl FnMut(u32, f64)) {
        let mut node = origin;
        for layer in 0..self.grid.layers - 1 {
            let choice = self.choices[layer * self.grid.width + node];
            let (coordinates, entries) = self.uses.row(self.grid.arc(layer, node, choice));
            coordinates.iter().zip(entries).for_each(|(&at, entry)| each(at, amount * entry));
            node = self.grid.head(node, choice);
        }
    }
}

impl Oracle for Paths {
    fn dim(&self) -> usize {
        self.linear.len()
    }

    fn evaluate(&mut self, point: &[f64], subgradient: &mut [f64]) -> Result<f64, OracleError> {
        self.shorten(point);
        subgradient.copy_from_slice(&self.linear);
        let mut value: f64 = self.linear.iter().zip(point).map(|(entry, at)| entry * at).sum();
        for &(origin, amount) in &self.commodities {
            value += amount * self.lengths[origin];
            self.follow(origin, amount, |at, entry| subgradient[at as usize] += entry);
        }
        Ok(value)
    }

    fn domain(&self) -> Domain {
        Domain::Nonnegative
    }

    fn sense(&self) -> Sense {
        Sense::Maximize
    }

    fn work(&self) -> Option<f64> {
        let followed = self.commodities.len() * self.grid.layers * self.entries / self.costs.len();
        Some(4.0 * self.costs.len() as f64 + 0.7 * self.entries as f64 + 6.0 * followed as f64)
    }

    fn as_sum(&mut self) -> Option<&mut dyn SumOracle> {
        (self.commodities.len() > 1).then_some(self as _)
    }
}

impl SumOracle for Paths {
    fn component_count(&self) -> usize {
        self.commodities.len()
    }

    fn linear(&self) -> &[f64] {
        &self.linear
    }

    fn evaluate_components(&mut self, point: &[f64], minorants: &mut Minorants) -> Result<(), OracleError> {
        self.shorten(point);
        let mut entries = vec![];
        for &(origin, amount) in &self.commodities {
            entries.clear();
            self.follow(origin, amount, |at, entry| entries.push((at, entry)));
            minorants.push(amount * self.lengths[origin], entries.iter().copied());
        }
        Ok(())
    }
}
