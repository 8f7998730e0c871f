//! Cholesky factorisation of dense symmetric positive definite matrices.
//!
//! The algorithm is right-looking: it factors panels of `PANEL` columns from left to right and subtracts the products
//! of each panel from the matrix right of it. A panel is copied to strips of eight rows, stored column by column, so
//! that eight rows are computed at once. The same strips are the left and the right operand of the products. Every
//! instruction set with fused multiplication does the same operations in the same order, so the factor is the same to
//! the last bit.
//!
//! Zeros left of the first other entry of a row stay zeros. Strips that are zero in a whole panel take no part in it: a
//! matrix with a narrow band, or with few long rows, takes far less work than a full one.

use crate::simd::{Block, LANES, Lanes, blocks_for, flat, flat_mut, multiversion};

/// Columns of a panel; a multiple of [`LANES`]. Four strips fit into the first-level cache.
const PANEL: usize = 128;

/// Blocks of new memory between two questions.
const NEW_BLOCKS: usize = 1 << 14;

/// Right strips whose products are subtracted at once, where there are enough registers for the sums.
const WIDE: usize = 3;

/// Diagonal entry of the factor in the place of a pivot that is not positive. Division by it gives nearly zero, and its
/// square is still finite.
const LEFT_OUT: f64 = 1e64;

/// Asked in a long computation: whether it has to end. The argument is the number of products until the next question.
pub type IsOver<'a> = &'a dyn Fn(usize) -> bool;

/// The lower triangle of a symmetric matrix; after [`Self::factor`], of its Cholesky factor.
///
/// Rows are padded to whole blocks, and the number of rows to whole strips.
#[derive(Clone, Debug, Default)]
pub struct Cholesky {
    size: usize,
    /// Number of rows of the positive definite block, after a factorisation.
    positive: usize,
    /// Blocks from one row to the next.
    stride: usize,
    entries: Vec<Block>,
    strips: Vec<Block>,
    /// First block of each strip of eight rows that is not zero, after a factorisation.
    starts: Vec<usize>,
    /// Strips of eight rows that take part in a panel.
    places: Vec<usize>,
}

impl Cholesky {
    /// Sets a zero matrix of the given size. Memory is kept from call to call. `None` if `is_over` ends it before; the
    /// matrix is then empty.
    pub fn reset(&mut self, size: usize, is_over: IsOver<'_>) -> Option<()> {
        let strips = blocks_for(size);
        self.size = 0;
        // An odd stride spreads the blocks of a column over the sets of a cache.
        self.stride = strips | 1;
        let needed = strips * LANES * self.stride;
        if self.entries.capacity() < needed {
            // Old numbers are not copied.
            let capacity = needed.max(2 * self.entries.capacity());
            self.entries = vec![];
            self.entries.reserve_exact(capacity);
        }
        // The system hands out new memory page by page. That takes as long as a part of the factorisation.
        while self.entries.len() < needed {
            let more = (needed - self.entries.len()).min(NEW_BLOCKS);
            self.entries.resize(self.entries.len() + more, Block::splat(0.0));
            if is_over(more * LANES * LANES) {
                return None;
            }
        }
        // Blocks right of the diagonal block are not cleared: they never affect the others.
        for (row, blocks) in self.entries[..needed].chunks_exact_mut(self.stride.max(1)).enumerate() {
            blocks[..=row / LANES].fill(Block::splat(0.0));
            if is_over(row) {
                return None;
            }
        }
        self.size = size;
        let needed = strips * (strips * LANES).min(PANEL);
        if self.strips.len() < needed {
            self.strips.resize(needed, Block::splat(0.0));
        }
        Some(())
    }

    /// A row of the lower triangle; its last entry is the diagonal one.
    pub fn row_mut(&mut self, row: usize) -> &mut [f64] {
        &mut flat_mut(&mut self.entries[row * self.stride..(row + 1) * self.stride])[..=row]
    }

    /// Two rows of the matrix, the first above the second, as blocks. Blocks right of a row's diagonal may hold anything.
    pub fn two_rows_mut(&mut self, first: usize, second: usize) -> (&mut [Block], &mut [Block]) {
        let (above, below) = self.entries.split_at_mut(second * self.stride);
        (&mut above[first * self.stride..(first + 1) * self.stride], &mut below[..self.stride])
    }

    /// The diagonal entry of a row.
    pub fn diagonal(&self, row: usize) -> f64 {
        flat(&self.entries[row * self.stride..(row + 1) * self.stride])[row]
    }

    /// Subtracts `B B'` from the matrix. `B` has as many rows as the matrix. `None` if `is_over` ends it before.
    pub fn subtract_products(&mut self, strips: &Strips, is_over: IsOver<'_>) -> Option<()> {
        if strips.width == 0 || self.size == 0 {
            return Some(());
        }
        self.places.clear();
        self.places.extend(0..blocks_for(self.size));
        subtract_products(&mut self.entries, self.stride, (&strips.entries, strips.width), &self.places, is_over)
    }

    /// Replaces the matrix by its factor. A pivot that is not above `least` is replaced by a huge number: its unknown
    /// is then nearly zero, and the other unknowns are those of the system without its row and column. Returns the
    /// number of replaced pivots.
    ///
    /// A large factorisation asks `is_over` many times. If the answer is true it ends with `None`; the matrix is
    /// then of no use.
    pub fn factor(&mut self, least: f64, is_over: IsOver<'_>) -> Option<usize> {
        self.factor_quasidefinite(self.size, least, is_over)
    }

    /// As [`Self::factor`], for a symmetric quasi-definite matrix: its first `positive` rows and columns are a positive
    /// definite block, the others a negative definite one. The factor is `L D L'`, where `D` has the signs of the two
    /// blocks. `positive` is a multiple of [`LANES`].
    pub fn factor_quasidefinite(&mut self, positive: usize, least: f64, is_over: IsOver<'_>) -> Option<usize> {
        debug_assert!(positive.is_multiple_of(LANES) || positive == self.size);
        self.positive = positive;
        self.find_starts();
        factor(self, least.max(f64::MIN_POSITIVE), is_over)
    }

    /// Finds the first block of each strip that is not zero.
    fn find_starts(&mut self) {
        self.starts.clear();
        for (strip, rows) in
            self.entries.chunks_exact(LANES * self.stride.max(1)).enumerate().take(blocks_for(self.size))
        {
            let is_zero = |at: &usize| rows[*at..].iter().step_by(self.stride).all(|block| block.0 == [0.0; LANES]);
            self.starts.push((0..strip).take_while(is_zero).count());
        }
    }

    /// Solves the system for one right-hand side, in place.
    pub fn solve(&self, right: &mut [f64]) {
        solve_lower(&self.entries, self.stride, &self.starts, &mut right[..self.size]);
        right[self.positive..self.size].iter_mut().for_each(|entry| *entry = -*entry);
        solve_upper(&self.entries, self.stride, &self.starts, &mut right[..self.size]);
    }
}

/// Columns of a tall matrix, in strips of eight rows.
#[derive(Clone, Debug, Default)]
pub struct Strips {
    width: usize,
    entries: Vec<Block>,
}

impl Strips {
    /// Largest number of columns.
    pub const MOST: usize = PANEL;

    /// Sets a zero matrix. Memory is kept from call to call.
    pub fn reset(&mut self, size: usize, width: usize) {
        self.width = width.min(Self::MOST);
        self.entries.clear();
        self.entries.resize(blocks_for(size) * self.width, Block::splat(0.0));
    }

    /// Sets all entries of a column.
    pub fn set_column(&mut self, column: usize, numbers: &[f64]) {
        let (eights, rest) = numbers.as_chunks::<LANES>();
        let blocks = self.entries.chunks_exact_mut(self.width.max(1));
        for (at, strip) in blocks.enumerate() {
            match eights.get(at) {
                Some(eight) => strip[column].0 = *eight,
                None => strip[column].0[..rest.len()].copy_from_slice(rest),
            }
        }
    }
}

multiversion! {
    fn subtract_products(
        entries: &mut [Block],
        stride: usize,
        strips: (&[Block], usize),
        places: &[usize],
        is_over: IsOver<'_>,
    ) -> Option<()> = update;
}

multiversion! {
    fn factor(matrix: &mut Cholesky, least: f64, is_over: IsOver<'_>) -> Option<usize> = factor_kernel;
}

multiversion! {
    fn solve_lower(entries: &[Block], stride: usize, starts: &[usize], vector: &mut [f64]) = solve_lower_kernel;
}

multiversion! {
    fn solve_upper(entries: &[Block], stride: usize, starts: &[usize], vector: &mut [f64]) = solve_upper_kernel;
}

#[inline(always)]
fn factor_kernel<L: Lanes>(matrix: &mut Cholesky, least: f64, is_over: IsOver<'_>) -> Option<usize> {
    let Cholesky { size, positive, stride, ref mut entries, ref mut strips, ref starts, ref mut places } = *matrix;
    let mut left_out = 0;
    let mut next = 0;
    while next < size {
        let from = next;
        if from == positive {
            negate::<L>(&mut entries[from * stride..], stride, from / LANES);
        }
        let end = if from < positive { positive } else { size };
        let width = (end - from).next_multiple_of(LANES).min(PANEL);
        next += width;
        // Strips above the panel are already factored.
        let (first, after) = (from / LANES, next / LANES);
        places.clear();
        places.extend((first..blocks_for(size)).filter(|strip| starts[*strip] < after));
        let strips = &mut strips[..places.len() * width];
        for (strip, place) in strips.chunks_exact_mut(width).zip(&*places) {
            transpose_in::<L>(strip, &entries[place * LANES * stride..], stride, first);
        }
        left_out += factor_panel::<L>(strips, width, size - from, least);
        for (strip, place) in strips.chunks_exact(width).zip(&*places) {
            transpose_out::<L>(strip, &mut entries[place * LANES * stride..], stride, first);
        }
        let corner = (width / LANES).min(places.len());
        update::<L>(entries, stride, (&strips[corner * width..], width), &places[corner..], is_over)?;
    }
    Some(left_out)
}

/// Changes the signs of the lower triangle of the rows, from block `first` on.
#[inline(always)]
fn negate<L: Lanes>(rows: &mut [Block], stride: usize, first: usize) {
    for (row, blocks) in rows.chunks_exact_mut(stride).enumerate() {
        blocks[first..=first + row / LANES].iter_mut().for_each(|block| L::splat(0.0).sub(L::load(block)).store(block));
    }
}

/// Copies a strip from rows to columns.
#[inline(always)]
fn transpose_in<L: Lanes>(strip: &mut [Block], rows: &[Block], stride: usize, first: usize) {
    for (at, columns) in strip.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
        let row = |row: usize| L::load(&rows[row * stride + first + at]);
        let transposed = L::transpose([row(0), row(1), row(2), row(3), row(4), row(5), row(6), row(7)]);
        for (column, numbers) in columns.iter_mut().zip(transposed) {
            numbers.store(column);
        }
    }
}

/// Copies a strip back from columns to rows.
#[inline(always)]
fn transpose_out<L: Lanes>(strip: &[Block], rows: &mut [Block], stride: usize, first: usize) {
    for (at, columns) in strip.as_chunks::<LANES>().0.iter().enumerate() {
        let column = |column: usize| L::load(&columns[column]);
        let columns = [column(0), column(1), column(2), column(3), column(4), column(5), column(6), column(7)];
        for (row, numbers) in L::transpose(columns).into_iter().enumerate() {
            numbers.store(&mut rows[row * stride + first + at]);
        }
    }
}

/// Factors the strips of a panel that begins on the diagonal. Its first `rows` rows belong to the matrix, the others
/// pad.
#[inline(always)]
fn factor_panel<L: Lanes>(strips: &mut [Block], width: usize, rows: usize, least: f64) -> usize {
    let mut left_out = 0;
    // Inverses of the diagonal entries.
    let mut inverses = [[0.0; LANES]; PANEL / LANES];
    for index in 0..strips.len() / width {
        let (above, rest) = strips.split_at_mut(index * width);
        let strip = &mut rest[..width];
        let corners = above.chunks_exact(width).take(width / LANES);
        for (step, (corner, inverses)) in corners.zip(&inverses).enumerate() {
            let (done, block) = split(strip, step);
            let (left, corner) = corner.split_at(step * LANES);
            subtract::<L, 1>(left, [done], block, 1);
            divide::<L>(block, corner, inverses);
        }
        if let Some(inverses) = inverses[..width / LANES].get_mut(index) {
            let (done, block) = split(strip, index);
            subtract::<L, 1>(done, [done], block, 1);
            left_out += factor_block::<L>(block, inverses, least, rows - index * LANES);
        }
    }
    left_out
}

/// The columns of a strip before a step, and the eight columns of the step.
#[inline(always)]
fn split(strip: &mut [Block], step: usize) -> (&[Block], &mut [Block]) {
    let (done, rest) = strip.split_at_mut(step * LANES);
    (done, &mut rest[..LANES])
}

/// Factors a diagonal block. At most `count` of its columns belong to the matrix.
#[inline(always)]
fn factor_block<L: Lanes>(block: &mut [Block], inverses: &mut [f64; LANES], least: f64, count: usize) -> usize {
    let block = &mut block[..LANES];
    let mut columns = [L::splat(0.0); LANES];
    for column in 0..LANES {
        columns[column] = L::load(&block[column]);
    }
    // Written out: the compiler would not unroll a loop, and would keep the columns in memory.
    let pivots = [
        eliminate::<L, 0>(&mut columns, least),
        eliminate::<L, 1>(&mut columns, least),
        eliminate::<L, 2>(&mut columns, least),
        eliminate::<L, 3>(&mut columns, least),
        eliminate::<L, 4>(&mut columns, least),
        eliminate::<L, 5>(&mut columns, least),
        eliminate::<L, 6>(&mut columns, least),
        eliminate::<L, 7>(&mut columns, least),
    ];
    for column in 0..LANES {
        let root = pivots[column].sqrt();
        inverses[column] = 1.0 / root;
        columns[column].mul(L::splat(inverses[column])).store(&mut block[column]);
        block[column].0[column] = root;
    }
    pivots.iter().take(count).filter(|pivot| **pivot == LEFT_OUT * LEFT_OUT).count()
}

/// Subtracts the multiples of a column of a diagonal block from the columns right of it. Returns the pivot. Its root is
/// taken later, so that the next pivot does not wait for it.
#[inline(always)]
fn eliminate<L: Lanes, const COLUMN: usize>(columns: &mut [L; LANES], least: f64) -> f64 {
    let numbers = columns[COLUMN].block().0;
    // NaN is replaced as well.
    let pivot = if numbers[COLUMN] > least { numbers[COLUMN] } else { LEFT_OUT * LEFT_OUT };
    let inverse = L::splat(1.0 / pivot);
    for later in COLUMN + 1..LANES {
        let factor = L::splat(numbers[later]).mul(inverse);
        columns[later] = columns[later].sub(columns[COLUMN].mul(factor));
    }
    pivot
}

/// Solves for a block below the diagonal block `corner`.
#[inline(always)]
#[expect(clippy::needless_range_loop, reason = "through an iterator the columns would not stay in registers")]
fn divide<L: Lanes>(block: &mut [Block], corner: &[Block], inverses: &[f64; LANES]) {
    let (block, corner) = (&mut block[..LANES], &corner[..LANES]);
    let mut columns = [L::splat(0.0); LANES];
    for column in 0..LANES {
        columns[column] = L::load(&block[column]);
    }
    for column in 0..LANES {
        let solved = columns[column].mul(L::splat(inverses[column]));
        solved.store(&mut block[column]);
        for later in column + 1..LANES {
            columns[later] = columns[later].sub(solved.mul(L::splat(corner[column].0[later])));
        }
    }
}

/// Subtracts the products of a left strip with right strips from the first blocks of each row.
#[inline(always)]
fn subtract<L: Lanes, const WIDE: usize>(left: &[Block], right: [&[Block]; WIDE], rows: &mut [Block], stride: usize) {
    // As many rows at once as the registers hold sums.
    if L::REGISTERS >= 32 {
        subtract_rows::<L, WIDE, 0, 8>(left, right, rows, stride);
    } else if L::REGISTERS >= 8 {
        subtract_rows::<L, WIDE, 0, 4>(left, right, rows, stride);
        subtract_rows::<L, WIDE, 4, 4>(left, right, rows, stride);
    } else {
        subtract_rows::<L, WIDE, 0, 2>(left, right, rows, stride);
        subtract_rows::<L, WIDE, 2, 2>(left, right, rows, stride);
        subtract_rows::<L, WIDE, 4, 2>(left, right, rows, stride);
        subtract_rows::<L, WIDE, 6, 2>(left, right, rows, stride);
    }
}

/// [`subtract`] for `COUNT` rows of the left strip.
#[inline(always)]
fn subtract_rows<L: Lanes, const WIDE: usize, const FIRST: usize, const COUNT: usize>(
    left: &[Block],
    right: [&[Block]; WIDE],
    rows: &mut [Block],
    stride: usize,
) {
    let rows = &mut rows[FIRST * stride..];
    let right = right.map(|strip| &strip[..left.len()]);
    let mut tile = [[L::splat(0.0); WIDE]; COUNT];
    for row in 0..COUNT {
        for at in 0..WIDE {
            tile[row][at] = L::load(&rows[row * stride + at]);
        }
    }
    for (column, left) in left.iter().enumerate() {
        let mut numbers = [L::splat(0.0); WIDE];
        for at in 0..WIDE {
            numbers[at] = L::load(&right[at][column]);
        }
        for (sums, factor) in tile.iter_mut().zip(&left.0[FIRST..]) {
            let factor = L::splat(*factor);
            for at in 0..WIDE {
                sums[at] = sums[at].sub_product(numbers[at], factor);
            }
        }
    }
    for row in 0..COUNT {
        for at in 0..WIDE {
            tile[row][at].store(&mut rows[row * stride + at]);
        }
    }
}

/// Subtracts the products of the strips below a panel from the lower triangle right of it. `places` are the places of
/// the strips among all strips of the matrix. `None` if it had to end.
#[inline(always)]
fn update<L: Lanes>(
    entries: &mut [Block],
    stride: usize,
    (strips, width): (&[Block], usize),
    places: &[usize],
    is_over: IsOver<'_>,
) -> Option<()> {
    let strip = |index: usize| &strips[index * width..(index + 1) * width];
    // The right strips stay in the first-level cache while all left strips are read.
    let mut at = 0;
    while at < places.len() {
        let is_wide = L::REGISTERS >= 32 && places.get(at + WIDE - 1) == Some(&(places[at] + WIDE - 1));
        let together = if is_wide { WIDE } else { 1 };
        if is_over(LANES * LANES * width * together * (places.len() - at)) {
            return None;
        }
        for (below, place) in places.iter().enumerate().skip(at) {
            let rows = &mut entries[place * LANES * stride + places[at]..];
            if is_wide {
                // Some of these blocks are right of the diagonal. They may hold anything.
                subtract::<L, WIDE>(strip(below), [strip(at), strip(at + 1), strip(at + 2)], rows, stride);
            } else {
                subtract::<L, 1>(strip(below), [strip(at)], rows, stride);
            }
        }
        at += together;
    }
    Some(())
}

#[inline(always)]
fn solve_lower_kernel<L: Lanes>(entries: &[Block], stride: usize, starts: &[usize], vector: &mut [f64]) {
    for ((index, rows), &start) in entries.chunks_exact(LANES * stride.max(1)).enumerate().zip(starts) {
        let (known, rest) = vector.split_at_mut(index * LANES);
        let known = &known.as_chunks::<LANES>().0[start..];
        let mut products = [0.0; LANES];
        // Four rows at a time share the loads of the vector.
        for (rows, products) in rows.chunks_exact(4 * stride).zip(products.as_chunks_mut::<4>().0) {
            let row = |index: usize| &rows[index * stride + start..][..known.len()];
            let [a, b, c, d] = [row(0), row(1), row(2), row(3)];
            let mut sums = [L::splat(0.0); 4];
            for (at, numbers) in known.iter().enumerate() {
                let numbers = L::load_array(numbers);
                sums[0] = sums[0].add(L::load(&a[at]).mul(numbers));
                sums[1] = sums[1].add(L::load(&b[at]).mul(numbers));
                sums[2] = sums[2].add(L::load(&c[at]).mul(numbers));
                sums[3] = sums[3].add(L::load(&d[at]).mul(numbers));
            }
            *products = [sums[0].sum(), sums[1].sum(), sums[2].sum(), sums[3].sum()];
        }
        let count = rest.len().min(LANES);
        for row in 0..count {
            let factor = &rows[row * stride + index].0;
            let mut number = rest[row] - products[row];
            for column in 0..row {
                number -= factor[column] * rest[column];
            }
            rest[row] = number / factor[row];
        }
    }
}

#[inline(always)]
fn solve_upper_kernel<L: Lanes>(entries: &[Block], stride: usize, starts: &[usize], vector: &mut [f64]) {
    for (index, &start) in starts.iter().enumerate().rev() {
        let rows = &entries[index * LANES * stride..(index + 1) * LANES * stride];
        let (open, rest) = vector.split_at_mut(index * LANES);
        let count = rest.len().min(LANES);
        // Rows beyond the matrix are not used.
        let mut solved = [0.0; LANES];
        for row in (0..count).rev() {
            let factor = &rows[row * stride + index].0;
            solved[row] = rest[row] / factor[row];
            rest[row] = solved[row];
            for column in 0..row {
                rest[column] -= factor[column] * solved[row];
            }
        }
        let row = |row: usize| &rows[row * stride + start..][..index - start];
        let [a, b, c, d, e, f, g, h] = [row(0), row(1), row(2), row(3), row(4), row(5), row(6), row(7)];
        let [wa, wb, wc, wd] = [solved[0], solved[1], solved[2], solved[3]];
        let [we, wf, wg, wh] = [solved[4], solved[5], solved[6], solved[7]];
        for (at, numbers) in open.as_chunks_mut::<LANES>().0[start..].iter_mut().enumerate() {
            let term = |row: &[Block], weight: f64| L::load(&row[at]).mul(L::splat(weight));
            let lanes = L::load_array(numbers).sub(term(a, wa)).sub(term(b, wb)).sub(term(c, wc)).sub(term(d, wd));
            let lanes = lanes.sub(term(e, we)).sub(term(f, wf)).sub(term(g, wg)).sub(term(h, wh));
            *numbers = lanes.block().0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stream;
    use crate::simd::Portable;

    #[inline(always)]
    fn factor_and_solve<L: Lanes>(cholesky: &mut Cholesky, vector: &mut [f64]) {
        cholesky.positive = cholesky.size;
        cholesky.find_starts();
        factor_kernel::<L>(cholesky, 1e-9, &|_| false);
        let Cholesky { stride, entries, starts, .. } = cholesky;
        solve_lower_kernel::<L>(entries, *stride, starts, vector);
        solve_upper_kernel::<L>(entries, *stride, starts, vector);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    fn factor_and_solve_avx2(cholesky: &mut Cholesky, vector: &mut [f64]) {
        factor_and_solve::<crate::simd::Avx2>(cholesky, vector);
    }

    /// A random matrix that is positive definite because its diagonal is large.
    fn fill(cholesky: &mut Cholesky, size: usize) {
        let mut stream = Stream::new(5, "matrix", 0);
        cholesky.reset(size, &|_| false);
        for row in 0..size {
            let entries = cholesky.row_mut(row);
            entries.iter_mut().for_each(|entry| *entry = stream.symmetric());
            entries[row] = size as f64 + 1.0;
        }
    }

    #[test]
    fn zeros_left_of_the_rows_are_skipped() {
        let mut stream = Stream::new(6, "profile", 0);
        for (size, band) in [(40, 3), (300, 20), (700, 9), (700, 200)] {
            let wanted: Vec<f64> = (0..size).map(|_| stream.symmetric()).collect();
            let (mut found, mut cholesky) = (vec![0.0; size], Cholesky::default());
            cholesky.reset(size, &|_| false);
            for row in 0..size {
                // Every fiftieth row is long.
                let start = if row % 50 == 49 { 0 } else { row - row.min(band) };
                for (column, entry) in cholesky.row_mut(row).iter_mut().enumerate().skip(start) {
                    *entry = if column == row { size as f64 } else { stream.symmetric() };
                    found[row] += *entry * wanted[column];
                    found[column] += if column == row { 0.0 } else { *entry * wanted[row] };
                }
            }
            assert_eq!(cholesky.factor(1e-9, &|_| false), Some(0));
            cholesky.solve(&mut found);
            assert!(cholesky.starts.iter().any(|start| *start > 0));
            wanted.iter().zip(&found).for_each(|(a, b)| assert!((a - b).abs() < 1e-12, "{a} {b}"));
        }
    }

    #[test]
    fn every_instruction_set_gives_the_same() {
        let mut cholesky = Cholesky::default();
        for size in [1, 7, 8, 9, 65, 128, 129, 300] {
            let mut results = |run: &dyn Fn(&mut Cholesky, &mut [f64])| {
                fill(&mut cholesky, size);
                let mut vector = vec![1.0; size];
                run(&mut cholesky, &mut vector);
                ((0..size).map(|row| cholesky.row_mut(row).to_vec()).collect::<Vec<_>>(), vector)
            };
            let best = results(&|cholesky, vector| {
                cholesky.factor(1e-9, &|_| false);
                cholesky.solve(vector);
            });
            // Without fused multiplication the products are rounded.
            let (factor, vector) = results(&factor_and_solve::<Portable>);
            let pairs = factor.iter().flatten().zip(best.0.iter().flatten()).chain(vector.iter().zip(&best.1));
            pairs.for_each(|(one, other)| assert!((one - other).abs() <= 1e-13 * size as f64, "{one} {other}"));
            // AVX2 is checked even if the machine has AVX-512.
            #[cfg(target_arch = "x86_64")]
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                // SAFETY: the machine has the instructions.
                assert_eq!(best, results(&|cholesky, vector| unsafe { factor_and_solve_avx2(cholesky, vector) }));
            }
        }
    }
}
