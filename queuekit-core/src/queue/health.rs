//! Health: one number that says how well a queue does its work, with reasons (contract R8.3).

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::limits::HEALTH_SAMPLES_MIN;

/// The figures from which health is computed.
// Exhaustive: a store that leaves a figure out must not compile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HealthInput {
    /// Age of the oldest job that could run now.
    pub oldest_ready_age: Option<Duration>,
    /// How many ended jobs count: at most the last 1,000.
    pub last_ended: usize,
    /// How many of those died.
    pub last_dead: usize,
    /// Whether a live worker serves the queue.
    pub has_live_worker: bool,
}

/// The health of a queue.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct Health {
    /// 0..=100; 100 is best.
    pub score: u8,
    /// A sentence for each cause of lost points.
    pub reasons: Vec<String>,
}

/// 100 - min(40, oldest ready age / 300 s x 40) - min(40, dead share x 100) - 20 if ready jobs
/// and no live worker; each part in whole points, so that the reasons add up to what is lost.
///
/// The dead share is of the last ended jobs, or of [`HEALTH_SAMPLES_MIN`] if fewer have ended: one
/// bad address among the first three mails of a new queue is no illness.
pub fn health(input: HealthInput) -> Health {
    let mut health = Health { score: 100, reasons: Vec::new() };
    if let Some(age) = input.oldest_ready_age {
        let seconds = age.as_secs_f64();
        let why = format!("the oldest ready job has waited {seconds:.0} s");
        health.lose((seconds / 300.0 * 40.0).min(40.0), why);
        if !input.has_live_worker {
            health.lose(20.0, "jobs are ready and no live worker serves the queue".to_owned());
        }
    }
    let HealthInput { last_ended, last_dead, .. } = input;
    let dead_share = last_dead as f64 / last_ended.max(HEALTH_SAMPLES_MIN) as f64;
    let why = format!("{last_dead} of the last {last_ended} ended jobs died");
    health.lose((dead_share * 100.0).min(40.0), why);
    health
}

impl Health {
    fn lose(&mut self, points: f64, why: String) {
        let points = points.round() as u8;
        if points > 0 {
            self.score -= points;
            self.reasons.push(format!("-{points}: {why}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score(age_s: Option<u64>, last_dead: usize, has_live_worker: bool) -> u8 {
        let oldest_ready_age = age_s.map(Duration::from_secs);
        let last_ended = 100;
        health(HealthInput { oldest_ready_age, last_ended, last_dead, has_live_worker }).score
    }

    #[test]
    fn r8_3_health_takes_each_point_for_its_reason() {
        assert_eq!(score(None, 0, false), 100);
        assert_eq!(score(Some(0), 0, true), 100);
        assert_eq!(score(Some(0), 0, false), 80);
        assert_eq!(score(Some(150), 0, true), 80);
        assert_eq!(score(Some(300), 0, true), 60);
        assert_eq!(score(Some(9000), 0, true), 60);
        assert_eq!(score(None, 25, true), 75);
        assert_eq!(score(Some(9000), 100, false), 0);
        let input = HealthInput {
            oldest_ready_age: Some(Duration::from_secs(300)),
            last_ended: 100,
            last_dead: 50,
            has_live_worker: false,
        };
        assert_eq!(health(input).reasons.len(), 3);
    }

    #[test]
    fn r8_3_few_ends_count_as_twenty() {
        let of = |last_dead, last_ended| {
            health(HealthInput { last_dead, last_ended, ..HealthInput::default() })
        };
        assert_eq!(of(1, 1).score, 95);
        assert_eq!(of(1, 3).reasons, ["-5: 1 of the last 3 ended jobs died"]);
        assert_eq!((of(2, 20).score, of(2, 21).score), (90, 90));
        assert_eq!(of(10, 40).score, 75);
    }
}
