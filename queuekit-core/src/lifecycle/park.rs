//! What happens to a job whose payload could not be read.

use std::time::Duration;

use crate::backend::{LeaseToken, Nack, NackKind};
use crate::job::{Job, Undecodable};
use crate::limits::UNDECODABLE;
use crate::retry::undecodable_delay;
use crate::rfc3339::written;

/// The nack of a job whose payload the holder of this lease cannot read (contract R13.8): a release
/// with a mark, or the end if that was so for 7 days. `job` is the job as it is read under the
/// lease.
///
/// What is read does not change until the lease ends, so the fence of the nack holds for it too.
pub fn park(job: &Job, lease: LeaseToken, error: &str) -> Nack {
    let met = job.started_at.unwrap_or(job.created_at);
    let before = job.undecodable();
    let since = before.map_or(met, |mark| mark.since);
    let times = before.map_or(1, |mark| mark.times.saturating_add(1));
    let mark = Undecodable::new(error, since, times);
    if met.since(since) >= UNDECODABLE {
        let text =
            format!("its payload could not be read since {}: {}", written(since), mark.error);
        return Nack::new(lease, NackKind::Fatal, text, Duration::ZERO);
    }
    Nack::undecodable(lease, mark, undecodable_delay(times))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Nonce;
    use crate::clock::Timestamp;
    use crate::job::{JobId, Release, ReleaseCause};
    use crate::names::{Kind, QueueName};

    const MS: Duration = Duration::from_millis(1);

    fn parked(before: Option<Undecodable>, met: Timestamp) -> Nack {
        let id: JobId = "019b76da-a800-7000-8000-0000000037a8".parse().unwrap();
        let kind = Kind::new("greet").unwrap();
        let mut job = Job::pending(id, QueueName::default(), kind, Timestamp::default());
        job.started_at = Some(met);
        job.releases = before.as_ref().map_or(0, |mark| mark.times);
        job.released.extend(before.map(|mark| Release {
            lease_seq: 1,
            at: met,
            started_at: None,
            worker: None,
            cause: Some(ReleaseCause::Undecodable),
            undecodable: Some(Box::new(mark)),
        }));
        let nonce = Nonce::from_bytes([1; 16]);
        park(&job, LeaseToken { queue: QueueName::default(), id, lease_seq: 2, nonce }, "at name")
    }

    #[test]
    fn r13_8_the_first_is_when_the_lease_was_granted_that_met_it() {
        let met = Timestamp::from_millis(7_000);
        let nack = parked(None, met);
        assert_eq!((nack.kind, nack.delay()), (NackKind::Release, Duration::from_secs(1)));
        assert_eq!(nack.mark(), Some(&Undecodable::new("at name", met, 1)));
        let nack = parked(nack.mark().cloned(), met + Duration::from_secs(1));
        assert_eq!(nack.mark(), Some(&Undecodable::new("at name", met, 2)));
        assert_eq!(nack.delay(), Duration::from_secs(2));
    }

    #[test]
    fn r13_8_it_is_dead_if_it_is_met_7_days_after_the_first() {
        let since = Timestamp::from_millis(7_000);
        let mark = || Some(Undecodable::new("at name", since, 170));
        let nack = parked(mark(), since + (UNDECODABLE - MS));
        assert_eq!((nack.kind, nack.delay()), (NackKind::Release, Duration::from_secs(3600)));
        let nack = parked(mark(), since + UNDECODABLE);
        assert_eq!(nack.kind, NackKind::Fatal);
        let told = "its payload could not be read since 1970-01-01T00:00:07.000Z: at name";
        assert_eq!(nack.error.as_str(), told);
        assert_eq!(nack.mark(), None);
    }
}
