//! How many workers queues need, for autoscalers.

use std::collections::HashSet;
use std::time::Duration;

use serde::{Serialize, Serializer};

use super::Queue;
use crate::QueueName;
use crate::capability::WorkerInfo;
use crate::job::{State, Status};

/// Slots of a worker if no worker is live: the default concurrency.
const SLOTS_OF_ONE: u64 = 10;

/// The workers and slots that some queues need and have.
///
/// As JSON: the object that `GET /v1/scale` answers. The age is in seconds, as scalers expect it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[non_exhaustive]
pub struct Scale {
    /// Jobs that could run now, without those of paused queues.
    pub ready: u64,
    /// Running jobs, including those whose lease has expired.
    pub running: u64,
    /// Age of the oldest ready job; zero if no job is ready.
    #[serde(rename = "oldest_ready_s", serialize_with = "seconds")]
    #[cfg_attr(feature = "openapi", schema(value_type = f64))]
    pub oldest_ready: Duration,
    /// Live workers that serve any of the queues.
    pub workers: u64,
    /// Jobs that these workers can run at once.
    pub slots: u64,
    /// The number of workers that can run all ready and running jobs at once.
    pub wanted_workers: u64,
}

impl Scale {
    /// Computes what these queues need. A worker has `slots_per_worker` slots, or else the average
    /// of the live workers, or 10 if no worker is live.
    pub fn of<'a>(
        queues: impl IntoIterator<Item = &'a Queue>,
        workers: &[WorkerInfo],
        slots_per_worker: Option<u32>,
    ) -> Self {
        let queues: Vec<_> = queues.into_iter().collect();
        // There may be thousands of queues and workers: comparing each with each would take
        // seconds.
        let names: HashSet<&QueueName> = queues.iter().map(|queue| &queue.name).collect();
        let serves = |worker: &&WorkerInfo| {
            let served = &worker.beat.queues;
            let is_meant = |name: &QueueName| names.contains(name);
            served.names().iter().any(is_meant) || (served.has_more() && !names.is_empty())
        };
        let mut scale = Self::default();
        for queue in &queues {
            scale.ready += queue.ready();
            scale.running += queue.running();
            if !queue.settings.paused {
                let oldest = queue.oldest_ready_age.unwrap_or_default();
                scale.oldest_ready = scale.oldest_ready.max(oldest);
            }
        }
        for worker in workers.iter().filter(serves) {
            scale.workers += 1;
            scale.slots += u64::from(worker.beat.slots);
        }
        let average = scale.slots.checked_div(scale.workers).filter(|slots| *slots > 0);
        let of_one = slots_per_worker.map(u64::from).or(average).unwrap_or(SLOTS_OF_ONE);
        scale.wanted_workers = (scale.ready + scale.running).div_ceil(of_one.max(1));
        scale
    }
}

fn seconds<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
    time.as_secs_f64().serialize(to)
}

impl Queue {
    /// Jobs that want a slot: those that could run now, and those that run. An autoscaler can use
    /// this number before a backlog has formed.
    pub fn demand(&self) -> u64 {
        self.ready() + self.running()
    }

    /// Jobs that have not ended.
    pub fn depth(&self) -> u64 {
        self.counts.of_state(State::Pending).value + self.running()
    }

    fn ready(&self) -> u64 {
        if self.settings.paused { 0 } else { self.counts.get(Status::Ready).value }
    }

    fn running(&self) -> u64 {
        self.counts.of_state(State::Running).value
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capability::{Beat, Served};
    use crate::queue::{Count, QueueSettings, WorkerCounts};
    use crate::{LeaseTtl, Timestamp, WorkerId};

    fn queue(name: &str, counts: &[(Status, u64)]) -> Queue {
        let name = QueueName::new(name).unwrap();
        let mut queue = Queue::empty(name, QueueSettings::default(), Timestamp::default());
        for (status, count) in counts {
            queue.counts.set(*status, Count::exact(*count));
        }
        queue
    }

    fn worker(queue: &str, slots: u32) -> WorkerInfo {
        let (id, queues) = (WorkerId::new("w").unwrap(), [QueueName::new(queue).unwrap()]);
        let beat = Beat::new(id, Served::first(queues), Served::first([]), LeaseTtl::default());
        WorkerInfo::new(Beat { slots, ..beat }, Duration::ZERO)
    }

    #[test]
    fn what_runs_counts_beside_what_waits_and_what_is_not_due_does_not() {
        use Status::*;
        let jobs = [(Ready, 7), (Running, 3), (Expired, 1), (Scheduled, 50), (Failed, 50)];
        let queue = queue("a", &[jobs.as_slice(), &[(Blocked, 50), (Dead, 50)]].concat());
        let scale = Scale::of([&queue], &[], None);
        assert_eq!((scale.ready, scale.running, scale.wanted_workers), (7, 4, 2));
        assert_eq!((queue.demand(), queue.depth()), (11, 161));
    }

    #[test]
    fn jobs_of_a_paused_queue_want_no_worker_but_those_that_run() {
        let mut queue = queue("a", &[(Status::Ready, 100), (Status::Running, 1)]);
        queue.settings.paused = true;
        queue.oldest_ready_age = Some(Duration::from_secs(9));
        let scale = Scale::of([&queue], &[], Some(1));
        assert_eq!((scale.ready, scale.wanted_workers), (0, 1));
        assert_eq!(scale.oldest_ready, Duration::ZERO);
    }

    #[test]
    fn a_worker_has_as_many_slots_as_those_that_serve_the_queues_on_average() {
        let queue = queue("a", &[(Status::Ready, 41)]);
        let workers = [worker("a", 10), worker("a", 30), worker("b", 1000)];
        let scale = Scale::of([&queue], &workers, None);
        assert_eq!((scale.workers, scale.slots, scale.wanted_workers), (2, 40, 3));
        assert_eq!(Scale::of([&queue], &workers, Some(41)).wanted_workers, 1);
        assert_eq!(Scale::of([&queue], &workers, Some(0)).wanted_workers, 41);
        assert_eq!(Scale::of([], &workers, None).wanted_workers, 0);
    }

    /// Guard: 900 million comparisons take minutes in a debug build.
    #[test]
    fn s6_thousands_of_workers_and_queues_are_not_compared_with_each_other() {
        let queues: Vec<_> = (0..3000).map(|n| queue(&format!("queue{n}"), &[])).collect();
        let mut worker = worker("w", 1);
        let names = (0..100).map(|n| QueueName::new(format!("other{n}")).unwrap());
        worker.beat.queues = Served::first(names);
        let workers = vec![worker; 3000];
        let began = std::time::Instant::now();
        assert_eq!(Scale::of(&queues, &workers, None).workers, 0);
        let counts = WorkerCounts::of(workers.iter().map(|worker| &worker.beat));
        assert!(queues.iter().all(|queue| counts.serving(&queue.name) == 0));
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    }
}
