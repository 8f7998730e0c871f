//! Blocks of eight numbers are one slice of numbers.

use bundlenet_linalg::simd::{Block, blocks_for, flat, flat_mut};

#[test]
fn blocks_are_flat() {
    let mut blocks = [Block([3.0, -1.0, 4.0, 1.0, -5.0, 9.0, 2.0, 6.0]), Block::splat(0.0)];
    flat_mut(&mut blocks)[8] = 7.0;
    assert_eq!(flat(&blocks)[5..10], [9.0, 2.0, 6.0, 7.0, 0.0]);
    assert_eq!((blocks_for(0), blocks_for(8), blocks_for(9)), (0, 1, 2));
}
