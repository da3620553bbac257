//! Expects how long the cache stays warm: from how often it was lost so far, and how long the session has lasted.

/// A conversation's calls, and how many of them found the cache cold.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rhythm {
    calls: u32,
    cold: u32,
}

impl Rhythm {
    /// Takes in a call.
    pub fn tick(&mut self, is_cold: bool) {
        self.calls += 1;
        self.cold += u32::from(is_cold);
    }

    /// Calls expected before the cache is lost or the session ends, the next one among them.
    ///
    /// A session that has lasted for so many calls lasts about as many more, and the stretches between losses are as long as they
    /// were: both together are the mean stretch so far, this session's end counted as one loss.
    #[must_use]
    pub fn expected_calls(&self) -> f64 {
        f64::from(self.calls).max(1.0) / (1.0 + f64::from(self.cold))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(calls: u32, cold: u32) -> f64 {
        let mut rhythm = Rhythm::default();
        for call in 0..calls {
            rhythm.tick(call < cold);
        }
        rhythm.expected_calls()
    }

    #[test]
    fn an_old_session_is_expected_to_last_and_a_patchy_one_not() {
        assert!(after(0, 0) >= 1.0);
        assert!(after(400, 0) > after(40, 0));
        assert!(after(400, 20) < after(400, 2));
    }
}
