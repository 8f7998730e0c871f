//! A hash that is the same everywhere and for ever: for checksums in files, and to tell whether data have changed.

/// A hash of numbers, for [`SumOracle::fingerprint`](crate::SumOracle::fingerprint): the same on every machine and in every
/// version, as what is stored in a file must be.
///
/// ```
/// use bundlenet::Fingerprint;
///
/// let of = |cost: f64| Fingerprint::new().whole(3).numbers(&[cost, 2.0]).finish();
/// assert_eq!(of(1.0), of(1.0));
/// assert_ne!(of(1.0), of(1.5));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Fingerprint(u64);

impl Fingerprint {
    /// Of nothing yet.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "a hash has no default value that means something")]
    pub fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    /// Adds a whole number.
    #[must_use]
    pub fn whole(self, number: u64) -> Self {
        // Fowler, Noll and Vo's step on 64 bits at a time; the shift lets high bits reach low ones.
        let mixed = (self.0 ^ number).wrapping_mul(0x0000_0100_0000_01b3);
        Self(mixed ^ (mixed >> 29))
    }

    /// Adds numbers.
    #[must_use]
    pub fn numbers(self, numbers: &[f64]) -> Self {
        // Adding 0 makes one of the two zeros.
        numbers.iter().fold(self, |hash, number| hash.whole((number + 0.0).to_bits()))
    }

    /// Adds bytes.
    pub(crate) fn bytes(self, bytes: &[u8]) -> Self {
        let (words, rest) = bytes.as_chunks::<8>();
        let hash = words.iter().fold(self, |hash, word| hash.whole(u64::from_le_bytes(*word)));
        let rest = rest.iter().fold(0, |word, &byte| word << 8 | u64::from(byte));
        hash.whole(rest).whole(bytes.len() as u64)
    }

    /// The hash.
    #[must_use]
    pub fn finish(self) -> u64 {
        self.0
    }
}
