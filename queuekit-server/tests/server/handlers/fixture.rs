//! A store, a file of settings, and workers.

use std::time::Duration;

use queuekit::{Bytes, Client, Job, JobDraft, JobId, State};

use crate::sandbox::{Ran, Running, Sandbox};

/// A worker whose file of settings is named, and may turn on every handler.
pub(crate) const WORK: [&str; 3] = ["work", "--config", "queuekit.toml"];

/// Where one test takes place.
pub(crate) struct Place {
    pub(crate) sandbox: Sandbox,
    pub(crate) client: Client,
}

impl Place {
    /// With this file of settings.
    pub(crate) async fn new(settings: &str) -> Self {
        Self::within(Sandbox::new(), settings).await
    }

    /// The same, with an environment.
    pub(crate) async fn within(sandbox: Sandbox, settings: &str) -> Self {
        sandbox.write("queuekit.toml", settings);
        let client = sandbox.store("queuekit.db").await;
        Self { sandbox, client }
    }

    pub(crate) async fn enqueue(&self, kind: &str, payload: impl ToString) -> JobId {
        let payload = Bytes::from(payload.to_string());
        self.client.enqueue(JobDraft::new(kind, payload)).await.unwrap()
    }

    /// Runs what can run now.
    #[track_caller]
    pub(crate) fn work(&self) -> Ran {
        let ran = self.sandbox.run(&[&WORK[..], &["--until-idle"]].concat());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        ran
    }

    /// A worker that keeps running, and takes over jobs of another worker once their leases have
    /// expired.
    pub(crate) fn worker(&self) -> Running {
        let mut worker = self.sandbox.start(&WORK);
        worker.says("working");
        worker
    }

    pub(crate) async fn job(&self, id: JobId) -> Job {
        self.client.jobs().get(id).await.unwrap().expect("it is there")
    }

    /// The job after one run.
    pub(crate) async fn run(&self, kind: &str, payload: impl ToString) -> Job {
        let id = self.enqueue(kind, payload).await;
        self.work();
        self.job(id).await
    }

    /// Waits until the job has come to this.
    pub(crate) async fn until(&self, id: JobId, state: State) -> Job {
        loop {
            let job = self.job(id).await;
            if job.state == state {
                return job;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

/// Its run failed with these words, and it is to be tried again.
#[track_caller]
pub(crate) fn retried(job: &Job, said: &str) {
    assert_eq!((job.state, job.attempts), (State::Pending, 1), "{job:?}");
    told(job, said);
}

/// Its run failed with these words, and it is dead.
#[track_caller]
pub(crate) fn dead(job: &Job, said: &str) {
    assert_eq!((job.state, job.attempts), (State::Dead, 1), "{job:?}");
    told(job, said);
}

#[track_caller]
fn told(job: &Job, said: &str) {
    let error = job.errors.last().expect("an error").error.to_string();
    assert!(error.contains(said), "{said:?} is not in {error}");
}

/// Its result, as JSON.
#[track_caller]
pub(crate) fn result(job: &Job) -> serde_json::Value {
    assert_eq!(job.state, State::Completed, "{job:?}");
    serde_json::from_slice(job.result.as_ref().expect("a result")).unwrap()
}
