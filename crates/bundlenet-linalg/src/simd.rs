//! Blocks of eight numbers, and functions compiled for several instruction sets.
//!
//! A kernel is written once, with the operations of [`Lanes`], and compiled for each instruction set that implements
//! them. Sums run in eight separate lanes, and [`Lanes::sum`] adds the lanes in a fixed order. So every instruction set
//! gives the same result to the last bit. There is one exception: where the compiler knows of no fused multiplication,
//! [`Portable`] rounds [`Lanes::sub_product`] twice. On x86-64 that concerns processors from before 2013.

/// Numbers in a block.
pub const LANES: usize = 8;

/// Eight numbers, aligned to a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct Block(pub [f64; LANES]);

impl Block {
    /// The same number eight times.
    #[inline(always)]
    pub fn splat(number: f64) -> Self {
        Self([number; LANES])
    }
}

/// Eight numbers in registers, with operations on all of them at once.
///
/// Only [`multiversion`] uses the implementations other than [`Portable`]. It checks before that the machine has the
/// instructions.
pub trait Lanes: Copy {
    /// Number of values of this type that fit into the registers.
    const REGISTERS: usize;
    /// The same number in all lanes.
    fn splat(number: f64) -> Self;
    /// Loads a block.
    fn load(block: &Block) -> Self;
    /// Stores to a block.
    fn store(self, block: &mut Block);
    /// Loads numbers that need not be aligned.
    fn load_array(numbers: &[f64; LANES]) -> Self;
    /// The sum.
    fn add(self, other: Self) -> Self;
    /// The difference.
    fn sub(self, other: Self) -> Self;
    /// The product.
    fn mul(self, other: Self) -> Self;
    /// `self` less the product of two others, rounded once.
    fn sub_product(self, one: Self, two: Self) -> Self;
    /// The quotient.
    fn div(self, other: Self) -> Self;
    /// `self` where it is smaller, `other` elsewhere.
    fn min(self, other: Self) -> Self;
    /// `self` where it is greater, `other` elsewhere.
    fn max(self, other: Self) -> Self;
    /// `yes` where `self < other`, `no` elsewhere.
    fn if_less(self, other: Self, yes: Self, no: Self) -> Self;
    /// Transposes eight rows.
    fn transpose(rows: [Self; LANES]) -> [Self; LANES];

    /// The numbers as a block.
    #[inline(always)]
    fn block(self) -> Block {
        let mut block = Block::splat(0.0);
        self.store(&mut block);
        block
    }

    /// Combines the lanes in a fixed order.
    #[inline(always)]
    fn fold(self, combine: impl Fn(f64, f64) -> f64) -> f64 {
        let [a, b, c, d, e, f, g, h] = self.block().0;
        let (ae, bf, cg, dh) = (combine(a, e), combine(b, f), combine(c, g), combine(d, h));
        combine(combine(ae, cg), combine(bf, dh))
    }

    /// Sum of the lanes.
    #[inline(always)]
    fn sum(self) -> f64 {
        self.fold(|a, b| a + b)
    }

    /// Smallest lane.
    #[inline(always)]
    fn least(self) -> f64 {
        self.fold(|a, b| if a < b { a } else { b })
    }

    /// Largest lane.
    #[inline(always)]
    fn greatest(self) -> f64 {
        self.fold(|a, b| if a > b { a } else { b })
    }
}

/// Eight numbers on any machine.
#[derive(Clone, Copy)]
pub struct Portable([f64; LANES]);

impl Portable {
    #[inline(always)]
    fn zip(self, other: Self, combine: impl Fn(f64, f64) -> f64) -> Self {
        Self(std::array::from_fn(|lane| combine(self.0[lane], other.0[lane])))
    }
}

impl Lanes for Portable {
    // Most machines have sixteen registers of two numbers each.
    const REGISTERS: usize = 4;
    #[inline(always)]
    fn splat(number: f64) -> Self {
        Self([number; LANES])
    }
    #[inline(always)]
    fn load(block: &Block) -> Self {
        Self(block.0)
    }
    #[inline(always)]
    fn store(self, block: &mut Block) {
        block.0 = self.0;
    }
    #[inline(always)]
    fn load_array(numbers: &[f64; LANES]) -> Self {
        Self(*numbers)
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.zip(other, |a, b| a + b)
    }
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        self.zip(other, |a, b| a - b)
    }
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        self.zip(other, |a, b| a * b)
    }
    #[inline(always)]
    fn sub_product(self, one: Self, two: Self) -> Self {
        // Without the instruction, one rounding would take a hundred times as long as two.
        let has_instruction = cfg!(any(target_feature = "fma", target_arch = "aarch64"));
        Self(std::array::from_fn(|lane| match has_instruction {
            true => (-one.0[lane]).mul_add(two.0[lane], self.0[lane]),
            false => self.0[lane] - one.0[lane] * two.0[lane],
        }))
    }
    #[inline(always)]
    fn div(self, other: Self) -> Self {
        self.zip(other, |a, b| a / b)
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        self.zip(other, |a, b| if a < b { a } else { b })
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        self.zip(other, |a, b| if a > b { a } else { b })
    }
    #[inline(always)]
    fn if_less(self, other: Self, yes: Self, no: Self) -> Self {
        Self(std::array::from_fn(|lane| if self.0[lane] < other.0[lane] { yes.0[lane] } else { no.0[lane] }))
    }
    #[inline(always)]
    fn transpose(rows: [Self; LANES]) -> [Self; LANES] {
        let mut columns = [Self([0.0; LANES]); LANES];
        for (lane, row) in rows.iter().enumerate() {
            for (column, number) in columns.iter_mut().zip(row.0) {
                column.0[lane] = number;
            }
        }
        columns
    }
}

/// Implements [`Lanes`] with intrinsics on an array of registers. `$part` counts the registers.
///
/// Every operation is written out for each register. In a closure, an intrinsic would be a call: a closure does not have
/// the instructions of the function that calls it, and only some builds inline it before that matters.
#[cfg(target_arch = "x86_64")]
macro_rules! lanes_by_intrinsics {
    ($name:ident, $register:ty, [$($part:literal),*], $registers:literal, $set1:ident, $load:ident, $store:ident, $load_array:ident, $add:ident, $sub:ident,
     $mul:ident, $sub_product:ident, $div:ident, $min:ident, $max:ident, $transpose:ident, $select:ident) => {
        /// Eight numbers in registers of this instruction set.
        #[derive(Clone, Copy)]
        pub struct $name([$register; [$($part),*].len()]);

        impl $name {
            /// Numbers in a register.
            const WIDTH: usize = LANES / [$($part),*].len();
        }

        impl Lanes for $name {
            const REGISTERS: usize = $registers;
            #[inline(always)]
            fn splat(number: f64) -> Self {
                // SAFETY: `multiversion` has checked the instructions, here and below.
                Self([unsafe { $set1(number) }; [$($part),*].len()])
            }
            #[inline(always)]
            fn load(block: &Block) -> Self {
                // SAFETY: every part lies within the block, which is aligned to 64 bytes.
                Self([$(unsafe { $load(block.0.as_ptr().add($part * Self::WIDTH)) }),*])
            }
            #[inline(always)]
            fn store(self, block: &mut Block) {
                // SAFETY: every part lies within the block, which is aligned to 64 bytes.
                $(unsafe { $store(block.0.as_mut_ptr().add($part * Self::WIDTH), self.0[$part]) });*
            }
            #[inline(always)]
            fn load_array(numbers: &[f64; LANES]) -> Self {
                // SAFETY: every part lies within the array.
                Self([$(unsafe { $load_array(numbers.as_ptr().add($part * Self::WIDTH)) }),*])
            }
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                // SAFETY: as in `splat`.
                Self([$(unsafe { $add(self.0[$part], other.0[$part]) }),*])
            }
            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                // SAFETY: as in `splat`.
                Self([$(unsafe { $sub(self.0[$part], other.0[$part]) }),*])
            }
            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                // SAFETY: as in `splat`.
                Self([$(unsafe { $mul(self.0[$part], other.0[$part]) }),*])
            }
            #[inline(always)]
            fn sub_product(self, one: Self, two: Self) -> Self {
                // SAFETY: as in `splat`.
                Self([$(unsafe { $sub_product(one.0[$part], two.0[$part], self.0[$part]) }),*])
            }
            #[inline(always)]
            fn div(self, other: Self) -> Self {
                // SAFETY: as in `splat`.
                Self([$(unsafe { $div(self.0[$part], other.0[$part]) }),*])
            }
            #[inline(always)]
            fn min(self, other: Self) -> Self {
                // SAFETY: as in `splat`.
                Self([$(unsafe { $min(self.0[$part], other.0[$part]) }),*])
            }
            #[inline(always)]
            fn max(self, other: Self) -> Self {
                // SAFETY: as in `splat`.
                Self([$(unsafe { $max(self.0[$part], other.0[$part]) }),*])
            }
            #[inline(always)]
            fn if_less(self, other: Self, yes: Self, no: Self) -> Self {
                // SAFETY: as in `splat`.
                Self([$(unsafe { $select(self.0[$part], other.0[$part], yes.0[$part], no.0[$part]) }),*])
            }
            #[inline(always)]
            fn transpose(rows: [Self; LANES]) -> [Self; LANES] {
                // SAFETY: as in `splat`.
                unsafe { $transpose(rows) }
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use std::arch::x86_64::*;

    use super::{Block, LANES, Lanes};

    lanes_by_intrinsics!(
        Avx2,
        __m256d,
        [0, 1],
        8,
        _mm256_set1_pd,
        _mm256_load_pd,
        _mm256_store_pd,
        _mm256_loadu_pd,
        _mm256_add_pd,
        _mm256_sub_pd,
        _mm256_mul_pd,
        _mm256_fnmadd_pd,
        _mm256_div_pd,
        _mm256_min_pd,
        _mm256_max_pd,
        transpose_avx2,
        select_avx2
    );
    lanes_by_intrinsics!(
        Avx512,
        __m512d,
        [0],
        32,
        _mm512_set1_pd,
        _mm512_load_pd,
        _mm512_store_pd,
        _mm512_loadu_pd,
        _mm512_add_pd,
        _mm512_sub_pd,
        _mm512_mul_pd,
        _mm512_fnmadd_pd,
        _mm512_div_pd,
        _mm512_min_pd,
        _mm512_max_pd,
        transpose_avx512,
        select_avx512
    );

    /// `yes` where `a < b`, `no` elsewhere.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn select_avx2(a: __m256d, b: __m256d, yes: __m256d, no: __m256d) -> __m256d {
        _mm256_blendv_pd(no, yes, _mm256_cmp_pd::<_CMP_LT_OQ>(a, b))
    }

    /// `yes` where `a < b`, `no` elsewhere.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn select_avx512(a: __m512d, b: __m512d, yes: __m512d, no: __m512d) -> __m512d {
        _mm512_mask_blend_pd(_mm512_cmp_pd_mask::<_CMP_LT_OQ>(a, b), no, yes)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn transpose_avx2(rows: [Avx2; LANES]) -> [Avx2; LANES] {
        let [Avx2(a), Avx2(b), Avx2(c), Avx2(d), Avx2(e), Avx2(f), Avx2(g), Avx2(h)] = rows;
        let quarter = |a, b, c, d| {
            let (ab, cd) = (_mm256_unpacklo_pd(a, b), _mm256_unpacklo_pd(c, d));
            let (odd_ab, odd_cd) = (_mm256_unpackhi_pd(a, b), _mm256_unpackhi_pd(c, d));
            let low = [_mm256_permute2f128_pd::<0x20>(ab, cd), _mm256_permute2f128_pd::<0x20>(odd_ab, odd_cd)];
            let high = [_mm256_permute2f128_pd::<0x31>(ab, cd), _mm256_permute2f128_pd::<0x31>(odd_ab, odd_cd)];
            [low[0], low[1], high[0], high[1]]
        };
        let (upper_left, lower_left) = (quarter(a[0], b[0], c[0], d[0]), quarter(e[0], f[0], g[0], h[0]));
        let (upper_right, lower_right) = (quarter(a[1], b[1], c[1], d[1]), quarter(e[1], f[1], g[1], h[1]));
        let left = |column: usize| Avx2([upper_left[column], lower_left[column]]);
        let right = |column: usize| Avx2([upper_right[column], lower_right[column]]);
        [left(0), left(1), left(2), left(3), right(0), right(1), right(2), right(3)]
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn transpose_avx512(rows: [Avx512; LANES]) -> [Avx512; LANES] {
        let [Avx512([a]), Avx512([b]), Avx512([c]), Avx512([d]), ..] = rows;
        let [.., Avx512([e]), Avx512([f]), Avx512([g]), Avx512([h])] = rows;
        // Transposes pairs of numbers, then a table of four by four pairs.
        let pairs = |ab, cd, ef, gh| {
            let (abcd, efgh) = (_mm512_shuffle_f64x2::<0x88>(ab, cd), _mm512_shuffle_f64x2::<0x88>(ef, gh));
            let (odd_abcd, odd_efgh) = (_mm512_shuffle_f64x2::<0xdd>(ab, cd), _mm512_shuffle_f64x2::<0xdd>(ef, gh));
            let first = Avx512([_mm512_shuffle_f64x2::<0x88>(abcd, efgh)]);
            let second = Avx512([_mm512_shuffle_f64x2::<0x88>(odd_abcd, odd_efgh)]);
            let third = Avx512([_mm512_shuffle_f64x2::<0xdd>(abcd, efgh)]);
            let fourth = Avx512([_mm512_shuffle_f64x2::<0xdd>(odd_abcd, odd_efgh)]);
            [first, second, third, fourth]
        };
        let (low, high) = (_mm512_unpacklo_pd, _mm512_unpackhi_pd);
        let even = pairs(low(a, b), low(c, d), low(e, f), low(g, h));
        let odd = pairs(high(a, b), high(c, d), high(e, f), high(g, h));
        [even[0], odd[0], even[1], odd[1], even[2], odd[2], even[3], odd[3]]
    }
}
#[cfg(target_arch = "x86_64")]
pub use x86_64::{Avx2, Avx512};

/// Number of blocks that hold `count` numbers.
pub fn blocks_for(count: usize) -> usize {
    count.div_ceil(LANES)
}

/// The numbers of blocks as one slice.
#[inline(always)]
pub fn flat(blocks: &[Block]) -> &[f64] {
    // SAFETY: a block is eight numbers without padding (64 bytes at alignment 64), so `len` blocks are `8 len`
    // numbers in a row.
    unsafe { std::slice::from_raw_parts(blocks.as_ptr().cast(), blocks.len() * LANES) }
}

/// The numbers of blocks as one mutable slice.
#[inline(always)]
pub fn flat_mut(blocks: &mut [Block]) -> &mut [f64] {
    // SAFETY: as in `flat`; the borrow is exclusive.
    unsafe { std::slice::from_raw_parts_mut(blocks.as_mut_ptr().cast(), blocks.len() * LANES) }
}

/// Instruction sets with a version of their own.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Any machine.
    Baseline,
    /// AVX2 with fused multiplication.
    Avx2,
    /// AVX-512 with its common extensions, and fused multiplication.
    Avx512,
}

/// The best instruction set of this machine.
#[cfg(target_arch = "x86_64")]
#[inline]
pub fn level() -> Level {
    let has_avx512 = is_x86_feature_detected!("fma")
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512bw");
    if has_avx512 {
        Level::Avx512
    } else if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        Level::Avx2
    } else {
        Level::Baseline
    }
}

/// Defines a function that calls `$body` with the best instructions of the machine. `$body` is an `#[inline(always)]`
/// function, generic over [`Lanes`].
#[macro_export]
macro_rules! multiversion {
    ($(#[$attribute:meta])* $vis:vis fn $name:ident($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)? = $body:ident;) => {
        $(#[$attribute])*
        $vis fn $name($($argument: $type),*) $(-> $result)? {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
                fn avx512($($argument: $type),*) $(-> $result)? {
                    $body::<$crate::simd::Avx512>($($argument),*)
                }
                #[target_feature(enable = "avx2,fma")]
                fn avx2($($argument: $type),*) $(-> $result)? {
                    $body::<$crate::simd::Avx2>($($argument),*)
                }
                match $crate::simd::level() {
                    // SAFETY: `level` has checked that the machine has these instructions.
                    $crate::simd::Level::Avx512 => return unsafe { avx512($($argument),*) },
                    // SAFETY: as above.
                    $crate::simd::Level::Avx2 => return unsafe { avx2($($argument),*) },
                    $crate::simd::Level::Baseline => {}
                }
            }
            $body::<$crate::simd::Portable>($($argument),*)
        }
    };
}
pub use multiversion;

#[cfg(test)]
mod tests {
    use super::*;

    #[inline(always)]
    fn every_operation<L: Lanes>(a: &Block, b: &Block) -> (Vec<f64>, [f64; 3]) {
        let (x, y) = (L::load(a), L::load(b));
        let results = [x.add(y), x.sub(y), x.mul(y), x.div(y), x.min(y), x.max(y), x.if_less(y, L::splat(7.0), x)];
        let columns = L::transpose(std::array::from_fn(|row| x.add(L::splat(row as f64))));
        let results = results.into_iter().chain(columns);
        (results.flat_map(|lanes| lanes.block().0).collect(), [x.sum(), x.least(), x.greatest()])
    }

    multiversion! {
        fn with_best_instructions(a: &Block, b: &Block) -> (Vec<f64>, [f64; 3]) = every_operation;
    }

    #[inline(always)]
    fn less_product<L: Lanes>(numbers: [&Block; 3]) -> Block {
        L::load(numbers[0]).sub_product(L::load(numbers[1]), L::load(numbers[2])).block()
    }

    multiversion! {
        fn less_product_at_best(numbers: [&Block; 3]) -> Block = less_product;
    }

    #[test]
    fn products_are_rounded_once() {
        // The last part of its square, 1 + 2^-29 + 2^-60, is lost if the square is rounded.
        let near = 1.0 + 2_f64.powi(-30);
        let (once, twice) = ((-near).mul_add(near, 1.0), 1.0 - near * near);
        assert_ne!(once, twice);
        #[cfg(target_arch = "x86_64")]
        let has_instruction = level() != Level::Baseline;
        #[cfg(not(target_arch = "x86_64"))]
        let has_instruction = cfg!(target_arch = "aarch64");
        let best = less_product_at_best([&Block::splat(1.0), &Block::splat(near), &Block::splat(near)]);
        assert_eq!(best.0, [if has_instruction { once } else { twice }; LANES]);
    }

    #[test]
    fn instruction_sets_agree_to_the_last_bit() {
        let a = Block([3.1, -1.0, 4.0, f64::INFINITY, -5.7, 9.0, 2.0, 0.1]);
        let b = Block([3.1, 1.0, -4.0, 1.0, f64::INFINITY, 8.0, 2.5, 0.3]);
        let (portable, totals) = every_operation::<Portable>(&a, &b);
        let (best, best_totals) = with_best_instructions(&a, &b);
        assert_eq!(portable.len(), best.len());
        assert!(portable.iter().zip(&best).all(|(x, y)| x.to_bits() == y.to_bits()), "{portable:?} {best:?}");
        assert_eq!(totals, best_totals);
        assert_eq!(portable[7 * LANES + LANES + 2], b.0[1] - 1.0 + a.0[1] + 2.0);
        assert_eq!(totals[1..], [-5.7, f64::INFINITY]);
    }
}
