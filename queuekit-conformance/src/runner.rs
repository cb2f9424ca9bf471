//! Running cases: one as a test, or all of them for a report.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt, stream};

use crate::explain::explanation;
use crate::skip::tell_of_slack;
use crate::{CASES, Capability, CaseInfo, Expect, Harness, World, skip};

/// How long one case may take before it counts as hanging, unless
/// [`Harness::case_timeout`] says otherwise.
pub const CASE_TIMEOUT: Duration = Duration::from_secs(60);

const CASES_AT_ONCE: usize = 8;

/// The verdict on one case.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// The store keeps the rule.
    Passed,
    /// The store breaks the rule. The text has what the case shows, its guard, where the rule is,
    /// and the message of the panic, or that the case hung.
    Failed(String),
    /// The store or the harness lacks what the case needs.
    Skipped(String),
}

/// The verdicts on every case.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Report {
    /// Each case's name and verdict, in the order of [`CASES`].
    pub verdicts: Vec<(&'static str, Verdict)>,
}

impl Report {
    /// The cases that failed, with their messages.
    pub fn failures(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.verdicts.iter().filter_map(|(name, verdict)| match verdict {
            Verdict::Failed(message) => Some((*name, message.as_str())),
            Verdict::Passed | Verdict::Skipped(_) => None,
        })
    }

    /// How many cases passed.
    pub fn passed(&self) -> usize {
        self.count(|verdict| *verdict == Verdict::Passed)
    }

    /// How many cases were skipped.
    pub fn skipped(&self) -> usize {
        self.count(|verdict| matches!(verdict, Verdict::Skipped(_)))
    }

    fn count(&self, is: impl Fn(&Verdict) -> bool) -> usize {
        self.verdicts.iter().filter(|(_, verdict)| is(verdict)).count()
    }
}

/// Runs every case in this process, each in its own store. A failing case does not affect the
/// others, and does not panic here. Needs a multi-threaded tokio runtime.
pub async fn run_all(harness: &dyn Harness) -> Report {
    let run = |case: &'static CaseInfo| async move { (case.name, run_case(harness, case).await) };
    let verdicts = stream::iter(CASES).map(run).buffered(CASES_AT_ONCE).collect();
    Report { verdicts: verdicts.await }
}

/// Runs one case in its own store.
pub async fn run_case(harness: &dyn Harness, case: &'static CaseInfo) -> Verdict {
    let failed = |what: &str| Verdict::Failed(format!("{}\n{what}", explanation(case)));
    match attempt(harness, case).await {
        Outcome::Done => Verdict::Passed,
        Outcome::Skipped(why) => Verdict::Skipped(why),
        Outcome::Hung => failed(&hung(harness)),
        Outcome::Panicked(panic) => failed(message(&*panic)),
    }
}

/// The body of each test that [`conformance!`](crate::conformance) makes: panics if the case
/// fails, after what the case shows was written to stderr; says on stderr if the case is skipped.
///
/// # Panics
/// If the case fails or hangs, or no runtime can be started.
#[expect(clippy::print_stderr, reason = "it is captured with the output of the test")]
pub fn test_case(harness: &dyn Harness, name: &str) {
    let case = CASES.iter().find(|case| case.name == name).expect("a case of this name");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(4)
        .enable_all()
        .build()
        .expect("a tokio runtime");
    let outcome = runtime.block_on(attempt(harness, case));
    // A case that hangs must not hang its test.
    runtime.shutdown_background();
    if matches!(outcome, Outcome::Hung | Outcome::Panicked(_)) {
        // Captured with the panic's message, which the hook has printed.
        eprintln!("\n{}", explanation(case));
    }
    match outcome {
        Outcome::Done => {}
        Outcome::Skipped(why) => skip(name, &why),
        Outcome::Hung => panic!("{}", hung(harness)),
        Outcome::Panicked(panic) => resume_unwind(panic),
    }
}

fn hung(harness: &dyn Harness) -> String {
    format!("the case did not end within {:?} (`Harness::case_timeout`)", harness.case_timeout())
}

enum Outcome {
    Done,
    Skipped(String),
    Hung,
    Panicked(Box<dyn std::any::Any + Send>),
}

async fn attempt(harness: &dyn Harness, case: &'static CaseInfo) -> Outcome {
    if let Some(why) = harness.why_absent().await {
        return Outcome::Skipped(why);
    }
    let world = harness.open().await;
    if !world.expect().clock_stands {
        tell_of_slack();
    }
    let outcome = match why_skipped(case, &world.expect()) {
        Some(why) => Outcome::Skipped(why),
        None => in_task(case, Arc::clone(&world), harness.case_timeout()).await,
    };
    world.dispose().await;
    outcome
}

async fn in_task(case: &'static CaseInfo, world: Arc<dyn World>, limit: Duration) -> Outcome {
    let mut task = tokio::spawn(async move { (case.run)(&*world).await });
    match tokio::time::timeout(limit, &mut task).await {
        Ok(Ok(())) => Outcome::Done,
        Ok(Err(error)) => match error.try_into_panic() {
            Ok(panic) => Outcome::Panicked(panic),
            Err(_) => Outcome::Hung,
        },
        Err(_) => {
            task.abort();
            Outcome::Hung
        }
    }
}

fn why_skipped(case: &CaseInfo, expect: &Expect) -> Option<String> {
    if let Some(why) = lacks(case.capabilities, expect) {
        return Some(why);
    }
    let missing = case.needs.iter().find(|need| !need.is_met_by(expect))?;
    Some(format!("needs {missing:?}, which the harness states it lacks"))
}

/// What the store lacks of what a case needs, if anything.
pub(crate) fn lacks(capabilities: &[Capability], expect: &Expect) -> Option<String> {
    let lacking = capabilities.iter().filter(|capability| !expect.has(**capability));
    let lacking: Vec<String> = lacking.map(|capability| format!("{capability:?}")).collect();
    let names = lacking.join(" and ");
    let why = format!("needs {names}, not among the harness's `Expect::capabilities`");
    (!lacking.is_empty()).then_some(why)
}

fn message(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("panicked")
}
