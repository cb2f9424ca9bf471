//! What is asked for, when, and what the answers change.

use std::time::Duration;

use super::shop::{self, listed};
use super::{assert_shows, noon, press, seconds_later};
use crate::cli::top::model::{Answered, Ask, Event, Failure, Got, Model, Request};

fn tick(model: &mut Model, seconds: i64) -> Vec<Request> {
    model.update(Event::Tick, seconds_later(seconds))
}

/// The calls of the only round.
#[track_caller]
fn asks(requests: Vec<Request>) -> Vec<Ask> {
    match <[Request; 1]>::try_from(requests) {
        Ok([Request::Round(asks)]) => asks,
        other => panic!("not one round: {other:?}"),
    }
}

fn answered(ask: Ask, got: Result<Got, Failure>) -> Event {
    Event::Answered(vec![Answered { ask, got }])
}

fn away() -> Result<Got, Failure> {
    Err(Failure::Away("no answer from http://shop/".to_owned()))
}

#[test]
fn a_round_asks_for_what_is_on_the_screen_in_three_calls_at_most() {
    for (keys, first) in [
        ("1", Ask::Queues),
        ("2", Ask::Queues),
        ("4", Ask::Groups { queue: None }),
        ("5", Ask::Workers),
        ("2\n", Ask::Queues),
        ("4\n", Ask::Groups { queue: None }),
        ("2e", Ask::Groups { queue: Some("emails".to_owned()) }),
        ("5\n", Ask::Workers),
        ("3jj\n", Ask::Job(shop::id(3))),
    ] {
        let mut model = shop::open();
        press(&mut model, keys);
        // The round that the keys began, for another screen.
        let _ = model.update(Event::Answered(Vec::new()), noon());
        let _ = model.update(Event::Answered(Vec::new()), noon());
        let asks = asks(tick(&mut model, 1));
        assert!(asks.len() <= 3 && asks[0] == first, "{keys:?}: {asks:?}");
    }
}

#[test]
fn the_history_is_read_once_a_half_minute_and_from_its_last_row() {
    let mut model = shop::open();
    let has_history = |asks: &[Ask]| asks.iter().any(|ask| matches!(ask, Ask::History { .. }));
    assert!(!has_history(&asks(tick(&mut model, 29))));
    let _ = model.update(Event::Answered(Vec::new()), seconds_later(29));
    let due = asks(tick(&mut model, 30));
    assert!(due.contains(&Ask::History { from: noon() }) && due.len() == 3, "{due:?}");
}

#[test]
fn a_round_under_way_is_not_joined_by_another_and_keys_work_meanwhile() {
    let mut model = shop::open();
    assert_eq!(tick(&mut model, 1).len(), 1);
    assert!(tick(&mut model, 2).is_empty());
    assert!(press(&mut model, "2").is_empty(), "the round of the new tab waits for its turn");
    assert_shows(&mut model, &["emails", "4 queues"]);
    let next = model.update(Event::Answered(Vec::new()), seconds_later(2));
    assert_eq!(asks(next), [Ask::Queues]);
}

#[test]
fn a_slow_answer_is_noticed() {
    let mut model = shop::open();
    tick(&mut model, 1);
    tick(&mut model, 3);
    assert!(!model.is_stale());
    tick(&mut model, 4);
    assert!(model.is_stale());
    assert_shows(&mut model, &["waiting for 3s", "figures are 4s old"]);
}

#[test]
fn nothing_is_asked_while_paused() {
    let mut model = shop::open();
    assert!(press(&mut model, " ").is_empty());
    for seconds in 1..5 {
        assert!(tick(&mut model, seconds).is_empty());
    }
    assert!(press(&mut model, "23\n45").is_empty());
    assert_shows(&mut model, &["‖ paused", "press space to resume"]);
    assert_eq!(press(&mut model, " ").len(), 1);
}

#[test]
fn a_store_that_is_away_leaves_the_last_figures_and_heals_by_itself() {
    let mut model = shop::open();
    press(&mut model, "2");
    let _ = model.update(answered(Ask::Queues, away()), seconds_later(9));
    assert!(model.is_stale());
    let texts = ["✗ no answer", "figures are 9s old: no answer from http://shop/", "emails"];
    assert_shows(&mut model, &texts);
    assert_eq!(asks(tick(&mut model, 10)), [Ask::Queues], "it asks again");
    let back = Ok(Got::Queues(listed(shop::queues())));
    let _ = model.update(answered(Ask::Queues, back), seconds_later(10));
    assert!(!model.is_stale());
    assert_shows(&mut model, &["● live"]);
}

#[test]
fn a_route_that_refuses_says_why_in_its_place_and_the_others_are_shown() {
    let mut model = shop::open();
    let refused = || Err(Failure::Refused("this key lacks the scope read".to_owned()));
    let _ = model.update(answered(Ask::Groups { queue: None }, refused()), noon());
    assert!(!model.is_stale());
    assert_shows(&mut model, &["emails"]);
    press(&mut model, "4");
    assert_shows(&mut model, &["this key lacks the scope read"]);
}

#[test]
fn a_job_that_is_gone_is_shown_as_it_was_and_takes_no_action() {
    let mut model = shop::open();
    press(&mut model, "3jj\n");
    let gone = Err(Failure::Refused("the job does not exist".to_owned()));
    let _ = model.update(answered(Ask::Job(shop::id(3)), gone), noon());
    assert_shows(&mut model, &["✗ the job does not exist", "shop.mail"]);
    press(&mut model, "r");
    assert_shows(&mut model, &["the job does not exist"]);
    assert!(press(&mut model, "y").is_empty());
}

#[test]
fn an_answer_for_another_filter_or_job_is_not_shown() {
    let mut model = shop::open();
    press(&mut model, "3/kind:none\n");
    let old = Ask::Jobs { text: String::new(), filter: Box::default() };
    let jobs = || Ok(Got::Jobs(listed(shop::jobs(&shop::PLAIN))));
    let _ = model.update(answered(old, jobs()), noon());
    assert!(model.rows().is_empty());
    let new = Ask::Jobs { text: "kind:none".to_owned(), filter: Box::default() };
    let _ = model.update(answered(new, jobs()), noon());
    assert_eq!(model.rows().len(), 5);

    press(&mut model, "j\n");
    let other = Box::new(shop::jobs(&shop::PLAIN).remove(2));
    let _ = model.update(answered(Ask::Job(other.id), Ok(Got::Job(other))), noon());
    assert_eq!(model.opened.unwrap().job.unwrap().id, shop::id(2));
}

#[test]
fn the_selection_stays_with_its_row_when_others_come() {
    let mut model = shop::open();
    press(&mut model, "2j");
    assert_eq!(model.selected_queue().unwrap().name.as_str(), "images");
    let fewer = shop::queues().into_iter().skip(1).collect();
    let _ = model.update(answered(Ask::Queues, Ok(Got::Queues(listed(fewer)))), noon());
    assert_eq!(model.selected_queue().unwrap().name.as_str(), "images");
    press(&mut model, "G");
    let none = Ok(Got::Queues(listed(Vec::new())));
    let _ = model.update(answered(Ask::Queues, none), noon());
    assert!(model.selected_queue().is_none());
}

#[test]
fn a_filter_is_read_as_on_the_command_line_and_refused_with_the_reason() {
    let mut model = shop::open();
    press(&mut model, "3/status:daed\n");
    assert_shows(&mut model, &["did you mean dead?", "filter: status:daed"]);
    assert_eq!(model.list().filter, "", "the filter of before stays");
    press(&mut model, "\u{1b}/status:dead older:1h\n");
    assert_eq!(model.list().filter, "status:dead older:1h");
    // The round of before ends first.
    let next = model.update(Event::Answered(Vec::new()), noon());
    let [Ask::Jobs { text, filter }] = &asks(next)[..] else { panic!("jobs are asked for") };
    assert_eq!((text.as_str(), filter.status.as_deref()), ("status:dead older:1h", Some("dead")));
    press(&mut model, "\u{1b}");
    assert_eq!(model.list().filter, "");
}

#[test]
fn other_lists_are_filtered_by_a_text() {
    let mut model = shop::open();
    press(&mut model, "2/image\n");
    assert_eq!(model.rows(), ["images"]);
    press(&mut model, "4/tiff\n");
    assert_eq!(model.rows().len(), 1);
    press(&mut model, "5/nobody\n");
    assert_shows(&mut model, &["esc clears the filter"]);
}

#[test]
fn enter_on_what_needs_attention_goes_there() {
    for (sentence, shows) in [
        ("reports has 2 jobs ready and no worker", "Queue reports"),
        ("New error in emails", "Error group 3f1c9a2b77d0e415 in queue emails"),
        ("Worker mailer was last heard of", "2 workers"),
    ] {
        let mut model = shop::open();
        let at = model.rows().iter().position(|row| row.starts_with(sentence));
        let down = "j".repeat(at.unwrap_or_else(|| panic!("{sentence}: {:?}", model.rows())));
        press(&mut model, &format!("{down}\n"));
        assert_shows(&mut model, &[shows]);
    }
    let mut model = shop::open();
    press(&mut model, "4\n\n");
    assert_eq!(model.list().filter, "group:3f1c9a2b77d0e415 queue:emails status:dead");
}

#[test]
fn a_rate_is_that_of_the_last_minute() {
    let mut model = shop::open();
    let emails = shop::queues()[0].name.clone();
    for (seconds, completed) in [(1, 48_210), (30, 48_240), (90, 48_330), (120, 48_330)] {
        let mut queues = shop::queues();
        queues[0].totals.completed = completed;
        queues.iter_mut().for_each(|queue| queue.as_of = seconds_later(seconds));
        model.figures.take_queues(listed(queues));
        let rate = model.figures.completed_per_minute(&emails);
        match seconds {
            1 => assert_eq!(rate, None, "a second says too little"),
            30 => assert_eq!(rate, Some(60.0)),
            90 => assert_eq!(rate, Some(90.0)),
            _ => assert_eq!(rate, Some(60.0)),
        }
    }
    assert_eq!(model.every, Duration::from_secs(1));
}
