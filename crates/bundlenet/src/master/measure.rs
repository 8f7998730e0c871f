//! The time of component masters on synthetic sums, for the bench `components`.

use std::time::Instant;

use bundlenet_linalg::Stream;

use super::caps::Limits;
use super::product::{Accuracy, Effort, ProductMaster};
use super::ways::Way;
use crate::model::{ComponentBundle, SparseCut};
use crate::oracle::{Domain, Patience};

/// Step length, and accuracy as in runs.
const ETA: f64 = 1.0;
const SHARE: f64 = 0.05;

/// A sum of components, all with the same number of cuts.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Number of components, of variables, and of entries of a cut.
    pub components: usize,
    /// Number of variables.
    pub variables: usize,
    /// Number of entries of a cut.
    pub entries: usize,
}

/// Seconds of the masters at some numbers of cuts of each component: by Newton steps, by semismooth Newton steps, and
/// by the way of the default. Each master begins at the weights of the last one, and each component has one new cut.
#[must_use]
pub fn master_seconds(sizes: Sizes, cuts: &[usize]) -> Vec<[f64; 3]> {
    let masters = [Some(Way::Newton), Some(Way::Semismooth), None].map(ProductMaster::forced);
    let columns = masters.map(|master| seconds_of(master, sizes, cuts));
    (0..cuts.len()).map(|row| [columns[0][row], columns[1][row], columns[2][row]]).collect()
}

fn seconds_of(mut master: ProductMaster, sizes: Sizes, cuts: &[usize]) -> Vec<f64> {
    let mut stream = Stream::new(1, "synthetic sum", 0);
    let linear: Vec<f64> = (0..sizes.variables).map(|_| stream.normal()).collect();
    let none = vec![vec![]; sizes.components];
    let mut bundle = ComponentBundle::of_cuts(&vec![0.0; sizes.variables], linear, &none);
    let limits = Limits::new(&Domain::Free, sizes.variables);
    let accuracy = Accuracy { share: SHARE, effort: Effort::Full };
    let mut seconds = vec![];
    for count in 1..=cuts.iter().copied().max().unwrap_or(0) {
        (0..sizes.components).for_each(|component| bundle.insert_cut(component, &random_cut(&mut stream, sizes)));
        let begin = Instant::now();
        master.solve(&mut bundle, &limits, ETA, accuracy, &Patience::default());
        if cuts.contains(&count) {
            seconds.push(begin.elapsed().as_secs_f64());
        }
    }
    seconds
}

fn random_cut(stream: &mut Stream, sizes: Sizes) -> SparseCut {
    let is_in = |stream: &mut Stream| stream.below(sizes.variables) < sizes.entries;
    let coordinates: Vec<u32> = (0..sizes.variables as u32).filter(|_| is_in(stream)).collect();
    let error = stream.normal().abs();
    (coordinates.into_iter().map(|at| (at, stream.normal())).collect(), error)
}
