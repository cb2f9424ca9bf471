//! Power cuts: a store can count only on data that it has synced.
//!
//! The power goes when the one process on a [`Disk`] is killed: what survives is what it had
//! synced, and of the rest any part.

mod disk;

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use queuekit_core::{Client, JobId, QueuePatch, State};

pub use disk::{Disk, Shim, Sync};

use super::call::queue;
use super::kill::{assert_errors_are_counted, drain, stored};
use super::process::until;
use super::{Call, Entry, Event, Journal, Process, Role, Scratch, Site, Verdict, runtime};

/// Shares of what was not synced that survive, each as likely as the others.
const KEPT: [f64; 5] = [0.0, 0.0, 0.1, 0.5, 0.9];
/// How long a process may take to reach the moment of its cut.
const PATIENCE: Duration = Duration::from_secs(60);
/// Jobs that wait at most: few enough to be run in the end.
const PENDING: u64 = 200;
/// What a process tells at most before its power goes: some hundred jobs.
const TOLD_BYTES: usize = 300_000;

/// The losses by power cuts.
#[derive(Debug, Default)]
pub struct Losses {
    /// Power cuts.
    pub cuts: usize,
    /// Those in the middle of a checkpoint: before the store's file itself was synced.
    pub in_checkpoints: usize,
    /// Jobs accepted since the cut before.
    pub accepted: usize,
    /// Those of them that were not stored after the cut.
    pub lost: Vec<JobId>,
    /// Jobs whose success was recorded since the cut before.
    pub completed: usize,
    /// Those of them that were not completed after the cut.
    pub undone: Vec<JobId>,
}

impl fmt::Display for Losses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "power cuts: {} ({} in checkpoints), accepted jobs: {}, lost: {}, \
             completed: {}, undone: {}",
            self.cuts,
            self.in_checkpoints,
            self.accepted,
            self.lost.len(),
            self.completed,
            self.undone.len()
        )
    }
}

/// The shim; without a C compiler a test fails that is of the long tier, and is skipped loudly
/// otherwise.
///
/// # Panics
/// If it is required and cannot be built.
pub fn shim(test: &str, scratch: &Scratch) -> Option<Shim> {
    let why = match Shim::build(scratch.path()) {
        Ok(shim) => return Some(shim),
        Err(why) => why,
    };
    assert!(!super::is_long(), "{test}: {why}");
    queuekit_conformance::lacks(test, "cc");
    queuekit_conformance::skip(test, &why);
    None
}

/// Cuts the power of a process that enqueues and works, again and again on one store, and counts
/// what is lost; then, without further cuts, lets everything be done, and judges. None in the
/// processes that the test starts, and where it is skipped. `test` is as for
/// [`kill`](super::kill()).
///
/// # Panics
/// If the store is damaged or does not open after a cut.
pub fn cut(site: &dyn Site, test: &str, cuts: usize) -> Option<(Losses, Verdict)> {
    let cutting = Cutting::new(site, test)?;
    Some(runtime().block_on(cutting.run(cuts)))
}

/// Cuts the power before each of the syncs with which a store is made and opened; answers how many
/// there are. None as for [`cut`].
///
/// # Panics
/// If the store is damaged, does not open or does not work after a cut.
pub fn cut_opening(site: &dyn Site, test: &str) -> Option<u64> {
    let cutting = Cutting::new(site, test)?;
    Some(runtime().block_on(cutting.open_all_ways()))
}

struct Cutting<'a> {
    site: &'a dyn Site,
    test: &'a str,
    shim: Shim,
    scratch: Scratch,
    journal: PathBuf,
}

impl<'a> Cutting<'a> {
    /// None in a process that was started to play a role, which it has played then.
    fn new(site: &'a dyn Site, test: &'a str) -> Option<Self> {
        if let Some(role) = Role::of_this_process() {
            runtime().block_on(super::process_role::play(site, role));
            return None;
        }
        let scratch = Scratch::new();
        let shim = shim(test, &scratch)?;
        let journal = scratch.path().join("journal");
        Some(Self { site, test, shim, scratch, journal })
    }

    async fn run(&self, cuts: usize) -> (Losses, Verdict) {
        let mut image = self.fresh("image").await;
        let journal = Journal::open(&self.journal);
        let mut losses = Losses::default();
        for n in 0..cuts {
            let disk = Disk::holding(self.path(&format!("disk-{n}")), &image);
            let before = self.told_bytes();
            let in_checkpoint = n % 2 == 1;
            self.work_until_cut(&disk, &journal, in_checkpoint).await;
            image = self.path(&format!("image-{n}"));
            disk.survivors(&image, KEPT[fastrand::usize(..KEPT.len())]);
            losses.cuts += 1;
            losses.in_checkpoints += usize::from(in_checkpoint);
            let (told, _) = Journal::read_after(&self.journal, before);
            self.count(&image, &told, &mut losses).await;
        }
        let place = self.site.create(&image).await;
        let store = self.site.open(&place).await;
        let role = Role { callers: 0, ..self.role(&place) };
        let worker = Process::start(self.test, &role, &[]);
        drain(&*store, vec![worker]).await;
        let (entries, _) = Journal::read(&self.journal);
        let stored = stored(&*store, &entries).await;
        assert_errors_are_counted(&*store, &stored).await;
        let verdict = Verdict::of(&entries, &stored);
        store.close().await.expect("close");
        (losses, verdict)
    }

    /// A directory with an empty store whose queue holds a bounded number of jobs.
    async fn fresh(&self, name: &str) -> PathBuf {
        let image = self.path(name);
        std::fs::create_dir(&image).expect("a directory");
        let store = self.site.open(&self.site.create(&image).await).await;
        let admin = store.capabilities().admin.expect("the store has Admin");
        let patch = QueuePatch::default().max_pending(PENDING);
        admin.configure(&queue(), &patch).await.expect("configure");
        store.close().await.expect("close");
        image
    }

    async fn work_until_cut(&self, disk: &Disk, journal: &Journal, in_checkpoint: bool) {
        let place = self.site.create(disk.live()).await;
        let file = Path::new(&place).file_name().expect("a file").to_string_lossy().into_owned();
        let sync = in_checkpoint.then(|| (file.as_str(), fastrand::u64(1..3)));
        let env = self.shim.env(disk, sync);
        let before = self.told_bytes();
        let mut process = Process::start(self.test, &self.role(&place), &env);
        // Some are cut before they have done anything.
        let more = fastrand::usize(..TOLD_BYTES);
        until("the moment of the cut comes", PATIENCE, || {
            let reached = if in_checkpoint {
                process.ended().is_some()
            } else {
                self.told_bytes() >= before + more
            };
            reached.then_some(())
        });
        process.kill(journal);
    }

    async fn count(&self, image: &Path, told: &[Entry], losses: &mut Losses) {
        let place = self.site.create(image).await;
        self.site.check(&place).await;
        let store = self.site.open(&place).await;
        let jobs = stored(&*store, told).await;
        store.close().await.expect("close");
        let accepted: BTreeSet<JobId> = told.iter().filter_map(accepted).collect();
        let completed: BTreeSet<JobId> = told.iter().filter_map(completed).collect();
        losses.accepted += accepted.len();
        losses.completed += completed.len();
        losses.lost.extend(accepted.iter().filter(|id| !jobs.contains_key(id)));
        let done = |id: &JobId| jobs.get(id).is_some_and(|job| job.state == State::Completed);
        losses.undone.extend(completed.iter().filter(|id| !done(id)));
    }

    async fn open_all_ways(&self) -> u64 {
        let empty = self.path("empty");
        std::fs::create_dir(&empty).expect("a directory");
        for sync in 1.. {
            let disk = Disk::holding(self.path(&format!("disk-{sync}")), &empty);
            let place = self.site.create(disk.live()).await;
            let role = Role { callers: 0, worker: None, ..self.role(&place) };
            let env = self.shim.env(&disk, Some(("", sync)));
            if Process::start(self.test, &role, &env).finish().success() {
                return sync - 1;
            }
            for (n, kept) in KEPT.into_iter().enumerate() {
                let image = self.path(&format!("image-{sync}-{n}"));
                disk.survivors(&image, kept);
                self.use_store(&image).await;
            }
        }
        unreachable!("a store opens with fewer syncs")
    }

    async fn use_store(&self, image: &Path) {
        let place = self.site.create(image).await;
        self.site.check(&place).await;
        let client = Client::shared(self.site.open(&place).await);
        let call = Call { caller: "after".to_owned(), number: 0 };
        let jobs = call.enqueue(&client).await.expect("enqueue");
        assert!(client.jobs().get(jobs[0]).await.expect("get_job").is_some());
        client.close().await.expect("close");
    }

    fn role(&self, place: &str) -> Role {
        let worker = Some("worker".to_owned());
        let (name, place) = ("process".to_owned(), place.to_owned());
        let journal = self.journal.clone();
        Role { name, callers: 16, worker, slots: 100, runs_for: None, place, journal }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    fn told_bytes(&self) -> usize {
        let bytes = std::fs::metadata(&self.journal).map_or(0, |journal| journal.len());
        usize::try_from(bytes).expect("it fits into memory")
    }
}

fn accepted(entry: &Entry) -> Option<JobId> {
    match entry.event {
        Event::Accepted(_, job) => Some(job),
        _ => None,
    }
}

fn completed(entry: &Entry) -> Option<JobId> {
    match &entry.event {
        Event::Settled(run, outcome) if outcome == "completed" => Some(run.job),
        _ => None,
    }
}
