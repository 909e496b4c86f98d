//! Seeded chance on integers.

use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::Rng;

/// Which family of random numbers; each number of each family is a stream of its own, so adding a service
/// does not change the others.
#[derive(Clone, Copy)]
pub(super) enum Family {
    Service = 1,
    CronJob,
    Burst,
    Pod,
    Node,
    Env,
}

/// Draws numbers.
pub(super) struct Chance(Pcg64Mcg);

impl Chance {
    pub(super) fn new(seed: u64, family: Family, number: u32) -> Self {
        let state = (u128::from(seed) << 64) | (u128::from(family as u32) << 32) | u128::from(number);
        // Neighbouring states give similar first numbers; spreading them over the whole range does not.
        let mut generator = Pcg64Mcg::new(state.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835));
        generator.next_u64();
        Self(generator)
    }

    /// A number from 0 up to, but without, `end`.
    pub(super) fn below(&mut self, end: u32) -> u32 {
        // Multiply and shift: the bias is far below anything a trace could show.
        let product = u64::from(self.0.next_u32()) * u64::from(end);
        u32::try_from(product >> 32).expect("a product of two 32-bit numbers has 64 bits")
    }

    /// A number between two milliseconds, the last one excluded.
    pub(super) fn between(&mut self, from: i64, to: i64) -> i64 {
        // A window of a year is far over 32 bits of milliseconds, so this draws 64.
        let span = u128::from(to.saturating_sub(from).max(1).unsigned_abs());
        let drawn = (u128::from(self.0.next_u64()) * span) >> 64;
        from + i64::try_from(drawn).expect("it is below the span, which fits")
    }

    /// True in `percent` of a hundred cases.
    pub(super) fn percent(&mut self, percent: u32) -> bool {
        self.below(100) < percent
    }

    /// One of several.
    pub(super) fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(u32::try_from(of.len()).expect("vocabularies are short")) as usize]
    }
}
