//! How simulated time follows real time: the arithmetic, without any clock. Both sides of the page and the
//! wall clock compute with this one formula.

/// No limit and no deadline.
pub(crate) const NEVER: i64 = i64::MAX;

/// `time = min(virt_base + (raw - raw_base) * num / den, limit)`, all in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mapping {
    pub(crate) raw_base: i64,
    pub(crate) virt_base: i64,
    pub(crate) num: i64,
    pub(crate) den: i64,
    pub(crate) limit: i64,
}

impl Mapping {
    /// What the clock shows when the raw clock shows `raw`.
    pub(crate) fn at(&self, raw: i64) -> i64 {
        let passed = i128::from(raw - self.raw_base) * i128::from(self.num) / i128::from(self.den);
        clamp(i128::from(self.virt_base) + passed).min(self.limit)
    }

    /// The same line, described from `raw` on.
    ///
    /// Rounded up: a reader that used the old description a moment later saw at most the whole sum rounded
    /// down once, and the new one must not show less.
    pub(crate) fn rebased(&self, raw: i64) -> Mapping {
        let scaled = i128::from(raw - self.raw_base) * i128::from(self.num);
        let den = i128::from(self.den);
        let passed = scaled.div_euclid(den) + i128::from(scaled.rem_euclid(den) != 0);
        let virt_base = clamp(i128::from(self.virt_base) + passed).min(self.limit);
        Mapping { raw_base: raw, virt_base, ..*self }
    }

    /// Real nanoseconds from `raw` until the clock shows `time`, as far as the rate alone decides;
    /// `None` if the limit comes first.
    pub(crate) fn real_until(&self, raw: i64, time: i64) -> Option<i64> {
        if time > self.limit {
            return None;
        }
        let left = i128::from(time) - i128::from(self.at(raw));
        let (num, den) = (i128::from(self.num), i128::from(self.den));
        (num > 0).then(|| clamp((left.max(0) * den + num - 1) / num))
    }
}

fn clamp(value: i128) -> i64 {
    i64::try_from(value).unwrap_or(if value < 0 { i64::MIN } else { i64::MAX })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn mapping() -> impl Strategy<Value = Mapping> {
        (0..1i64 << 50, 0..1i64 << 60, 0..1000i64, 1..1000i64, 0..1i64 << 50).prop_map(
            |(raw_base, virt_base, num, den, room)| Mapping {
                raw_base,
                virt_base,
                num,
                den,
                limit: virt_base + room,
            },
        )
    }

    proptest! {
        #[test]
        fn time_never_runs_backwards_along_a_mapping(m in mapping(), a in 0..1i64 << 40, b in 0..1i64 << 40) {
            let (early, late) = (m.raw_base + a.min(b), m.raw_base + a.max(b));
            prop_assert!(m.at(early) <= m.at(late));
        }

        // A reader may use the old description until the very moment after the new one is made.
        #[test]
        fn time_never_runs_backwards_across_a_new_description(
            m in mapping(), a in 0..1i64 << 40, b in 0..1i64 << 40, jump in 0..1i64 << 40, more in 0..1i64 << 40,
        ) {
            let made = m.raw_base + a;
            let seen = made + b;
            let mut next = m.rebased(made);
            next.virt_base += jump;
            next.limit = m.limit.max(next.virt_base) + more;
            prop_assert!(m.at(seen) <= next.at(seen), "{} > {}", m.at(seen), next.at(seen));
        }

        #[test]
        fn waiting_the_real_time_reaches_the_deadline(m in mapping(), a in 0..1i64 << 40, ahead in 0..1i64 << 40) {
            let raw = m.raw_base + a;
            let time = m.at(raw) + ahead;
            if let Some(wait) = m.real_until(raw, time) {
                prop_assert!(m.at(raw.saturating_add(wait)) >= time - 1);
            }
        }

        #[test]
        fn the_limit_is_never_passed(m in mapping(), a in 0..1i64 << 50) {
            prop_assert!(m.at(m.raw_base + a) <= m.limit);
        }
    }
}
