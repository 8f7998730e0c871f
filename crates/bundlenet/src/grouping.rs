//! Components taken together: a coarser model with a cheaper master.

use crate::oracle::{Minorants, SumOracle};

/// Which components are one.
#[derive(Clone, Debug)]
pub(crate) struct Grouping {
    /// Components in an order in which a group is a range, and where the groups end.
    order: Vec<u32>,
    ends: Vec<usize>,
    sums: Vec<f64>,
    coordinates: Vec<u32>,
    merged: Minorants,
}

impl Grouping {
    /// Groups of neighbours, of about equal size; as many as asked for, or one for each component if those are fewer.
    pub(crate) fn new(oracle: &dyn SumOracle, groups: usize) -> Self {
        let count = oracle.component_count();
        let groups = groups.clamp(1, count.max(1));
        let order = oracle.component_order().unwrap_or_else(|| (0..count as u32).collect());
        let ends = (1..=groups).map(|group| group * count / groups).collect();
        let sums = vec![0.0; oracle.dim()];
        Self { order, ends, sums, coordinates: vec![], merged: Minorants::new() }
    }

    /// The components of every group.
    pub(crate) fn groups(&self) -> impl Iterator<Item = &[u32]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.order[start..end])
    }

    /// Replaces the components' minorants by those of the groups.
    pub(crate) fn merge(&mut self, minorants: &mut Minorants) {
        self.merged.clear();
        let mut start = 0;
        for &end in &self.ends {
            let mut value = 0.0;
            self.coordinates.clear();
            for &component in &self.order[start..end] {
                value += minorants.values()[component as usize];
                let (coordinates, entries) = minorants.subgradient(component as usize);
                for (&coordinate, entry) in coordinates.iter().zip(entries) {
                    self.sums[coordinate as usize] += entry;
                }
                self.coordinates.extend_from_slice(coordinates);
            }
            self.coordinates.sort_unstable();
            self.coordinates.dedup();
            let sums = &mut self.sums;
            let entries = self.coordinates.iter().map(|&at| (at, std::mem::take(&mut sums[at as usize])));
            self.merged.push(value, entries.filter(|(_, entry)| *entry != 0.0));
            start = end;
        }
        std::mem::swap(&mut self.merged, minorants);
    }
}
