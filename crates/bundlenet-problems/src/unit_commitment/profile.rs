//! Convex piecewise linear functions of one variable, for dynamic programs over ramps.

/// A convex piecewise linear function on an interval, by its minimum and its changes of slope.
///
/// The changes of slope left and right of the minimisers are two stacks, the nearest on top. [`Profile::spread`] moves
/// each stack as a whole, so it has a common offset.
#[derive(Clone, Debug, Default)]
pub(super) struct Profile {
    low: f64,
    high: f64,
    least: f64,
    left: Side,
    right: Side,
}

/// The changes of slope on one side of the minimisers.
#[derive(Clone, Debug, Default)]
struct Side {
    /// Positions without the offset, and changes of slope; the last is nearest to the minimisers.
    bends: Vec<(f64, f64)>,
    /// Bends before this place have left the interval.
    first: usize,
    offset: f64,
}

impl Side {
    fn clear(&mut self) {
        self.bends.clear();
        (self.first, self.offset) = (0, 0.0);
    }

    /// Position of the nearest bend.
    #[inline]
    fn nearest(&self) -> Option<f64> {
        self.inside().last().map(|bend| bend.0 + self.offset)
    }

    #[inline]
    fn inside(&self) -> &[(f64, f64)] {
        &self.bends[self.first..]
    }

    #[inline]
    fn push(&mut self, at: f64, change: f64) {
        self.bends.push((at - self.offset, change));
    }

    #[inline]
    fn pop(&mut self) -> Option<(f64, f64)> {
        let (at, change) = *self.inside().last()?;
        self.bends.pop();
        Some((at + self.offset, change))
    }

    /// Inserts a bend in front of those that are nearer.
    fn insert(&mut self, at: f64, change: f64, is_nearer: impl Fn(f64) -> bool) {
        let behind = self.inside().iter().rev().take_while(|bend| is_nearer(bend.0 + self.offset)).count();
        let place = self.bends.len() - behind;
        self.bends.insert(place, (at - self.offset, change));
    }

    /// Forgets the bends that have left the interval.
    fn trim(&mut self, is_outside: impl Fn(f64) -> bool) {
        self.first += self.inside().iter().take_while(|bend| is_outside(bend.0 + self.offset)).count();
        if self.first == self.bends.len() {
            self.clear();
        }
    }

    /// Moves changes of slope of this total amount to the other side, and returns by how much the minimum falls on the way.
    /// A `wall` bounds the interval behind the last bend.
    #[inline]
    fn cross(&mut self, other: &mut Self, wall: f64, amount: f64) -> f64 {
        let (mut rest, mut fall) = (amount, 0.0);
        loop {
            let Some((at, change)) = self.pop() else {
                other.push(wall, rest);
                return fall;
            };
            if change > rest {
                self.push(at, change - rest);
                other.push(at, rest);
                return fall;
            }
            other.push(at, change);
            rest -= change;
            if rest <= 0.0 {
                return fall;
            }
            fall += rest * (at - self.nearest().unwrap_or(wall)).abs();
        }
    }
}

impl Profile {
    /// Becomes the same as another one, in the memory it has.
    pub(super) fn copy(&mut self, other: &Self) {
        (self.low, self.high, self.least) = (other.low, other.high, other.least);
        for (side, other) in [(&mut self.left, &other.left), (&mut self.right, &other.right)] {
            side.bends.clear();
            side.bends.extend_from_slice(other.inside());
            (side.first, side.offset) = (0, other.offset);
        }
    }

    /// Becomes 0 on an interval.
    pub(super) fn reset(&mut self, low: f64, high: f64) {
        (self.low, self.high, self.least) = (low, high, 0.0);
        self.left.clear();
        self.right.clear();
    }

    /// The minimum.
    #[inline]
    pub(super) fn least(&self) -> f64 {
        self.least
    }

    /// The smallest minimiser.
    #[inline]
    pub(super) fn minimizer(&self) -> f64 {
        self.left.nearest().unwrap_or(self.low)
    }

    #[inline]
    fn largest_minimizer(&self) -> f64 {
        self.right.nearest().unwrap_or(self.high)
    }

    /// Adds a constant.
    #[inline]
    pub(super) fn raise(&mut self, amount: f64) {
        self.least += amount;
    }

    /// Adds `slope p`.
    #[inline]
    pub(super) fn tilt(&mut self, slope: f64) {
        if slope > 0.0 {
            self.least += slope * self.minimizer() - self.left.cross(&mut self.right, self.low, slope);
        } else if slope < 0.0 {
            self.least += slope * self.largest_minimizer() - self.right.cross(&mut self.left, self.high, -slope);
        }
    }

    /// Adds `change max(0, p - at)`, for a positive change.
    #[inline]
    pub(super) fn bend_up(&mut self, at: f64, change: f64) {
        if at >= self.high {
            return;
        }
        if at >= self.minimizer() && at > self.low {
            self.right.insert(at, change, |other| other < at);
            return;
        }
        if at > self.low {
            self.left.insert(at, change, |other| other > at);
        }
        self.tilt(change);
        self.least -= change * at;
    }

    /// Adds `change max(0, at - p)`, for a positive change.
    pub(super) fn bend_down(&mut self, at: f64, change: f64) {
        if at <= self.low {
            return;
        }
        if at <= self.largest_minimizer() && at < self.high {
            self.left.insert(at, change, |other| other > at);
            return;
        }
        if at < self.high {
            self.right.insert(at, change, |other| other < at);
        }
        self.tilt(-change);
        self.least += change * at;
    }

    /// Becomes the least value within `down` below and `up` above its argument: `min { f(q) : p - up <= q <= p + down }`,
    /// on the part of its interval within `[0, most]`.
    #[inline]
    pub(super) fn spread(&mut self, down: f64, up: f64, most: f64) {
        self.left.offset -= down;
        self.right.offset += up;
        self.low = (self.low - down).max(0.0);
        self.high = (self.high + up).min(most);
        let (low, high) = (self.low, self.high);
        self.left.trim(|at| at <= low);
        self.right.trim(|at| at >= high);
    }

    /// The minimum over arguments up to `cap`, and a minimiser; infinite if there is no such argument.
    #[inline]
    pub(super) fn least_up_to(&self, cap: f64) -> (f64, f64) {
        if cap < self.low {
            return (f64::INFINITY, self.low);
        }
        let minimizer = self.minimizer();
        if minimizer <= cap {
            return (self.least, minimizer);
        }
        let (mut value, mut at, mut slope) = (self.least, minimizer, 0.0);
        for &(position, change) in self.left.inside().iter().rev() {
            let position = position + self.left.offset;
            if position <= cap {
                break;
            }
            value += slope * (at - position);
            (at, slope) = (position, slope + change);
        }
        (value + slope * (at - cap), cap)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bundlenet_linalg::Stream;

    /// A function by its pieces, evaluated by brute force.
    #[derive(Clone)]
    struct Sampled {
        low: f64,
        high: f64,
        values: Vec<f64>,
    }

    /// All numbers are multiples of this step, so that the samples hold all bends.
    const STEP: f64 = 0.25;

    impl Sampled {
        fn add(&mut self, function: impl Fn(f64) -> f64) {
            let low = self.low;
            self.values.iter_mut().enumerate().for_each(|(at, value)| *value += function(low + STEP * at as f64));
        }

        fn spread(&self, down: f64, up: f64, most: f64) -> Self {
            let (low, high) = ((self.low - down).max(0.0), (self.high + up).min(most));
            let count = ((high - low) / STEP).round() as usize + 1;
            let least = |at: usize| {
                let p = low + STEP * at as f64;
                let near = self.values.iter().enumerate().filter(|(index, _)| {
                    let q = self.low + STEP * *index as f64;
                    q >= p - up - 1e-9 && q <= p + down + 1e-9
                });
                near.map(|(_, value)| *value).fold(f64::INFINITY, f64::min)
            };
            Self { low, high, values: (0..count).map(least).collect() }
        }
    }

    #[test]
    fn profiles_are_the_functions_they_stand_for() {
        let mut stream = Stream::new(1, "profiles", 0);
        let mut whole = |most: usize| STEP * stream.below(most + 1) as f64;
        for _ in 0..300 {
            let most = whole(60) + STEP;
            let mut sampled = Sampled { low: 0.0, high: most, values: vec![0.0; (most / STEP) as usize + 1] };
            let mut profile = Profile::default();
            profile.reset(0.0, most);
            for _ in 0..12 {
                let slope = whole(40) - 5.0;
                profile.tilt(slope);
                sampled.add(|p| slope * p);
                let (at, change) = (whole(70), whole(12) + STEP);
                profile.bend_up(at, change);
                sampled.add(|p| change * (p - at).max(0.0));
                let (at, change) = (whole(70), whole(12) + STEP);
                profile.bend_down(at, change);
                sampled.add(|p| change * (at - p).max(0.0));
                let cap = whole(60);
                let inside = sampled.values.iter().enumerate();
                let inside = inside.filter(|(index, _)| sampled.low + STEP * *index as f64 <= cap + 1e-9);
                let expected = inside.map(|(_, value)| *value).fold(f64::INFINITY, f64::min);
                let (found, minimizer) = profile.least_up_to(cap);
                assert!(found == expected || (found - expected).abs() <= 1e-9 * expected.abs().max(1.0));
                assert!(found.is_infinite() || minimizer <= cap.max(sampled.low));
                let (down, up) = (whole(20), whole(20));
                profile.spread(down, up, most);
                sampled = sampled.spread(down, up, most);
                assert_eq!((profile.low, profile.high), (sampled.low, sampled.high));
            }
        }
    }
}
