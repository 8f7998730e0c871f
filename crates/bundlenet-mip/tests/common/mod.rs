//! Random block programs with few solutions, and the truth about them by enumeration.

use bundlenet::Sense;
use bundlenet_linalg::Stream;
use bundlenet_mip::{Blocks, Column, Model, Row, Structure, Watch};

/// A random program: its rows `link` couple the blocks.
pub(crate) struct Case {
    pub(crate) model: Model,
    /// Columns of each block.
    pub(crate) blocks: Vec<Vec<usize>>,
    pub(crate) links: usize,
}

fn whole(stream: &mut Stream, low: i32, high: i32) -> f64 {
    f64::from(low) + stream.below((high - low + 1) as usize) as f64
}

fn column(stream: &mut Stream, name: String) -> Column {
    let lower = whole(stream, -1, 1);
    let upper = lower + whole(stream, 1, 2);
    Column { name, cost: whole(stream, -9, 9), lower, upper, is_integer: true }
}

/// Rows of a block with a known feasible point. A block without rows is one block for each column.
fn block_rows(stream: &mut Stream, columns: &[usize], inside: &[f64], name: &str) -> Vec<Row> {
    let count = [0, 1, 1, 1, 2, 3][stream.below(6)];
    let row = |(at, stream): (usize, &mut Stream)| {
        let entries: Vec<(usize, f64)> = columns
            .iter()
            .map(|&column| {
                let size = whole(stream, 1, 7);
                (column, if stream.below(4) == 0 { -size } else { size })
            })
            .collect();
        let activity: f64 = entries.iter().zip(inside).map(|((_, entry), value)| entry * value).sum();
        let (low, high) = (activity - whole(stream, 0, 3), activity + whole(stream, 0, 3));
        let (lower, upper) = match stream.below(5) {
            0 => (low, f64::INFINITY),
            1 => (low, high),
            2 => (activity, activity),
            _ => (f64::NEG_INFINITY, high),
        };
        Row { name: format!("{name}_{at}"), lower, upper, entries }
    };
    (0..count).map(|at| row((at, stream))).collect()
}

/// A random program that has a solution. Some blocks are copies of others.
pub(crate) fn random_case(stream: &mut Stream) -> Case {
    let mut model = Model {
        sense: if stream.below(2) == 0 { Sense::Minimize } else { Sense::Maximize },
        offset: [0.0, 3.5][stream.below(2)],
        columns: vec![],
        rows: vec![],
    };
    let (mut blocks, mut inside): (Vec<Vec<usize>>, Vec<f64>) = (vec![], vec![]);
    let mut couplings: Vec<Vec<f64>> = vec![];
    let links = 1 + stream.below(3);
    for block in 0..1 + stream.below(3) {
        let (first, rows) = (model.columns.len(), model.rows.len());
        let count = 1 + stream.below(4);
        for at in 0..count {
            model.columns.push(column(stream, format!("x{block}_{at}")));
            let it = &model.columns[first + at];
            let range = (it.upper - it.lower) as i32;
            inside.push(it.lower + whole(stream, 0, range));
            couplings.push((0..links).map(|_| whole(stream, -2, 3)).collect());
        }
        let columns: Vec<usize> = (first..first + count).collect();
        model.rows.extend(block_rows(stream, &columns, &inside[first..], &format!("block{block}")));
        blocks.push(columns.clone());
        for copy in 0..[0, 0, 1, 2][stream.below(4)] {
            let base = model.columns.len();
            for &column in &columns {
                let name = format!("{}_copy{copy}", model.columns[column].name);
                model.columns.push(Column { name, ..model.columns[column].clone() });
                inside.push(inside[column]);
                couplings.push(couplings[column].clone());
            }
            let range = rows..rows + model.rows[rows..].iter().filter(|row| !row.name.contains("copy")).count();
            let originals = model.rows[range].to_vec();
            for row in originals {
                let entries = row.entries.iter().map(|&(column, entry)| (base + column - first, entry)).collect();
                model.rows.push(Row { name: format!("{}_copy{copy}", row.name), entries, ..row });
            }
            blocks.push((base..model.columns.len()).collect());
        }
    }
    if stream.below(4) == 0 {
        model.rows.push(Row { name: "block_empty".into(), lower: -1.0, upper: 0.0, entries: vec![] });
    }
    let coupling = |column: usize, link: usize| couplings[column][link];
    for link in 0..links {
        let entries: Vec<(usize, f64)> = (0..model.columns.len())
            .map(|column| (column, coupling(column, link)))
            .filter(|(_, entry)| *entry != 0.0)
            .collect();
        let activity: f64 = entries.iter().map(|&(column, entry)| entry * inside[column]).sum();
        let (lower, upper) = match stream.below(4) {
            0 => (activity, activity),
            1 => (activity - whole(stream, 0, 2), f64::INFINITY),
            2 => (f64::NEG_INFINITY, activity + whole(stream, 0, 2)),
            _ => (activity - whole(stream, 0, 2), activity + whole(stream, 1, 2)),
        };
        model.rows.push(Row { name: format!("link{link}"), lower, upper, entries });
    }
    Case { model, blocks, links }
}

impl Case {
    pub(crate) fn structure(&self) -> Structure {
        Structure::of_pattern(&self.model, "^link").unwrap()
    }

    /// All points of a block.
    pub(crate) fn points(&self, block: usize) -> Vec<Vec<f64>> {
        let columns = &self.blocks[block];
        let mut points: Vec<Vec<f64>> = vec![vec![]];
        for &column in columns {
            let it = &self.model.columns[column];
            let values = 0..=(it.upper - it.lower) as i32;
            let with = |point: &Vec<f64>, value: i32| [&point[..], &[it.lower + f64::from(value)]].concat();
            points = points.iter().flat_map(|point| values.clone().map(move |value| with(point, value))).collect();
        }
        let own = self.model.rows.iter().filter(|row| row.name.starts_with("block"));
        let own: Vec<&Row> = own.filter(|row| row.entries.iter().all(|(column, _)| columns.contains(column))).collect();
        points.retain(|point| {
            own.iter().all(|row| {
                let terms = row.entries.iter().map(|(column, entry)| entry * point[column - columns[0]]);
                let activity: f64 = terms.sum();
                (row.lower..=row.upper).contains(&activity)
            })
        });
        points
    }

    /// The Dantzig-Wolfe program: a weight for each point of each block. Its linear relaxation has the value of the
    /// dual, its whole solutions that of the program.
    pub(crate) fn dantzig_wolfe(&self) -> Model {
        let links = &self.model.rows[self.model.rows.len() - self.links..];
        let mut program =
            Model { sense: self.model.sense, offset: self.model.offset, columns: vec![], rows: links.to_vec() };
        program.rows.iter_mut().for_each(|row| row.entries.clear());
        for (block, columns) in self.blocks.iter().enumerate() {
            let mut entries = vec![];
            for point in self.points(block) {
                let at = program.columns.len();
                let of = |row: &Row| -> f64 {
                    let own = row.entries.iter().filter(|(column, _)| columns.contains(column));
                    own.map(|(column, entry)| entry * point[column - columns[0]]).sum()
                };
                let cost =
                    columns.iter().zip(&point).map(|(&column, value)| self.model.columns[column].cost * value).sum();
                program.columns.push(Column { name: format!("w{at}"), cost, lower: 0.0, upper: 1.0, is_integer: true });
                for (row, link) in program.rows.iter_mut().zip(links) {
                    row.entries.push((at, of(link)));
                }
                entries.push((at, 1.0));
            }
            program.rows.push(Row { name: format!("sum{block}"), lower: 1.0, upper: 1.0, entries });
        }
        program
    }

    /// The value of the dual, by HiGHS on the Dantzig-Wolfe program.
    pub(crate) fn dual_value(&self) -> f64 {
        let program = self.dantzig_wolfe();
        let structure = Structure::of_pattern(&program, "^link").unwrap();
        let relaxation = Blocks::new(program, &structure).unwrap().relaxation(Watch::default()).unwrap();
        relaxation.unwrap().bound
    }

    /// The optimal value, by enumeration of all combinations of points.
    pub(crate) fn optimum(&self) -> Option<f64> {
        let program = self.dantzig_wolfe();
        let mut partial: Vec<(f64, Vec<f64>)> = vec![(program.offset, vec![0.0; self.links])];
        for sum in &program.rows[self.links..] {
            let chosen = |(cost, activities): &(f64, Vec<f64>)| -> Vec<(f64, Vec<f64>)> {
                let with = |&(at, _): &(usize, f64)| {
                    let added = (0..self.links).map(|link| {
                        let entry = program.rows[link].entries.iter().find(|(column, _)| *column == at);
                        activities[link] + entry.map_or(0.0, |(_, entry)| *entry)
                    });
                    (cost + program.columns[at].cost, added.collect())
                };
                sum.entries.iter().map(with).collect()
            };
            partial = partial.iter().flat_map(chosen).collect();
            let sign = self.model.sense.sign();
            partial.sort_by(|a, b| {
                let order = a.1.iter().zip(&b.1).map(|(a, b)| a.total_cmp(b)).find(|order| order.is_ne());
                order.unwrap_or(std::cmp::Ordering::Equal).then((sign * a.0).total_cmp(&(sign * b.0)))
            });
            partial.dedup_by(|next, kept| next.1 == kept.1);
        }
        let sign = self.model.sense.sign();
        let feasible = partial.into_iter().filter(|(_, activities)| {
            program.rows[..self.links].iter().zip(activities).all(|(row, &at)| (row.lower..=row.upper).contains(&at))
        });
        feasible.map(|(cost, _)| sign * cost).min_by(f64::total_cmp).map(|cost| sign * cost)
    }
}
