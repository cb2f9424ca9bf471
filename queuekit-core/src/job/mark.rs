//! Whether a job is marked as one whose payload could not be read.

use super::{Job, ReleaseCause, Undecodable};

impl Job {
    /// The mark of a job whose payload could not be read when a worker last tried (contract R13.8).
    ///
    /// A run that failed or snoozed has read the payload, so it ends the mark; an end and a retry
    /// do so too.
    pub fn undecodable(&self) -> Option<&Undecodable> {
        if self.state.is_terminal() {
            return None;
        }
        let last_failure = self.errors.last().map_or(0, |failure| failure.lease_seq);
        // `releases` counts from the last retry on.
        let since_retry = self.released.iter().rev().take(self.releases as usize);
        let read = [Some(ReleaseCause::Snooze), Some(ReleaseCause::Sleep)];
        since_retry
            .take_while(|release| release.lease_seq > last_failure)
            .take_while(|release| !read.contains(&release.cause))
            .find_map(|release| release.undecodable.as_deref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Timestamp;
    use crate::job::{ErrorText, Failure, Release, State};
    use crate::names::{Kind, QueueName};

    fn job(causes: &[Option<ReleaseCause>]) -> Job {
        let id = "019b76da-a800-7000-8000-0000000037a8".parse().unwrap();
        let at = Timestamp::default();
        let kind = Kind::new("greet").unwrap();
        let mut job = Job::pending(id, QueueName::default(), kind, at);
        job.releases = causes.len() as u32;
        job.released =
            (1..).zip(causes).map(|(lease_seq, cause)| release(lease_seq, *cause)).collect();
        job
    }

    fn release(lease_seq: u64, cause: Option<ReleaseCause>) -> Release {
        let mark = Undecodable::new("no name", Timestamp::default(), lease_seq as u32);
        let undecodable = (cause == Some(ReleaseCause::Undecodable)).then(|| Box::new(mark));
        let at = Timestamp::default();
        Release { lease_seq, at, started_at: None, worker: None, cause, undecodable }
    }

    const UNDECODABLE: Option<ReleaseCause> = Some(ReleaseCause::Undecodable);

    fn times(job: &Job) -> Option<u32> {
        job.undecodable().map(|mark| mark.times)
    }

    #[test]
    fn r13_8_the_last_mark_holds_until_the_payload_is_read() {
        assert_eq!(times(&job(&[])), None);
        assert_eq!(times(&job(&[UNDECODABLE, UNDECODABLE])), Some(2));
        for cause in [ReleaseCause::Shutdown, ReleaseCause::UnknownKind, ReleaseCause::Throttle] {
            assert_eq!(times(&job(&[UNDECODABLE, Some(cause), None])), Some(1), "{cause}");
        }
        for cause in [ReleaseCause::Snooze, ReleaseCause::Sleep] {
            assert_eq!(times(&job(&[UNDECODABLE, Some(cause), None])), None, "{cause}");
        }
        let mut failed = job(&[UNDECODABLE]);
        let at = Timestamp::default();
        let error = ErrorText::from("no");
        failed.errors =
            vec![Failure { attempt: 1, lease_seq: 2, at, started_at: None, worker: None, error }];
        assert_eq!(times(&failed), None);
        failed.released.push(release(3, UNDECODABLE));
        failed.releases = 2;
        assert_eq!(times(&failed), Some(3));
    }

    #[test]
    fn r13_8_an_end_and_a_retry_end_the_mark() {
        let dead = Job { state: State::Dead, ..job(&[UNDECODABLE]) };
        assert_eq!(times(&dead), None);
        let retried = Job { releases: 0, ..job(&[UNDECODABLE]) };
        assert_eq!(times(&retried), None);
        let released = Job { releases: 1, ..job(&[UNDECODABLE, Some(ReleaseCause::Shutdown)]) };
        assert_eq!(times(&released), None, "its only release since the retry has no mark");
    }
}
