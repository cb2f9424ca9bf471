//! What the overview warns of besides queues, workers and errors, and what can be done about it.

use queuekit::queues::Count;
use queuekit::store::capability::{Cause, Finding, Severity};
use queuekit::{QueueName, Status};
use serde_json::json;

use super::screens::check;
use super::{assert_shows, noon, press, seconds_ago, seconds_later, shop};
use crate::cli::top::act::{Act, BulkAct};
use crate::cli::top::extras::Extra;
use crate::cli::top::model::{Answered, Ask, Event, Failure, Got, Mode, Model, Request};

/// A late schedule, a consumer that lags and one that is disabled, and an old transaction.
fn trouble() -> Model {
    let mut model = shop::open();
    let mut queues = shop::queues();
    let mut deliveries = queues[2].clone();
    deliveries.name = QueueName::try_from("event.billing".to_owned()).unwrap();
    deliveries.counts.set(Status::Ready, Count::exact(120));
    queues.push(deliveries);
    let consumer = |name: &str, enabled: bool| {
        let value = json!({
            "consumer": name, "queue": format!("event.{name}"), "events": "order.*",
            "ordered": false, "fair": false, "enabled": enabled, "max_attempts": 3,
            "timeout_ms": 60_000, "delay_ms": 0,
        });
        serde_json::from_value(value).unwrap()
    };
    let schedule = |name: &str, at: i64| {
        let next = crate::wire::Time(seconds_ago(at));
        serde_json::from_value(json!({ "name": name, "next_at": next })).unwrap()
    };
    let finding = |cause, message: &str| Finding {
        severity: Severity::Warning,
        cause,
        message: message.to_owned(),
        remedy: "End it, or set idle_in_transaction_session_timeout.".to_owned(),
    };
    let findings = vec![
        finding(Cause::Operation, "a transaction of shop has been open for 12m"),
        finding(Cause::Setup, "synchronous_commit is off"),
    ];
    let paused = serde_json::from_value(json!({ "name": "paused", "paused": true })).unwrap();
    let answers = [
        (Ask::Queues, Got::Queues(shop::listed(queues))),
        (
            Ask::Extra(Extra::Consumers),
            Got::Consumers(vec![consumer("billing", true), consumer("crm", false)]),
        ),
        (
            Ask::Extra(Extra::Schedules),
            Got::Schedules(vec![schedule("hourly", 60), schedule("nightly", 300), paused]),
        ),
        (Ask::Extra(Extra::Findings), Got::Findings(findings)),
    ];
    let answers = answers.into_iter().map(|(ask, got)| Answered { ask, got: Ok(got) }).collect();
    let _ = model.update(Event::Answered(answers), noon());
    model
}

/// The overview with this sentence selected.
#[track_caller]
fn selected(sentence: &str) -> Model {
    let mut model = trouble();
    let at = model.rows().iter().position(|row| row.starts_with(sentence));
    let at = at.unwrap_or_else(|| panic!("{sentence}: {:?}", model.rows()));
    press(&mut model, &"j".repeat(at));
    model
}

#[test]
fn the_overview_warns_of_what_the_dashboard_warns_of() {
    let model = trouble();
    let rows = model.rows();
    for sentence in [
        "Schedule nightly is late",
        "Consumer billing lags: 120 deliveries wait",
        "Consumer crm is disabled",
        "A transaction of shop has been open for 12m",
    ] {
        assert!(rows.iter().any(|row| row == sentence), "{sentence}: {rows:?}");
    }
    assert!(!rows.iter().any(|row| row.contains("hourly") || row.contains("synchronous")));
    check("attention", &mut selected("Schedule nightly"));
}

/// Guard: a time that was to come when it was read is not late because it was not read again.
#[test]
fn a_schedule_is_not_late_because_it_was_read_long_ago() {
    let mut model = trouble();
    let _ = model.update(Event::Tick, seconds_later(3600));
    assert!(!model.rows().iter().any(|row| row.contains("hourly")), "{:?}", model.rows());
}

#[test]
fn each_other_part_takes_the_place_of_the_errors_in_its_turn() {
    let mut model = shop::open();
    let mut third = Vec::new();
    for second in 1..=7 {
        let asked = model.update(Event::Tick, seconds_later(second));
        let [Request::Round(asks)] = &asked[..] else { panic!("{asked:?}") };
        assert_eq!(asks.len(), 3);
        third.push(asks[2].clone());
        let refused = asks.iter().cloned().map(|ask| {
            let why = "this key lacks the scope admin".to_owned();
            let got = match ask {
                Ask::Extra(Extra::Consumers) => Ok(Got::Consumers(Vec::new())),
                Ask::Extra(Extra::Schedules) => Err(Failure::Away("no answer".to_owned())),
                _ => Err(Failure::Refused(why)),
            };
            Answered { ask, got }
        });
        let _ = model.update(Event::Answered(refused.collect()), seconds_later(second));
    }
    let groups = || Ask::Groups { queue: None };
    let parts = [
        Ask::Extra(Extra::Consumers),
        groups(),
        Ask::Extra(Extra::Schedules),
        groups(),
        Ask::Extra(Extra::Findings),
        groups(),
    ];
    assert_eq!(third, [parts.as_slice(), &[groups()]].concat());
    // After a minute all are due but what was refused.
    let mut later = Vec::new();
    for second in 70..76 {
        let asked = model.update(Event::Tick, seconds_later(second));
        let [Request::Round(asks)] = &asked[..] else { panic!("{asked:?}") };
        later.push(asks[2].clone());
        let answers = asks.iter().cloned().map(|ask| {
            let got = Ok(Got::Consumers(Vec::new()));
            Answered { ask, got }
        });
        let _ = model.update(Event::Answered(answers.collect()), seconds_later(second));
    }
    assert!(
        later.contains(&Ask::Extra(Extra::Consumers))
            && later.contains(&Ask::Extra(Extra::Schedules)),
        "{later:?}"
    );
    assert!(!later.contains(&Ask::Extra(Extra::Findings)), "{later:?}");
}

#[test]
fn what_mends_it_is_confirmed_first() {
    for (sentence, key, question) in [
        ("images is paused", "a resume queue", "Resume queue images?"),
        ("Schedule nightly", "a run now", "Run schedule nightly now?"),
        ("Consumer crm", "a enable consumer", "Enable consumer crm?"),
    ] {
        let mut model = selected(sentence);
        assert_shows(&mut model, &[key]);
        press(&mut model, "a");
        assert_shows(&mut model, &[question]);
        assert!(matches!(model.mode, Mode::Confirm(_)));
        let act = done(press(&mut model, "y"));
        let is_right = match act.unwrap_or_else(|| panic!("{sentence}: y acts")) {
            Act::Resume(queue) => queue.as_str() == "images",
            Act::RunSchedule(name) => name == "nightly",
            Act::EnableConsumer(name) => name == "crm",
            _ => false,
        };
        assert!(is_right, "{sentence}");
        let mut model = selected(sentence);
        press(&mut model, "a");
        assert!(done(press(&mut model, "n")).is_none(), "{sentence}");
    }
}

#[test]
fn dead_jobs_of_a_new_error_are_counted_and_retried_over_some_time() {
    let mut model = selected("New error in emails");
    let counted = press(&mut model, "a").into_iter().find_map(|request| match request {
        Request::Count(act) => Some(act),
        _ => None,
    });
    let act: BulkAct = counted.expect("its jobs are counted");
    assert_eq!(act.bulk.filter.group.as_deref(), Some("3f1c9a2b77d0e415"));
    assert_eq!(act.bulk.filter.queue.as_deref(), Some("emails"));
    let _ = model.update(Event::Counted(act, Ok(7)), noon());
    assert_shows(&mut model, &["Retry 7 jobs of error group", "at a random time within"]);
    let Some(Act::Bulk(act)) = done(press(&mut model, "y")) else { panic!("y acts") };
    let over = queuekit::jobs::BulkAction::RetryOver(std::time::Duration::from_secs(600));
    assert_eq!(act.bulk.action, over);
}

#[test]
fn without_a_remedy_the_key_says_so_and_does_nothing() {
    let mut model = selected("A transaction");
    assert!(press(&mut model, "a").is_empty());
    assert_shows(&mut model, &["nothing can be done about it here"]);
    let mut model = trouble();
    press(&mut model, "2a");
    assert_shows(&mut model, &["press 1 for Overview"]);
}

#[test]
fn enter_goes_to_the_deliveries_or_names_the_command() {
    for (sentence, shows) in [
        ("Consumer billing", "Queue event.billing"),
        ("Consumer crm", "`queuekit subscription list` says more"),
        ("Schedule nightly", "`queuekit cron list` says more"),
        ("A transaction", "`queuekit doctor` says more"),
    ] {
        let mut model = selected(sentence);
        press(&mut model, "\n");
        assert_shows(&mut model, &[shows]);
    }
}

/// What is done, if anything.
fn done(requests: Vec<Request>) -> Option<Act> {
    requests.into_iter().find_map(|request| match request {
        Request::Do(act) => Some(act),
        _ => None,
    })
}
