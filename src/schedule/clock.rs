//! Whether the provider's cache is still warm, as far as timestamps and model names tell.
//!
//! Requests flow in with their time and model, cold or warm flows out. The time of a request is that of the last
//! message before it. A gap that cannot be known counts as warm: a needless wait is cheap, a needless rewrite not.

use crate::transcript::Source;

/// The last request that each model answered.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    last: Vec<(Source, Option<f64>)>,
    expected: Option<Source>,
}

impl Clock {
    /// Whether a request at `time_ms` finds nothing left in the cache of the model in use.
    ///
    /// That model is the one of the latest answer, failed ones too: a failure may be all that tells of a switch.
    #[must_use]
    pub fn is_cold(&self, time_ms: Option<f64>, ttl_seconds: f64) -> bool {
        const MS_PER_SECOND: f64 = 1000.0;
        let Some(expected) = &self.expected else { return false };
        match self.last.iter().find(|(source, _)| source == expected) {
            Some((_, Some(last))) => time_ms.is_some_and(|now| now - last > ttl_seconds * MS_PER_SECOND),
            Some((_, None)) => false,
            None => !self.last.is_empty(),
        }
    }

    /// Takes in a request at `time_ms`; `reached` says whether the model got to read it.
    pub fn tick(&mut self, source: &Source, time_ms: Option<f64>, reached: bool) {
        self.expected = Some(source.clone());
        if !reached {
            return;
        }
        match self.last.iter_mut().find(|(of, _)| of == source) {
            Some((_, last)) => *last = time_ms,
            None => self.last.push((source.clone(), time_ms)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TTL: f64 = 300.0;

    fn source(model: &str) -> Source {
        Source { api: "x".into(), provider: "y".into(), model: model.into() }
    }

    fn after(ticks: &[(&str, Option<f64>, bool)]) -> Clock {
        let mut clock = Clock::default();
        for &(model, time, reached) in ticks {
            clock.tick(&source(model), time, reached);
        }
        clock
    }

    #[test]
    fn a_gap_over_the_ttl_is_cold() {
        let clock = after(&[("a", Some(0.0), true)]);
        assert!(!clock.is_cold(Some(300_000.0), TTL));
        assert!(clock.is_cold(Some(300_001.0), TTL));
    }

    #[test]
    fn unknown_equal_and_backward_times_are_warm() {
        let clock = after(&[("a", Some(1e6), true)]);
        assert!([None, Some(1e6), Some(0.0), Some(f64::NAN)].into_iter().all(|now| !clock.is_cold(now, TTL)));
        assert!(!after(&[("a", None, true)]).is_cold(Some(9e12), TTL));
        assert!(!Clock::default().is_cold(Some(9e12), TTL));
    }

    #[test]
    fn a_model_without_an_answer_yet_is_cold_and_others_keep_their_own_time() {
        assert!(after(&[("a", Some(0.0), true), ("b", Some(1.0), false)]).is_cold(Some(2.0), TTL));
        let interleaved =
            [("a", Some(0.0), true), ("b", Some(200_000.0), true), ("a", Some(310_000.0), false)];
        assert!(after(&interleaved).is_cold(Some(310_001.0), TTL));
        assert!(!after(&interleaved[..2]).is_cold(Some(310_001.0), TTL));
    }
}
