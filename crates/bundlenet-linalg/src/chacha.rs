//! The ChaCha generator with 8 rounds: a counter of 64 bits and a stream number of 64 bits, as D. J. Bernstein
//! specified it.

/// Words of a block.
const WORDS: usize = 16;
/// The words of "expand 32-byte k".
const CONSTANTS: [u32; 4] = [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574];
/// Each double round mixes the four columns, then the four diagonals.
const DOUBLE_ROUNDS: usize = 4;
const QUARTERS: [[usize; 4]; 8] = [
    [0, 4, 8, 12],
    [1, 5, 9, 13],
    [2, 6, 10, 14],
    [3, 7, 11, 15],
    [0, 5, 10, 15],
    [1, 6, 11, 12],
    [2, 7, 8, 13],
    [3, 4, 9, 14],
];

/// A stream of random words.
pub(crate) struct ChaCha8 {
    /// Constants, key, number of the next block, number of the stream.
    input: [u32; WORDS],
    block: [u32; WORDS],
    /// Words of the block that were used.
    used: usize,
}

impl ChaCha8 {
    pub(crate) fn new(key: [u8; 32], stream: u64) -> Self {
        let mut input = [0; WORDS];
        input[..4].copy_from_slice(&CONSTANTS);
        for (word, bytes) in input[4..12].iter_mut().zip(key.as_chunks::<4>().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        (input[14], input[15]) = (stream as u32, (stream >> 32) as u32);
        Self { input, block: [0; WORDS], used: WORDS }
    }

    /// The next two words, the lower one first.
    pub(crate) fn next_u64(&mut self) -> u64 {
        if self.used == WORDS {
            self.next_block();
        }
        let [low, high] = [self.block[self.used], self.block[self.used + 1]];
        self.used += 2;
        u64::from(high) << 32 | u64::from(low)
    }

    fn next_block(&mut self) {
        let mut block = self.input;
        for _ in 0..DOUBLE_ROUNDS {
            QUARTERS.iter().for_each(|quarter| mix(&mut block, *quarter));
        }
        for (word, input) in block.iter_mut().zip(&self.input) {
            *word = word.wrapping_add(*input);
        }
        (self.block, self.used) = (block, 0);
        let (low, is_full) = self.input[12].overflowing_add(1);
        self.input[12] = low;
        self.input[13] = self.input[13].wrapping_add(u32::from(is_full));
    }
}

/// The quarter round.
#[inline(always)]
fn mix(words: &mut [u32; WORDS], [a, b, c, d]: [usize; 4]) {
    for (bits_of_d, bits_of_b) in [(16, 12), (8, 7)] {
        words[a] = words[a].wrapping_add(words[b]);
        words[d] = (words[d] ^ words[a]).rotate_left(bits_of_d);
        words[c] = words[c].wrapping_add(words[d]);
        words[b] = (words[b] ^ words[c]).rotate_left(bits_of_b);
    }
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::{Rng, SeedableRng};

    use super::*;

    /// The words of key 0 and stream 0, as published for 8 rounds: 3e00ef2f 895f40d6 7f5bb8e8 1f09a5a1, as bytes.
    #[test]
    fn the_published_output_is_met() {
        let mut generator = ChaCha8::new([0; 32], 0);
        let bytes = [generator.next_u64(), generator.next_u64()].map(u64::to_le_bytes).concat();
        let published =
            [0x3e, 0x00, 0xef, 0x2f, 0x89, 0x5f, 0x40, 0xd6, 0x7f, 0x5b, 0xb8, 0xe8, 0x1f, 0x09, 0xa5, 0xa1];
        assert_eq!(bytes, published);
    }

    #[test]
    fn streams_are_those_of_rand_chacha() {
        for seed in 0..20_u8 {
            let key = std::array::from_fn(|at| seed.wrapping_mul(37).wrapping_add(seed.wrapping_mul(at as u8)));
            let stream = u64::from(seed) << (3 * seed);
            let (mut own, mut other) = (ChaCha8::new(key, stream), ChaCha8Rng::from_seed(key));
            other.set_stream(stream);
            assert!((0..1000).all(|_| own.next_u64() == other.next_u64()), "{seed}");
        }
    }

    #[test]
    fn the_counter_has_64_bits() {
        let (mut own, mut other) = (ChaCha8::new([7; 32], 5), ChaCha8Rng::from_seed([7; 32]));
        own.input[12] = u32::MAX;
        other.set_stream(5);
        other.set_word_pos(u128::from(u32::MAX) * WORDS as u128);
        assert!((0..40).all(|_| own.next_u64() == other.next_u64()));
    }
}
