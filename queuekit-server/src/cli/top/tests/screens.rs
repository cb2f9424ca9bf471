//! Each screen as text, in files beside this one: `QUEUEKIT_WRITE_SCREENS=1` writes them anew.

use std::path::PathBuf;

use queuekit::QueueName;
use queuekit::queues::{Queue, QueueSettings};
use ratatui::style::{Color, Modifier};

use super::{cells, noon, press, seconds_later, shop, shown};
use crate::cli::top::act::BulkAct;
use crate::cli::top::model::{Answered, Ask, Event, Failure, Got, Model, Request};

/// A screen on a small and on a larger terminal.
#[track_caller]
pub(super) fn check(name: &str, model: &mut Model) {
    for size in [(80, 24), (120, 40)] {
        check_at(&format!("{name}-{}x{}", size.0, size.1), model, size);
    }
}

#[track_caller]
fn check_at(name: &str, model: &mut Model, size: (u16, u16)) {
    let shown = shown(model, size);
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/cli/top/tests/screens");
    let path = folder.join(format!("{name}.txt"));
    if std::env::var_os("QUEUEKIT_WRITE_SCREENS").is_some() {
        std::fs::write(&path, &shown).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        shown == expected,
        "{name} is now\n{shown}\nif that is right: QUEUEKIT_WRITE_SCREENS=1 cargo test -p \
         queuekit-server --lib cli::top"
    );
}

#[test]
fn each_tab_is_drawn() {
    for (key, name) in
        [("1", "overview"), ("2", "queues"), ("3", "jobs"), ("4", "errors"), ("5", "workers")]
    {
        let mut model = shop::open();
        press(&mut model, key);
        check(name, &mut model);
    }
}

#[test]
fn a_store_without_anything_says_so() {
    let mut model = Model::new("memory:".to_owned(), std::time::Duration::from_secs(1), noon());
    let _ = model.update(Event::Tick, noon());
    let answers = vec![
        Answered { ask: Ask::Queues, got: Ok(Got::Queues(shop::listed(Vec::new()))) },
        Answered { ask: Ask::Workers, got: Ok(Got::Workers(shop::listed(Vec::new()))) },
        Answered {
            ask: Ask::Groups { queue: None },
            got: Ok(Got::Groups(shop::listed(Vec::new()))),
        },
    ];
    let _ = model.update(Event::Answered(answers), noon());
    check_at("empty-80x24", &mut model, (80, 24));
}

/// Of more than 100 queues the API merges no errors.
#[test]
fn errors_of_many_queues_are_listed_queue_by_queue() {
    let mut model = shop::open();
    let mut queues = shop::queues();
    queues.extend((0..100).map(|at| {
        let name = QueueName::new(format!("q{at}")).unwrap();
        Queue::empty(name, QueueSettings::default(), noon())
    }));
    let (ask, got) = (Ask::Queues, Ok(Got::Queues(shop::listed(queues))));
    let _ = model.update(Event::Answered(vec![Answered { ask, got }]), noon());
    press(&mut model, "4");
    let why = "there are 101 queues, more than 100: name one".to_owned();
    let (ask, got) = (Ask::Groups { queue: None }, Err(Failure::Refused(why)));
    let _ = model.update(Event::Answered(vec![Answered { ask, got }]), noon());
    check_at("errors-refused-80x24", &mut model, (80, 24));
    press(&mut model, "2je");
    let groups = shop::groups(&shop::PLAIN).into_iter().filter(|group| group.queue == "images");
    let got = Ok(Got::Groups(shop::listed(groups.collect())));
    let ask = Ask::Groups { queue: Some("images".to_owned()) };
    let _ = model.update(Event::Answered(vec![Answered { ask, got }]), noon());
    check_at("errors-of-queue-80x24", &mut model, (80, 24));
    press(&mut model, "\u{1b}");
    assert_eq!(model.errors_of, None, "esc lists those of all again");
}

#[test]
fn what_is_opened_is_drawn_in_full() {
    let mut queue = shop::open();
    press(&mut queue, "2\n");
    check("queue", &mut queue);

    let mut job = shop::open();
    press(&mut job, "3jj\n");
    let why = Got::Why("The job is dead: it has failed 3 of 3 times.".to_owned());
    let answer = Answered { ask: Ask::Why(shop::id(3)), got: Ok(why) };
    let _ = job.update(Event::Answered(vec![answer]), noon());
    check("job", &mut job);
    job.size = (80, 24);
    press(&mut job, "Gjjk");
    check_at("job-scrolled-80x24", &mut job, (80, 24));

    let mut group = shop::open();
    press(&mut group, "4\n");
    let sample = Box::new(shop::jobs(&shop::PLAIN).remove(2));
    let answer = Answered { ask: Ask::Job(shop::id(3)), got: Ok(Got::Job(sample)) };
    let _ = group.update(Event::Answered(vec![answer]), noon());
    check("error", &mut group);

    let mut worker = shop::open();
    press(&mut worker, "5\n");
    check("worker", &mut worker);
}

#[test]
fn questions_help_and_filter_are_drawn() {
    let mut model = shop::open();
    press(&mut model, "?");
    check("help", &mut model);

    let mut model = shop::open();
    press(&mut model, "3jjr");
    check("confirm-retry", &mut model);

    let mut model = shop::open();
    let act = counting(press(&mut model, "2D"));
    check_at("counting-80x24", &mut model, (80, 24));
    let _ = model.update(Event::Counted(act, Ok(48_225)), noon());
    press(&mut model, "482");
    check("confirm-purge", &mut model);

    let mut model = shop::open();
    press(&mut model, "5jS");
    check("confirm-stop", &mut model);

    let mut model = shop::open();
    press(&mut model, "5s12");
    check_at("slots-80x24", &mut model, (80, 24));

    let mut model = shop::open();
    press(&mut model, "3/status:daed\n");
    check_at("filter-refused-80x24", &mut model, (80, 24));
}

#[test]
fn the_last_figures_stay_greyed_with_error_and_age_while_the_store_is_away() {
    let mut model = shop::open();
    press(&mut model, "2");
    let away = Failure::Away("no answer from http://shop/; check that it runs".to_owned());
    let answer = Answered { ask: Ask::Queues, got: Err(away) };
    let _ = model.update(Event::Answered(vec![answer]), seconds_later(42));
    check("away", &mut model);
    let cells = cells(&mut model, (80, 24));
    let body = &cells.content[80 * 4..80 * 20];
    for cell in body.iter().filter(|cell| cell.symbol() != " ") {
        assert!(cell.modifier.contains(Modifier::DIM) && cell.fg == Color::Reset, "{cell:?}");
    }
}

#[test]
fn a_terminal_that_is_too_small_says_what_it_needs() {
    for size in [(79, 24), (80, 23), (30, 10), (1, 1)] {
        let text = shown(&mut shop::open(), size);
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(size.0 < 30 || words.contains("needs 80 columns and 24 rows"), "{text}");
    }
    check_at("too-small-60x10", &mut shop::open(), (60, 10));
}

#[test]
fn without_colours_no_cell_has_one() {
    for keys in ["1", "2", "3", "4", "5", "2\n", "3jj\n", "4\n", "5\n", "3jjr", "?"] {
        let mut model = shop::open();
        model.colours = false;
        press(&mut model, keys);
        for cell in &cells(&mut model, (120, 40)).content {
            assert!(cell.fg == Color::Reset && cell.bg == Color::Reset, "{keys}: {cell:?}");
        }
    }
}

/// The count that was asked for.
#[track_caller]
fn counting(requests: Vec<Request>) -> BulkAct {
    let counts = requests.into_iter().find_map(|request| match request {
        Request::Count(act) => Some(act),
        _ => None,
    });
    counts.expect("the jobs are counted")
}
