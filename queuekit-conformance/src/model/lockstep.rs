//! One sequence, on a store and on the machine.

use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use queuekit_core::capability::{Admin, Leases, Report, RetryOutcome, ScheduleQuery, Upkeep};
use queuekit_core::event::NewEvent;
use queuekit_core::{
    Ack, Backend, Client, DeadLetter, JobFilter, LeaseToken, LeaseTtl, Nack, NewJob, PageSize,
    QueueName, QueuePatch, Queues, Reserve, SubscriptionDraft, WorkerId,
};

use super::Coverage;
use super::compare;
use super::machine::{Machine, ModelJob};
use super::sequence::{self, Action, QUEUES};
use crate::{Capability, World};

pub(super) struct Lockstep<'a> {
    pub(super) world: &'a dyn World,
    pub(super) store: Arc<dyn Backend>,
    pub(super) client: Client,
    pub(super) machine: Machine,
    pub(super) rng: Rng,
    seed: u64,
    /// All leases, calls and ids of the sequence so far: most are stale, on purpose.
    pub(super) leases: Vec<LeaseToken>,
    jobs: Vec<NewJob>,
    pub(super) emitted: Vec<NewEvent>,
    pub(super) declared: Vec<SubscriptionDraft>,
    worker: WorkerId,
    pub(super) log: Vec<String>,
}

impl<'a> Lockstep<'a> {
    pub(super) fn new(world: &'a dyn World, seed: u64) -> Self {
        Self {
            world,
            store: Arc::clone(world.backend()),
            client: world.client(),
            machine: Machine::default(),
            rng: Rng::with_seed(seed),
            seed,
            leases: Vec::new(),
            jobs: Vec::new(),
            emitted: Vec::new(),
            declared: Vec::new(),
            worker: WorkerId::new("model").expect("a name"),
            log: Vec::new(),
        }
    }

    pub(super) fn coverage(&self) -> &Coverage {
        &self.machine.coverage
    }

    pub(super) async fn run(&mut self, steps: usize) {
        self.machine.now =
            self.world.schedule_rows(ScheduleQuery::Due(None, 0)).await.now.as_millis();
        self.go_to_the_middle().await;
        for queue in QUEUES {
            let patch = sequence::settings(&mut self.rng, queue);
            self.configure(queue, patch).await;
        }
        for step in 1..=steps {
            // A tick apart, so that no order depends on equal times.
            self.advance(Duration::from_millis(1)).await;
            let action = sequence::action(&mut self.rng);
            self.step(action).await;
            if step.is_multiple_of(10) || step == steps {
                self.compare().await;
            }
        }
    }

    async fn compare(&mut self) {
        let slack = self.world.slack();
        compare::everything(&*self.store, &self.machine, slack, &mut self.rng).await;
        if self.has_events() {
            self.compare_events().await;
        }
        self.compare_schedules().await;
    }

    async fn step(&mut self, action: Action) {
        match action {
            Action::Enqueue => self.enqueue().await,
            Action::Repeat => self.repeat().await,
            Action::Reserve => self.reserve().await,
            Action::Ack => self.ack().await,
            Action::Nack => self.nack().await,
            Action::DeadLetterLease => self.dead_letter_lease().await,
            Action::DeadLetterJob => self.dead_letter_job().await,
            Action::Cancel => self.cancel().await,
            Action::Delete => self.delete().await,
            Action::Retry => self.retry().await,
            Action::Reschedule => self.reschedule().await,
            Action::Extend => self.extend().await,
            Action::Report => self.report().await,
            Action::Corrupt => self.corrupt().await,
            Action::Pause => self.pause().await,
            Action::Configure => {
                let queue = self.some_queue_in_use();
                let patch = sequence::change(&mut self.rng, queue.as_str());
                self.configure(queue.as_str(), patch).await;
            }
            Action::Advance => {
                let by = sequence::pause_of_time(&mut self.rng);
                self.log.push(format!("advance {by:?}"));
                self.advance(by).await;
            }
            Action::Prune => self.prune().await,
            Action::Event(action) if self.has_events() => self.event_step(action).await,
            Action::Event(_) => {}
            Action::Schedule(action) => self.schedule_step(action).await,
        }
    }

    async fn enqueue(&mut self) {
        let count = self.rng.usize(1..=4);
        let jobs: Vec<NewJob> = (0..count).map(|_| sequence::job(&mut self.rng)).collect();
        self.send(jobs).await;
    }

    /// A call that is made again, or one that reuses an id for something else.
    async fn repeat(&mut self) {
        let Some(job) = self.pick(|lockstep| &lockstep.jobs) else {
            return;
        };
        let job = if self.rng.u8(..4) == 0 {
            let other = queuekit_core::JobDraft::new("kind", "other").queue(job.queue());
            other.id(job.id()).build().expect("a valid job")
        } else {
            job
        };
        self.send(vec![job.repeated()]).await;
    }

    async fn send(&mut self, jobs: Vec<NewJob>) {
        for job in &jobs {
            self.log.push(format!("enqueue {job:?}"));
        }
        let outcomes = self.store.enqueue(&jobs).await.expect("enqueue");
        assert_eq!(outcomes.len(), jobs.len());
        for (job, outcome) in jobs.iter().zip(outcomes) {
            let expected = self.machine.enqueue(job);
            assert!(expected.fits(outcome), "{}: {outcome:?}, not {expected:?}", job.id());
        }
        self.jobs.extend(jobs);
    }

    async fn reserve(&mut self) {
        let mut queues: Vec<QueueName> = self.machine.queues.keys().cloned().collect();
        self.rng.shuffle(&mut queues);
        queues.truncate(self.rng.usize(1..=3));
        let limit = self.rng.usize(0..=4);
        let ttl = LeaseTtl::default();
        let queues = Queues::Strict(queues);
        let request = Reserve::new(queues, limit, ttl, self.worker.clone()).expect("a nonce");
        let reserved = self.store.reserve(&request).await.expect("reserve");
        let ids: Vec<_> = reserved.leases.iter().map(|lease| lease.id()).collect();
        self.log.push(format!("reserve {limit} of {:?} -> {ids:?}", request.queues.names()));
        self.machine.reserve(&request, &reserved.leases);
        let full = limit > 0 && ids.len() == limit;
        assert!(!full || reserved.more, "a full batch says more");
        self.leases.extend(reserved.leases.into_iter().map(|lease| lease.token));
    }

    async fn ack(&mut self) {
        let leases = self.some_leases();
        let acks: Vec<Ack> =
            leases.into_iter().map(|lease| Ack::new(lease).with_result("done")).collect();
        self.log.push(format!("ack {acks:?}"));
        let outcomes = self.store.ack(&acks).await.expect("ack");
        let expected: Vec<_> = acks.iter().map(|ack| self.machine.ack(ack)).collect();
        assert_eq!(outcomes, expected, "ack");
    }

    async fn nack(&mut self) {
        let leases = self.some_leases();
        let rng = &mut self.rng;
        let nacks: Vec<Nack> = leases
            .into_iter()
            .map(|lease| {
                let delay = sequence::seconds(rng, &[0, 0, 5, 20]);
                let error = format!("{} {}", ["went wrong", "timeout"][rng.usize(..2)], rng.u8(..));
                Nack::new(lease, sequence::nack_kind(rng), error.as_str(), delay)
            })
            .collect();
        self.log.push(format!("nack {nacks:?}"));
        let outcomes = self.store.nack(&nacks).await.expect("nack");
        let expected: Vec<_> = nacks.iter().map(|nack| self.machine.nack(nack)).collect();
        assert_eq!(outcomes, expected, "nack");
    }

    async fn dead_letter_lease(&mut self) {
        let leases = self.some_leases();
        self.dead_letter(leases.into_iter().map(|lease| DeadLetter::of_lease(lease, "unwanted")))
            .await;
    }

    async fn dead_letter_job(&mut self) {
        let Some(id) = self.some_id() else { return };
        let force = self.rng.bool();
        let dead_letter = if force {
            DeadLetter::forced(id, "forced")
        } else {
            DeadLetter::of_job(id, "unwanted")
        };
        self.dead_letter([dead_letter].into_iter()).await;
    }

    async fn dead_letter(&mut self, dead_letters: impl Iterator<Item = DeadLetter>) {
        let dead_letters: Vec<_> = dead_letters.collect();
        self.log.push(format!("dead_letter {dead_letters:?}"));
        let outcomes = self.store.dead_letter(&dead_letters).await.expect("dead_letter");
        let expected: Vec<_> =
            dead_letters.iter().map(|dead_letter| self.machine.dead_letter(dead_letter)).collect();
        assert_eq!(outcomes, expected, "dead_letter");
    }

    async fn cancel(&mut self) {
        let Some(id) = self.some_id() else { return };
        self.log.push(format!("cancel {id}"));
        let outcome = self.admin().cancel(&[id]).await.expect("cancel");
        assert_eq!(outcome, [self.machine.cancel(id)], "cancel {id}");
    }

    async fn delete(&mut self) {
        let Some(id) = self.some_id() else { return };
        let force = self.rng.bool();
        self.log.push(format!("delete {id}, force {force}"));
        let outcome = self.store.delete_job(id, force).await.map_err(|error| error.kind().clone());
        assert_eq!(outcome, self.machine.delete(id, force), "delete {id}");
    }

    async fn retry(&mut self) {
        let Some(id) = self.some_id() else { return };
        let delay = sequence::seconds(&mut self.rng, &[0, 0, 10]);
        self.log.push(format!("retry {id} in {delay:?}"));
        let outcome = self.admin().retry_after(&[(id, delay)]).await.expect("retry_after");
        let is_lost = outcome == [RetryOutcome::Conflict] && self.machine.may_have_no_payload(id);
        if is_lost {
            return;
        }
        assert_eq!(outcome, [self.machine.retry(id, delay)], "retry {id}");
    }

    async fn reschedule(&mut self) {
        let Some(id) = self.some_id() else { return };
        let delay = sequence::seconds(&mut self.rng, &[0, 10]);
        self.log.push(format!("reschedule {id} in {delay:?}"));
        let outcome = self.admin().reschedule(&[id], delay).await.expect("reschedule");
        assert_eq!(outcome, [self.machine.reschedule(id, delay)], "reschedule {id}");
    }

    async fn extend(&mut self) {
        let leases = self.some_leases();
        let ttl = LeaseTtl::default();
        self.log.push(format!("extend {leases:?}"));
        let outcomes = self.leases().extend(&leases, ttl).await.expect("extend");
        let expected: Vec<_> = leases.iter().map(|lease| self.machine.extend(lease, ttl)).collect();
        assert_eq!(outcomes, expected, "extend");
    }

    async fn report(&mut self) {
        let Some(lease) = self.pick(|lockstep| &lockstep.leases) else {
            return;
        };
        let report = Report::new(lease, None, vec!["a line".to_owned()]);
        self.log.push(format!("report {:?}", report.lease));
        let outcome = self.leases().report(std::slice::from_ref(&report)).await.expect("report");
        assert_eq!(outcome, [self.machine.report(&report)], "report");
    }

    async fn corrupt(&mut self) {
        if !self.world.expect().can_corrupt {
            return;
        }
        let Some(id) = self.some_id() else { return };
        let unfinished = |job: &ModelJob| !job.state.is_terminal();
        let job = self.machine.job(id).filter(|job| unfinished(job));
        if !job.is_some_and(|job| sequence::may_corrupt(&job.queue)) {
            return;
        }
        self.log.push(format!("corrupt {id}"));
        assert!(self.world.corrupt(id).await, "the harness can corrupt");
        let job = self.machine.jobs.iter_mut().find(|job| job.id == id).expect("stored");
        job.corrupt = true;
    }

    async fn pause(&mut self) {
        let queue = self.some_queue();
        let patch = match self.rng.u8(..6) {
            0 => QueuePatch::default().paused(true),
            1 => {
                let time = sequence::pause_of_time(&mut self.rng);
                QueuePatch::default().paused(true).pause_reason("r").pause_for(time)
            }
            _ => QueuePatch::default().paused(false),
        };
        self.configure(queue.as_str(), patch).await;
    }

    async fn configure(&mut self, queue: &str, patch: QueuePatch) {
        self.log.push(format!("configure {queue} {patch:?}"));
        let queue = QueueName::new(queue).expect("a name");
        let expected = self.machine.settings(&queue).patched(&patch, self.machine.time());
        self.machine.queues.insert(queue.clone(), expected.clone());
        let settings = self.admin().configure(&queue, &patch).await.expect("configure");
        assert_eq!(settings, expected, "configure {queue}");
    }

    async fn prune(&mut self) {
        self.log.push("prune".to_owned());
        // Jobs that go let events go, in the next round at the latest.
        for _ in 0..2 {
            while self.upkeep().prune().await.expect("prune").more {}
        }
        let left =
            compare::list(&*self.store, JobFilter::default().limit(PageSize::MAX.get())).await;
        self.machine.prune(&left.into_iter().map(|job| job.id).collect());
        if self.has_events() {
            self.prune_events().await;
        }
    }

    pub(super) async fn advance(&mut self, by: Duration) {
        self.world.advance(by).await;
        self.machine.now += i64::try_from(by.as_millis()).expect("fits");
    }

    fn has_events(&self) -> bool {
        self.world.expect().has(Capability::Outbox)
    }

    fn admin(&self) -> &dyn Admin {
        self.store.capabilities().admin.expect("the model test needs Admin")
    }

    fn leases(&self) -> &dyn Leases {
        self.store.capabilities().leases.expect("the model test needs Leases")
    }

    fn upkeep(&self) -> &dyn Upkeep {
        self.store.capabilities().upkeep.expect("the model test needs Upkeep")
    }
}

/// Prints the operations that led to a difference.
impl Drop for Lockstep<'_> {
    #[expect(clippy::print_stderr, reason = "a failing test says what led to it")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("model: seed {} (QUEUEKIT_TEST_SEED={} repeats it):", self.seed, self.seed);
            self.log.iter().for_each(|line| eprintln!("  {line}"));
        }
    }
}
