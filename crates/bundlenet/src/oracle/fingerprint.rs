//! A hash that is the same on every machine and in every version. Files use it as checksum and to detect changed data.

/// A hash of numbers, for [`SumOracle::fingerprint`](crate::SumOracle::fingerprint). It is stored in files, so it is
/// the same on every machine and in every version.
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
    /// The hash of no data.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "a hash has no default value that means something")]
    pub fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    /// Adds a whole number.
    #[must_use]
    pub fn whole(self, number: u64) -> Self {
        // Fowler-Noll-Vo on 64 bits at a time. The shift carries high bits to low ones.
        let mixed = (self.0 ^ number).wrapping_mul(0x0000_0100_0000_01b3);
        Self(mixed ^ (mixed >> 29))
    }

    /// Adds floating-point numbers.
    #[must_use]
    pub fn numbers(self, numbers: &[f64]) -> Self {
        // Adding 0 turns -0 into 0.
        numbers.iter().fold(self, |hash, number| hash.whole((number + 0.0).to_bits()))
    }

    /// Adds the entries of a sparse vector.
    #[must_use]
    pub fn sparse(self, coordinates: &[u32], entries: &[f64]) -> Self {
        let places = coordinates.iter().zip(entries);
        places.fold(self, |hash, (&at, entry)| hash.whole(entry.to_bits() ^ (u64::from(at) << 32)))
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
