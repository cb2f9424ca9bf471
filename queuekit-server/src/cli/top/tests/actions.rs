//! Actions: what is asked before, what acts and what does not.

use super::{assert_shows, noon, press, shop};
use crate::cli::top::act::{Act, BulkAct, Verb};
use crate::cli::top::model::{Event, Mode, Model, Request};

/// What is done, if anything.
fn done(requests: Vec<Request>) -> Option<Act> {
    requests.into_iter().find_map(|request| match request {
        Request::Do(act) => Some(act),
        _ => None,
    })
}

/// The jobs that are counted, if any.
fn counted(requests: Vec<Request>) -> Option<BulkAct> {
    requests.into_iter().find_map(|request| match request {
        Request::Count(act) => Some(act),
        _ => None,
    })
}

/// A dashboard with the question that these keys open, once `count` jobs were counted.
#[track_caller]
fn asked(keys: &str, count: u64) -> Model {
    let mut model = shop::open();
    let requests = press(&mut model, keys);
    if let Some(act) = counted(requests) {
        let _ = model.update(Event::Counted(act, Ok(count)), noon());
    }
    assert!(matches!(model.mode, Mode::Confirm(_)), "{keys:?} asks");
    model
}

/// Guard: `Confirm::press` acts on an explicit yes only.
#[test]
fn every_action_names_its_target_and_acts_on_a_yes_only() {
    let job = shop::id(3);
    for (keys, question, expected) in [
        ("2p", "Pause queue emails?".to_owned(), "Pause"),
        ("2jp", "Resume queue images?".to_owned(), "Resume"),
        ("3jjr", format!("Retry job {job} (shop.mail)?"), "Job"),
        ("3jjD", format!("Delete job {job} (shop.mail)?"), "Job"),
        ("3jc", format!("Cancel job {} (shop.mail)?", shop::id(2)), "Job"),
        ("3jn", format!("Run now: job {} (shop.mail)?", shop::id(2)), "Job"),
        ("3jj\nr", format!("Retry job {job} (shop.mail)?"), "Job"),
        ("2D", "Delete 7 jobs of queue emails?".to_owned(), "Bulk"),
        ("4R", "Retry 7 jobs of error group 3f1c9a2b77d0e415 in queue emails?".to_owned(), "Bulk"),
        ("5p", "Quiet worker mailer-1?".to_owned(), "Order"),
        ("5jr", "Resume worker mailer-2?".to_owned(), "Order"),
        ("5S", "Stop worker mailer-1?".to_owned(), "Order"),
        ("5\nS", "Stop worker mailer-1?".to_owned(), "Order"),
        ("5s12\n", "Limit worker mailer-1 to 12 slots?".to_owned(), "Order"),
        ("4D", "Delete 7 jobs of error group 3f1c9a2b77d0e415 in queue emails?".to_owned(), "Bulk"),
    ] {
        let mut model = asked(keys, 7);
        let words = super::shown(&mut model, (80, 24));
        let words = words.replace(['│', '\n'], " ");
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(&question), "{question}\n{words}");
        for key in ["\n", "x", "j", " ", "1", "r", "D"] {
            assert!(done(press(&mut model, key)).is_none(), "{keys:?}, then {key:?} acts");
            assert!(matches!(model.mode, Mode::Confirm(_)), "{keys:?}, then {key:?}");
        }
        let act = done(press(&mut model, "y")).unwrap_or_else(|| panic!("{keys:?}: y acts"));
        assert!(format!("{act:?}").starts_with(expected), "{act:?}");
        for no in ["n", "\u{1b}", "q"] {
            let mut model = asked(keys, 7);
            assert!(done(press(&mut model, no)).is_none(), "{keys:?}, then {no:?} acts");
            assert_shows(&mut model, &["nothing was changed"]);
            assert!(done(press(&mut model, "y")).is_none(), "{keys:?}, then no, then yes acts");
        }
    }
}

#[test]
fn each_verb_makes_its_request() {
    for (keys, verb) in [
        ("3jjr", Verb::Retry),
        ("3jn", Verb::RunNow),
        ("3jc", Verb::Cancel),
        ("3jjD", Verb::Delete),
    ] {
        let Some(Act::Job(_, does)) = done(press(&mut asked(keys, 0), "y")) else { panic!() };
        assert_eq!(does, verb);
    }
    let path = |verb: Verb| verb.request(shop::id(3)).1.rsplit('/').next().unwrap().to_owned();
    assert_eq!([path(Verb::Retry), path(Verb::Cancel)], ["retry", "cancel"]);
    assert_eq!(path(Verb::RunNow), "reschedule");
    assert_eq!(Verb::Delete.request(shop::id(3)).0, axum::http::Method::DELETE);
}

#[test]
fn each_order_makes_its_request() {
    for (keys, order, slots) in [
        ("5p", Some("quiet"), None),
        ("5r", Some("resume"), None),
        ("5S", Some("stop"), None),
        ("5s12\n", None, Some(12)),
    ] {
        let Some(Act::Order(worker, order_of)) = done(press(&mut asked(keys, 0), "y")) else {
            panic!("{keys}")
        };
        let body = order_of.request(&worker);
        assert_eq!(body.workers, ["mailer-1"]);
        assert_eq!((body.order.as_deref(), body.slots), (order, slots));
    }
}

#[test]
fn deleting_over_1000_jobs_needs_their_number_typed() {
    let mut model = asked("2D", 1000);
    assert!(done(press(&mut model, "y")).is_some(), "1,000 are deleted with a yes");

    let mut model = asked("2D", 1001);
    assert_shows(&mut model, &["Delete 1,001 jobs of queue emails?", "Type 1001"]);
    for wrong in ["y", "\n", "1000\n"] {
        assert!(done(press(&mut model, wrong)).is_none(), "{wrong:?} acts");
    }
    let mut model = asked("2D", 1001);
    assert!(matches!(done(press(&mut model, "1001\n")), Some(Act::Bulk(_))));
    // A retry can be repeated or cancelled.
    assert!(done(press(&mut asked("4R", 1001), "y")).is_some());
}

#[test]
fn only_jobs_that_the_action_changes_are_counted() {
    let act = counted(press(&mut shop::open(), "2D")).unwrap();
    assert_eq!(act.bulk.filter.queue.as_deref(), Some("emails"));
    assert!(!act.bulk.filter.status.unwrap().contains("running"));
    let act = counted(press(&mut shop::open(), "4R")).unwrap();
    let filter = &act.bulk.filter;
    assert_eq!(filter.status.as_deref(), Some("dead"));
    assert_eq!(filter.group.as_deref(), Some("3f1c9a2b77d0e415"));
    assert_eq!(filter.queue.as_deref(), Some("emails"));
}

#[test]
fn an_action_that_is_impossible_says_why() {
    for (keys, why) in [
        ("3r", "this job is running, and only jobs that are dead or cancelled can be retried"),
        ("3D", "this job is running, and only jobs that are"),
        ("3jjn", "this job is dead, and only jobs that are"),
        ("3jjjjc", "this job is completed, and only jobs that are"),
        ("1r", "press 3 for Jobs"),
        ("3p", "press 2 for Queues"),
        ("5R", "press 4 for Errors"),
        ("5s0\n", "type a number from 1 on"),
        ("1s", "press 5 for Workers"),
        ("3e", "press 2 for Queues"),
        ("5/nobody\ns", "nothing is selected"),
        ("5/nobody\nS", "nothing is selected"),
        ("1D", "D deletes jobs in the tabs Queues, Jobs and Errors"),
        ("2/nothing\np", "nothing is selected"),
        ("2/nothing\nD", "nothing is selected"),
        ("1/", "the overview has no filter"),
    ] {
        let mut model = shop::open();
        let requests = press(&mut model, keys);
        assert_shows(&mut model, &[why]);
        let is_open = matches!(model.mode, Mode::Browse | Mode::Slots { .. });
        assert!(is_open && done(requests).is_none(), "{keys:?}");
    }
}

#[test]
fn no_jobs_to_change_is_said_instead_of_asked() {
    let mut model = shop::open();
    let act = counted(press(&mut model, "4R")).unwrap();
    let _ = model.update(Event::Counted(act, Ok(0)), noon());
    assert_shows(&mut model, &["has no jobs that can be retried"]);
    let act = counted(press(&mut model, "4R")).unwrap();
    let _ = model.update(Event::Counted(act, Err("no answer".to_owned())), noon());
    assert_shows(&mut model, &["no answer"]);
}

#[test]
fn a_count_that_was_given_up_opens_no_question() {
    let mut model = shop::open();
    let act = counted(press(&mut model, "2D")).unwrap();
    press(&mut model, "\u{1b}");
    let _ = model.update(Event::Counted(act, Ok(7)), noon());
    assert!(matches!(model.mode, Mode::Browse));
}

#[test]
fn one_action_at_a_time_and_its_end_is_said() {
    let mut model = asked("2p", 0);
    press(&mut model, "y");
    assert_shows(&mut model, &["pausing queue emails"]);
    press(&mut model, "p");
    assert_shows(&mut model, &["wait until it has ended"]);
    let is_quit = |requests: &[Request]| matches!(requests, [Request::Quit]);
    assert!(!is_quit(&press(&mut model, "q")), "the action would be left unfinished");
    assert_shows(&mut model, &["q again leaves it unfinished"]);
    assert!(is_quit(&press(&mut model, "q")));
    let _ = model.update(Event::Done(Ok("queue emails is paused".to_owned())), noon());
    assert_shows(&mut model, &["queue emails is paused"]);
    assert!(is_quit(&press(&mut model, "q")));
}
