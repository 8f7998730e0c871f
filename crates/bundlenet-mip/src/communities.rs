//! Groups of columns that share rows with each other more than with others.
//!
//! Columns are the vertices of a graph, and each row joins its columns. The groups have the greatest modularity that
//! moves of single vertices find, level by level (Blondel, Guillaume, Lambiotte and Lefebvre, 2008). The number of
//! groups follows from the graph. A row with columns of several groups links them. All rows have the same weight for a
//! column, so a long row that links everything counts little against the short rows of a block.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};

/// Columns that a row joins a column with, at most. Longer rows join it with some of theirs, evenly spread.
const MOST_JOINED: usize = 16;

/// Rounds of moves on a level, and of refinement, at most. A few suffice; the rest is for round-off.
const MOST_ROUNDS: usize = 50;

/// Part of all weight that a move has to gain: less is round-off.
const LEAST_GAIN: f64 = 1e-12;

/// Vertices with weighted edges.
struct Graph {
    /// Neighbours of each vertex, with weights.
    edges: Vec<Vec<(usize, f64)>>,
    /// Twice the weight of the edges that contraction has put inside of a vertex.
    inner: Vec<f64>,
}

impl Graph {
    /// The graph of columns, joined by the rows that list them.
    fn of_rows(columns: usize, rows: &[Vec<usize>]) -> Self {
        let mut edges: Vec<Vec<(usize, f64)>> = vec![vec![]; columns];
        for row in rows.iter().filter(|row| row.len() > 1) {
            let length = row.len();
            let joined = (length - 1).min(MOST_JOINED);
            // The columns of the row form a circle. Each is joined with those at some distances after it.
            let weight = 1.0 / joined as f64;
            for (at, &column) in row.iter().enumerate() {
                for step in 1..=joined {
                    let other = row[(at + step * (length - 1) / joined) % length];
                    edges[column].push((other, 0.5 * weight));
                    edges[other].push((column, 0.5 * weight));
                }
            }
        }
        edges.iter_mut().for_each(merge);
        Self { edges, inner: vec![0.0; columns] }
    }

    fn degree(&self, vertex: usize) -> f64 {
        self.inner[vertex] + self.edges[vertex].iter().map(|(_, weight)| weight).sum::<f64>()
    }

    /// The group of each vertex after moves of single vertices, numbered from 0, and whether any was moved.
    fn moved(&self, resolution: f64) -> (Vec<usize>, bool) {
        let degrees: Vec<f64> = (0..self.edges.len()).map(|vertex| self.degree(vertex)).collect();
        let all: f64 = degrees.iter().sum();
        let mut groups: Vec<usize> = (0..self.edges.len()).collect();
        let mut totals = degrees.clone();
        let mut weights = vec![0.0; groups.len()];
        let mut has_moved = false;
        for _ in 0..MOST_ROUNDS {
            let mut is_still = true;
            for vertex in 0..groups.len() {
                let own = groups[vertex];
                totals[own] -= degrees[vertex];
                self.edges[vertex].iter().for_each(|&(other, weight)| weights[groups[other]] += weight);
                let gain = |group: usize| weights[group] - resolution * degrees[vertex] * totals[group] / all;
                let mut best = (gain(own) + LEAST_GAIN * all, own);
                for &(other, _) in &self.edges[vertex] {
                    let group = groups[other];
                    if gain(group) > best.0 {
                        best = (gain(group), group);
                    }
                }
                self.edges[vertex].iter().for_each(|&(other, _)| weights[groups[other]] = 0.0);
                totals[best.1] += degrees[vertex];
                groups[vertex] = best.1;
                is_still &= best.1 == own;
            }
            if is_still {
                break;
            }
            has_moved = true;
        }
        number(&mut groups);
        (groups, has_moved)
    }

    /// The graph of the groups.
    fn contracted(&self, groups: &[usize]) -> Self {
        let count = groups.iter().max().map_or(0, |last| last + 1);
        let mut found = Self { edges: vec![vec![]; count], inner: vec![0.0; count] };
        for (vertex, &group) in groups.iter().enumerate() {
            found.inner[group] += self.inner[vertex];
            for &(other, weight) in &self.edges[vertex] {
                if groups[other] == group {
                    found.inner[group] += weight;
                } else {
                    found.edges[group].push((groups[other], weight));
                }
            }
        }
        found.edges.iter_mut().for_each(merge);
        found
    }
}

/// Adds up the weights of edges to the same vertex.
fn merge(edges: &mut Vec<(usize, f64)>) {
    edges.sort_unstable_by_key(|(other, _)| *other);
    edges.dedup_by(|next, kept| {
        let is_same = next.0 == kept.0;
        if is_same {
            kept.1 += next.1;
        }
        is_same
    });
}

/// Numbers groups from 0, in the order of their first members.
fn number(groups: &mut [usize]) {
    let mut numbers: HashMap<usize, usize> = HashMap::new();
    for group in groups {
        let next = numbers.len();
        *group = *numbers.entry(*group).or_insert(next);
    }
}

/// The group of each column. A greater resolution gives more and smaller groups; 1 is that of modularity.
pub(crate) fn communities(columns: usize, rows: &[Vec<usize>], resolution: f64) -> Vec<usize> {
    let mut graph = Graph::of_rows(columns, rows);
    let mut found: Vec<usize> = (0..columns).collect();
    loop {
        let (groups, has_moved) = graph.moved(resolution);
        if !has_moved {
            break;
        }
        found.iter_mut().for_each(|group| *group = groups[*group]);
        graph = graph.contracted(&groups);
    }
    refine(&mut found, rows);
    join(&mut found, rows);
    found
}

/// Joins groups as long as the entries of rows that link groups, plus those of the largest group, get fewer.
fn join(groups: &mut [usize], rows: &[Vec<usize>]) {
    loop {
        // Entries of the rows of each group, and of the rows that link exactly two of them.
        let (mut inner, mut between): (BTreeMap<usize, usize>, BTreeMap<(usize, usize), usize>) = Default::default();
        for row in rows.iter().filter(|row| !row.is_empty()) {
            let first = groups[row[0]];
            let others = row.iter().map(|&column| groups[column]).filter(|group| *group != first);
            let Some(second) = others.clone().next() else {
                *inner.entry(first).or_default() += row.len();
                continue;
            };
            if others.clone().all(|group| group == second) {
                *between.entry((first.min(second), first.max(second))).or_default() += row.len();
            }
        }
        let size = |group: &usize| inner.get(group).copied().unwrap_or(0);
        let largest = inner.values().copied().max().unwrap_or(0);
        // The joined group has the rows between the two.
        let gain = |(pair, links): (&(usize, usize), &usize)| {
            let joined = size(&pair.0) + size(&pair.1) + links;
            (links.saturating_sub(joined.saturating_sub(largest)), *pair)
        };
        match between.iter().map(gain).max() {
            Some((gain, (kept, gone))) if gain > 0 => {
                groups.iter_mut().filter(|group| **group == gone).for_each(|group| *group = kept);
            }
            _ => return,
        }
    }
}

/// Moves columns to other groups as long as fewer entries are in rows that link groups.
fn refine(groups: &mut [usize], rows: &[Vec<usize>]) {
    let mut rows_of: Vec<Vec<usize>> = vec![vec![]; groups.len()];
    // For each row, how many of its columns each group has.
    let mut counts: Vec<HashMap<usize, usize>> = vec![HashMap::new(); rows.len()];
    for (index, row) in rows.iter().enumerate() {
        for &column in row {
            rows_of[column].push(index);
            *counts[index].entry(groups[column]).or_default() += 1;
        }
    }
    for _ in 0..MOST_ROUNDS {
        let mut is_still = true;
        for (column, own_rows) in rows_of.iter().enumerate() {
            let own = groups[column];
            let Some(best) = better_group(own, own_rows.iter().map(|&row| (&counts[row], rows[row].len()))) else {
                continue;
            };
            for &row in own_rows {
                *counts[row].entry(best).or_default() += 1;
                if let Entry::Occupied(mut count) = counts[row].entry(own) {
                    *count.get_mut() -= 1;
                    if *count.get() == 0 {
                        count.remove();
                    }
                }
            }
            groups[column] = best;
            is_still = false;
        }
        if is_still {
            return;
        }
    }
}

/// The group to which a column of the group `own` has to move so that more entries of its rows are in rows of one group.
/// Rows come with their counts of groups and their lengths.
fn better_group<'a>(own: usize, rows: impl Iterator<Item = (&'a HashMap<usize, usize>, usize)>) -> Option<usize> {
    let (mut gains, mut loss): (BTreeMap<usize, usize>, usize) = (BTreeMap::new(), 0);
    for (counts, length) in rows {
        match counts.len() {
            1 if length > 1 => loss += length,
            // The column is the only one of its group.
            2 if counts.get(&own) == Some(&1) => {
                let other = counts.keys().find(|group| **group != own)?;
                *gains.entry(*other).or_default() += length;
            }
            _ => {}
        }
    }
    let best = gains.into_iter().max_by_key(|(_, gain)| *gain);
    best.filter(|(_, gain)| *gain > loss).map(|(group, _)| group)
}

/// Rows with columns of several groups.
pub(crate) fn links(groups: &[usize], rows: &[Vec<usize>]) -> Vec<usize> {
    let is_link = |row: &Vec<usize>| row.windows(2).any(|pair| groups[pair[0]] != groups[pair[1]]);
    (0..rows.len()).filter(|&row| is_link(&rows[row])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_cliques_and_a_link_are_two_groups() {
        let clique = |first: usize| (first..first + 4).map(move |at| vec![at, first + (at - first + 1) % 4]);
        let mut rows: Vec<Vec<usize>> = clique(0).chain(clique(4)).collect();
        rows.push((0..8).collect());
        let groups = communities(8, &rows, 1.0);
        assert_eq!(groups, [0, 0, 0, 0, 1, 1, 1, 1]);
        assert_eq!(links(&groups, &rows), [8]);
    }

    #[test]
    fn long_rows_join_a_part_of_their_columns() {
        let graph = Graph::of_rows(1000, &[(0..1000).collect()]);
        for edges in &graph.edges {
            assert!(edges.len() <= 2 * MOST_JOINED, "{}", edges.len());
            assert!((edges.iter().map(|(_, weight)| weight).sum::<f64>() - 1.0).abs() < 1e-12);
        }
    }
}
