//! The commands that pages offer to copy.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use super::world::{self, KEY, World};
use crate::ui::Browser;

/// Guard: nothing else compares the commands with the command line.
#[test]
fn each_command_to_copy_is_one_that_the_command_line_has() {
    let world = World::on("sqlite", world::plain).expect("SQLite");
    let browser = Browser::of(&world.server, KEY);
    let mut commands = BTreeSet::new();
    for page in &world.pages {
        commands.extend(copied(&browser.get(&page.path).expect(page.status).text));
    }
    assert!(commands.len() > 30, "{commands:?}");
    let wrong: Vec<_> = commands.iter().filter(|command| !is_known(command)).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The commands of ours that a page offers.
fn copied(page: &str) -> Vec<String> {
    let values = page.split("data-copy=\"").skip(1).filter_map(|rest| rest.split('"').next());
    let commands = values.filter(|value| value.starts_with("queuekit "));
    commands.map(unescaped).collect()
}

fn unescaped(text: &str) -> String {
    let mut text = text.to_owned();
    for (code, letter) in [("#34", "\""), ("#39", "'"), ("#60", "<"), ("#62", ">"), ("#38", "&")] {
        text = text.replace(&format!("&{code};"), letter);
    }
    text
}

/// Whether a shell and the command line take it; the help is all that it prints. A number that the
/// reader chooses is an N.
fn is_known(command: &str) -> bool {
    let command =
        command.strip_suffix(" N").map_or_else(|| command.to_owned(), |it| it.to_owned() + " 1");
    let program = Path::new(env!("CARGO_BIN_EXE_queuekit")).parent().expect("its directory");
    let paths = std::env::var("PATH").expect("a PATH");
    let ran = Command::new("sh")
        .args(["-c", &format!("{command} --help")])
        .env("PATH", format!("{}:{paths}", program.display()))
        .output();
    ran.expect("a shell").status.success()
}
