//! The rate of a schedule: how many jobs it enqueues in a second at most.

use std::time::{Duration, Instant};

use queuekit::Timestamp;
use queuekit::schedules::{Definition, ScheduleName, Timing};

use crate::api::app::App;
use crate::api::quota_charge::forget_removed;
use crate::web::schedule_rates::RateCharge;
use crate::web::{Caller, Problem};

/// Occurrences of a cron expression that are examined: enough for every minute of an hour, or every
/// hour of a day.
const LOOKED_AT: usize = 100;

/// Counts a schedule of this rate against the key's `per_second`.
///
/// # Errors
/// 409 if that is exceeded; those of the store.
pub(super) async fn charge(
    app: &App,
    caller: &Caller,
    name: &ScheduleName,
    rate: f64,
) -> Result<RateCharge, Problem> {
    let rates = &app.limits().rates;
    match rates.charge(caller, name, rate) {
        Ok(charge) => Ok(charge),
        Err(exceeded) => {
            let put = rates.recount(caller.id(), Instant::now()).ok_or(exceeded)?;
            forget_removed(app, &put).await?;
            rates.charge(caller, name, rate)
        }
    }
}

/// The rate that counts for this caller. To find the times of a cron expression may take a while.
pub(super) fn counted(caller: &Caller, definition: &Definition, now: Timestamp) -> f64 {
    // A key without `per_second` needs no rate.
    caller.per_second().map_or(0.0, |_| per_second(definition, now))
}

/// The rate, as if every gap were as short as the shortest.
fn per_second(definition: &Definition, now: Timestamp) -> f64 {
    let gap = match definition.timing() {
        Timing::Every(interval) => Some(interval.duration()),
        Timing::Cron(_) => {
            let times: Vec<Timestamp> = definition.upcoming(now).take(LOOKED_AT).collect();
            times.windows(2).map(|pair| pair[1].since(pair[0])).min()
        }
    };
    // A schedule that runs only once more has no gap.
    gap.map_or(0.0, |gap| 1.0 / gap.max(Duration::from_millis(1)).as_secs_f64())
}

#[cfg(test)]
mod tests {
    use queuekit::JobDraft;
    use queuekit::schedules::ScheduleDraft;

    use super::*;

    #[test]
    fn s6_a_schedule_counts_as_if_its_gaps_were_all_as_short_as_the_shortest() {
        let rate = |draft: ScheduleDraft| {
            per_second(&draft.build().unwrap(), Timestamp::from_millis(1_800_000_000_000))
        };
        let job = || JobDraft::new("t", "null");
        let every = |millis| ScheduleDraft::every("s", Duration::from_millis(millis), job());
        assert_eq!(rate(every(1000)), 1.0);
        assert_eq!(rate(every(2500)), 0.4);
        for (cron, gap) in [
            ("* * * * * *", 1.0),
            ("* * * * *", 60.0),
            ("*/20 * * * * *", 20.0),
            ("0,1 0 0 * * *", 1.0),
            ("* 0 2 * * *", 1.0),
            ("0,59 * * * * *", 1.0),
            ("0,30,31 * * * *", 60.0),
            ("0 0 0,11,12 * * *", 3600.0),
            ("30 2 * * *", 86_400.0),
            ("0 0 1,2,28 * *", 86_400.0),
            ("0 0 1 1 *", 365.0 * 86_400.0),
            ("* * * * * * 2030", 1.0),
        ] {
            assert_eq!(rate(ScheduleDraft::cron("s", cron, job())), 1.0 / gap, "{cron}");
        }
        let once = every(1000).end(Timestamp::from_millis(1_800_000_001_000));
        assert_eq!(rate(ScheduleDraft::cron("s", "* * * * * * 2000", job())), 0.0);
        assert_eq!(rate(once), 1.0);
    }
}
