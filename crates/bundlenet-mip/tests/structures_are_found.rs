//! Structures that are planted in a model, with rows and columns in random order and names that do not tell.

use std::collections::BTreeSet;

use bundlenet::Sense;
use bundlenet_linalg::Stream;
use bundlenet_mip::{Candidate, Column, Model, Row, Structure, candidates, linking_columns};
use bundlenet_testing::{cases, public, stream};

/// Blocks of columns, and the lists of columns of planted rows.
struct Planted {
    columns: usize,
    inner: Vec<Vec<usize>>,
    links: Vec<Vec<usize>>,
    /// Entries of the largest block.
    largest: usize,
}

fn shuffled(stream: &mut Stream, count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    for at in (1..count).rev() {
        order.swap(at, stream.below(at + 1));
    }
    order
}

/// Two to nine connected blocks of 8 to 30 columns, and up to ten rows that link two or more of them.
fn planted(stream: &mut Stream) -> Planted {
    let mut planted = Planted { columns: 0, inner: vec![], links: vec![], largest: 0 };
    let mut ends = vec![0];
    for _ in 0..2 + stream.below(8) {
        let (first, count, rows) = (planted.columns, 8 + stream.below(23), planted.inner.len());
        planted.columns += count;
        ends.push(planted.columns);
        let of_block = |places: &[usize]| places.iter().map(|place| first + place).collect::<Vec<usize>>();
        // Rows that overlap connect the block.
        let order = shuffled(stream, count);
        planted.inner.extend(order.windows(4).step_by(3).map(of_block));
        planted.inner.push(of_block(&[order[0], order[count - 1], order[count - 2], order[count - 3]]));
        for _ in 0..count / 2 {
            let places = shuffled(stream, count);
            planted.inner.push(of_block(&places[..3 + stream.below(4)]));
        }
        planted.largest = planted.largest.max(planted.inner[rows..].iter().map(Vec::len).sum());
    }
    for _ in 0..1 + stream.below(10) {
        let share = 2 + stream.below(9);
        let mut link: BTreeSet<usize> = (0..planted.columns).filter(|_| stream.below(share) == 0).collect();
        // It links two blocks in any case.
        let block = stream.below(ends.len() - 2);
        link.extend([ends[block], ends[block + 1]]);
        planted.links.push(link.into_iter().collect());
    }
    planted
}

/// The model of planted rows, and the rows that link blocks, in the order of the model.
fn model(planted: &Planted, stream: &mut Stream) -> (Model, Vec<usize>) {
    let places = shuffled(stream, planted.columns);
    let all: Vec<&Vec<usize>> = planted.inner.iter().chain(&planted.links).collect();
    let order = shuffled(stream, all.len());
    let column = |at: usize| Column { name: format!("x{at}"), cost: 1.0, lower: 0.0, upper: 3.0, is_integer: true };
    let mut rows = vec![];
    for (at, &index) in order.iter().enumerate() {
        let entries = all[index].iter().map(|&it| (places[it], 1.0 + stream.below(9) as f64)).collect();
        rows.push(Row { name: format!("r{at}"), lower: f64::NEG_INFINITY, upper: 20.0, entries });
    }
    let links = (0..order.len()).filter(|&at| order[at] >= planted.inner.len()).collect();
    let columns = (0..planted.columns).map(column).collect();
    (Model { sense: Sense::Minimize, offset: 0.0, columns, rows }, links)
}

fn relaxed(candidate: &Candidate) -> Vec<usize> {
    candidate.structure().relaxed().collect()
}

fn entries(model: &Model, rows: &[usize]) -> usize {
    rows.iter().map(|&row| model.rows[row].entries.len()).sum()
}

/// The best structure is no worse than the planted one, and equal to it in most cases. A planted structure with many links
/// can have more entries in relaxed rows and in the largest block than another one.
#[test]
fn planted_blocks_are_found() {
    let count = cases(60).cases;
    let mut recovered = 0;
    for case in 0..u64::from(count) {
        let mut stream = stream(case);
        let planted = planted(&mut stream);
        let (model, links) = model(&planted, &mut stream);
        let found = candidates(&model);
        let all = entries(&model, &(0..model.rows.len()).collect::<Vec<usize>>()) as f64;
        let size = (entries(&model, &links) + planted.largest) as f64 / all;
        let best = found[0].relaxed_share + found[0].largest_share;
        assert!(found[0].may_gain && best <= size + 1e-9, "case {case}: {best} {size}");
        recovered += u32::from(relaxed(&found[0]) == links);
        // The pattern says the same.
        let again = Structure::of_pattern(&model, &found[0].pattern).unwrap();
        assert_eq!(&again, found[0].structure(), "case {case}");
    }
    assert!(4 * recovered >= 3 * count, "{recovered} of {count}");
}

/// The transposed structure: columns link blocks. No row can be relaxed for them.
#[test]
fn linking_columns_are_named() {
    let count = cases(40).cases;
    let mut recovered = 0;
    for case in 0..u64::from(count) {
        let mut stream = stream(1000 + case);
        let (transposed, links) = model(&planted(&mut stream), &mut stream);
        let mut rows: Vec<Row> = (0..transposed.columns.len())
            .map(|at| Row { name: format!("r{at}"), lower: f64::NEG_INFINITY, upper: 20.0, entries: vec![] })
            .collect();
        for (column, row) in transposed.rows.iter().enumerate() {
            row.entries.iter().for_each(|&(at, entry)| rows[at].entries.push((column, entry)));
        }
        let column = |row: &Row| Column { name: row.name.clone(), ..transposed.columns[0].clone() };
        let columns = transposed.rows.iter().map(column).collect();
        let model = Model { columns, rows, ..transposed.clone() };
        let found = linking_columns(&model, &candidates(&model));
        let names: Vec<String> = links.iter().map(|&at| transposed.rows[at].name.clone()).collect();
        recovered += u32::from(found.is_some_and(|found| found.names == names));
    }
    assert!(4 * recovered >= 3 * count, "{recovered} of {count}");
}

/// The structure found in a public model relaxes no more entries than that of its file.
#[test]
#[ignore = "needs BUNDLENET_DATA"]
fn public_structures_are_found() {
    for (name, structure) in [
        ("gap8_4.txt.lp.gz", "gap8_4.txt.dec.gz"),
        ("N1C1W4_M.BPP.lp.gz", "N1C1W4_M.BPP.dec.gz"),
        ("TEST0055.lp.gz", "TEST0055.dec.gz"),
        ("p1250-2.lp.gz", "p1250-2.blk.gz"),
        ("noswot.mps.gz", "noswot.dec.gz"),
    ] {
        let folder = public::data().join("blocks");
        let model = Model::read(folder.join(name)).unwrap();
        let of_file: Vec<usize> = Structure::read(&model, folder.join(structure)).unwrap().relaxed().collect();
        let found = candidates(&model);
        let best = &found[0];
        assert!(best.may_gain && best.blocks >= 5, "{name}: {} blocks", best.blocks);
        let most = entries(&model, &of_file);
        assert!(entries(&model, &relaxed(best)) <= most, "{name}: {} relaxed rows", best.relaxed_rows);
    }
}
