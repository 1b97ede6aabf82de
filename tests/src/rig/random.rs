//! Random choices that a failing run can repeat.

use std::env;
use std::time::{SystemTime, UNIX_EPOCH};

/// A generator of which the seed is known.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// Seeded by `TIDEGATE_SEED`, or by the clock; the seed is printed, and shown with a failure.
    #[expect(clippy::print_stderr, reason = "the test runner shows it with the failure")]
    pub fn printed(what: &str) -> Self {
        let by_clock = || {
            let now = SystemTime::now().duration_since(UNIX_EPOCH);
            now.map_or(1, |now| now.as_micros() as u64)
        };
        let seed = env::var("TIDEGATE_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(by_clock);
        eprintln!("{what}: TIDEGATE_SEED={seed}");
        Self::seeded(seed)
    }

    /// Always the same choices.
    pub fn seeded(seed: u64) -> Self {
        // Spread, so that neighbouring seeds differ at once; an xorshift never leaves zero.
        Self { state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1 }
    }

    /// A number below `bound`, which is not 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        // The upper half: the lower bits of an xorshift repeat early.
        (self.state >> 32) % bound
    }

    /// True once in `times` on average.
    pub fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn repeats_by_its_seed_and_stays_in_bounds() {
        let draw = |seed| {
            let mut random = Random::seeded(seed);
            (0..100).map(|_| random.below(10)).collect::<Vec<_>>()
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
        assert!((0..10).all(|number| draw(7).contains(&number)));
    }
}
