//! The decision whether a solve of a component master is to be accurate, by counted work and by the value gained.

use super::ways::Expected;

/// An accurate solve is always worth its work up to this multiple of the work of a step without it.
const AFFORDABLE: f64 = 20.0;
/// An accurate solve of at most this work, in nanoseconds, is worth it in any case. Inaccurate ones take more evaluations:
/// on generated instances of `mc-big-40` (seed 77) sixty times as many.
const INSTANT: f64 = 2e7;

/// Largest number of consecutive wins that count.
const MOST_WINS: i32 = 10;

/// A contest between accurate and inaccurate solves, where accurate ones are dear. They take turns, in spells. A spell
/// wins if it gains more value for its work than the one before, and its kind has twice as many solves the next time. The
/// loser has one, or the work of one: so the wrong kind takes about half of the work at first, and ever less later.
#[derive(Clone, Debug)]
pub(super) struct Thrift {
    /// Work of an evaluation, in nanoseconds: the alternative to a more accurate solve.
    oracle_work: f64,
    spell: Spell,
    /// Gain for each unit of work in the last spell of accurate solves.
    accurate_rate: f64,
    /// Consecutive wins of inaccurate solves; negative for those of accurate ones.
    wins: i32,
}

/// Consecutive solves of one kind.
#[derive(Clone, Debug)]
struct Spell {
    is_accurate: bool,
    solves: u32,
    work: f64,
    gain: f64,
}

impl Spell {
    fn new(is_accurate: bool) -> Self {
        Self { is_accurate, solves: 0, work: 0.0, gain: 0.0 }
    }

    fn rate(&self) -> f64 {
        self.gain / self.work
    }
}

impl Default for Thrift {
    fn default() -> Self {
        let spell = Spell::new(true);
        Self { oracle_work: 0.0, spell, accurate_rate: 0.0, wins: 0 }
    }
}

impl Thrift {
    /// Sets the work of an evaluation, in nanoseconds.
    pub(super) fn set_oracle_work(&mut self, work: f64) {
        self.oracle_work = work;
    }

    /// Whether the next solve is to be accurate.
    pub(super) fn wants_accuracy(&mut self, expected: Expected) -> bool {
        if expected.accurate <= INSTANT.max(AFFORDABLE * (self.oracle_work + expected.first)) {
            self.spell = Spell::new(true);
            return true;
        }
        let turns = 2.0_f64.powi(self.wins.abs());
        if self.spell.is_accurate {
            let due = if self.wins < 0 { turns } else { 1.0 };
            if f64::from(self.spell.solves) >= due {
                self.accurate_rate = self.spell.rate();
                self.spell = Spell::new(false);
            }
        } else {
            let due = if self.wins > 0 { turns } else { 1.0 };
            if self.spell.work >= due * expected.accurate {
                let has_won = self.spell.rate() > self.accurate_rate;
                self.wins = if has_won { self.wins.max(0) + 1 } else { self.wins.min(0) - 1 };
                self.wins = self.wins.clamp(-MOST_WINS, MOST_WINS);
                self.spell = Spell::new(true);
            }
        }
        self.spell.is_accurate
    }

    /// Takes note of a step: the work of its solve, and the decrease of the best value.
    pub(super) fn note(&mut self, work: f64, gain: f64) {
        self.spell.solves += 1;
        self.spell.work += self.oracle_work + work;
        self.spell.gain += gain;
    }
}
