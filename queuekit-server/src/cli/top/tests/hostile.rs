//! Texts of jobs that try to control the terminal.

use super::shop::{self, Texts};
use super::{cells, noon, press};
use crate::cli::top::model::{Answered, Ask, Event, Failure, Got};

const HOSTILE: Texts = Texts {
    name: "a\u{1b}[2J\u{202e}b\u{200b}日本語",
    error: "\u{1b}]0;owned\u{7}\u{9b}31m\u{2066}x\n\u{202e}second\u{feff} line\r\u{8}日本語日本語日本語日本語",
};

/// Guard: every text passes through `cut`, `padded` or `wrapped`.
#[test]
fn no_text_of_a_job_controls_the_terminal_on_any_screen() {
    for keys in ["1", "2", "3", "4", "5", "2\n", "3jj\n", "3jjj\n", "4\n", "5\n", "3jjr", "3/x"] {
        for size in [(80, 24), (120, 40)] {
            let mut model = shop::open_with(&HOSTILE);
            press(&mut model, keys);
            let sample = Box::new(shop::jobs(&HOSTILE).remove(2));
            let answers = vec![
                Answered { ask: Ask::Job(shop::id(3)), got: Ok(Got::Job(sample)) },
                Answered {
                    ask: Ask::Why(shop::id(3)),
                    got: Ok(Got::Why(HOSTILE.error.to_owned())),
                },
                Answered { ask: Ask::Queues, got: Err(Failure::Away(HOSTILE.error.to_owned())) },
            ];
            let _ = model.update(Event::Answered(answers), noon());
            let _ = model.update(Event::Done(Err(HOSTILE.error.to_owned())), noon());
            for cell in &cells(&mut model, size).content {
                let steers = |letter: char| {
                    letter.is_control()
                        || ('\u{200b}'..='\u{200f}').contains(&letter)
                        || ('\u{2028}'..='\u{202e}').contains(&letter)
                        || ('\u{2060}'..='\u{2069}').contains(&letter)
                        || letter == '\u{feff}'
                };
                assert!(!cell.symbol().chars().any(steers), "{keys}: {:?}", cell.symbol());
            }
        }
    }
}

#[test]
fn wide_letters_do_not_push_other_columns_aside() {
    let mut model = shop::open_with(&HOSTILE);
    press(&mut model, "4");
    let shown = super::shown(&mut model, (80, 24));
    let column = |line: &str| {
        let at = line.find("ago").unwrap();
        unicode_width::UnicodeWidthStr::width(&line[..at])
    };
    let rows: Vec<usize> = shown.lines().filter(|line| line.contains("ago")).map(column).collect();
    assert!(rows.len() == 2 && rows[0] == rows[1], "{shown}");
}
