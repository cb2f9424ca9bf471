use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::scratch::git;
use crate::command_line::CommandLine;
use crate::error::{Error, Result};
use crate::steps::Steps;
use crate::workspace::Workspace;

/// What has no store: rules that are pure functions, and the worker.
const PACKAGES: &[&str] = &["queuekit-core", "queuekit-worker"];
/// How many mutants a run looks at. One took 20 s of processor time by unit tests.
const SHARD: usize = 60;
/// Survivors with the reason why no test can catch them, `mutant # reason` on a line each.
const SURVIVORS: &str = "xtask/mutants/units.txt";

/// A shard of what cargo-mutants finds to change, another one with each commit.
pub(super) fn run(workspace: &Workspace) -> Result<()> {
    let steps = Steps::new(&workspace.root);
    let Some(count) = count(&workspace.root) else {
        let remedy = "cargo-mutants is missing; `cargo install --locked cargo-mutants` installs it";
        steps.not_checked("mutants of core and worker", remedy);
        return Ok(());
    };
    let directory = workspace.target_directory.join("xtask/mutants/units");
    // What an earlier run left would be taken for what this one found.
    let _ = fs::remove_dir_all(&directory);
    let _ = fs::create_dir_all(&directory);
    let head = git(&workspace.root, &["rev-parse", "HEAD"])?;
    let shard = shard(count, head.trim());
    let place = directory.to_string_lossy();
    let mutants = cargo_mutants().args(["--shard", &shard, "--timeout", "300", "--output", &place]);
    // It fails where mutants survive; which of them may is decided here.
    let by_units = steps.run(&format!("mutants by unit tests, shard {shard}"), &mutants);
    let missed_by = |directory: &Path| {
        fs::read_to_string(directory.join("mutants.out/missed.txt")).unwrap_or_default()
    };
    let missed = missed_by(&directory);
    if missed.trim().is_empty() {
        return by_units;
    }
    // There is no baseline: it would look for the program in core.
    let by_suites = directory.join("by-suites");
    let _ = fs::create_dir_all(&by_suites);
    let place = by_suites.to_string_lossy();
    let suites =
        cargo_mutants().args(["--baseline", "skip", "--timeout", "300", "--output", &place]);
    // By file, too, because cargo-mutants 27 tries each field that it can leave out whatever its
    // name is.
    let suites = missed.lines().fold(suites, |line, name| {
        let file = name.split(':').next().unwrap_or_default();
        line.args(["--file", file, "--re", &exactly(name)])
    });
    let suites = suites.args(["--test-package", "queuekit-conformance", "--", "--test", "memory"]);
    let ended = steps.run("mutants by the suites that unit tests missed", &suites);
    let missed = missed_by(&by_suites);
    if missed.trim().is_empty() {
        return ended;
    }
    let listed = fs::read_to_string(workspace.root.join(SURVIVORS));
    let listed = listed.map_err(|error| Error::failed(format!("{SURVIVORS}: {error}")))?;
    let unlisted = unlisted(&missed, &listed);
    if unlisted.is_empty() {
        return Ok(());
    }
    let count = unlisted.len();
    let lines = unlisted.join("\n");
    Err(Error::failed(format!("{count} mutants survive and are not in {SURVIVORS}:\n{lines}")))
}

fn cargo_mutants() -> CommandLine {
    PACKAGES.iter().fold(CommandLine::cargo("mutants"), |line, name| line.args(["--package", name]))
}

/// How many mutants there are; none without the program.
fn count(root: &Path) -> Option<usize> {
    let output = cargo_mutants().arg("--list").to_command(root).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).lines().count())
}

/// The shard of a commit, as `k/n`: in time every mutant has its turn.
fn shard(count: usize, head: &str) -> String {
    let shards = count.div_ceil(SHARD).max(1) as u64;
    let number = head.get(..8).and_then(|digits| u64::from_str_radix(digits, 16).ok());
    format!("{}/{shards}", number.unwrap_or_default() % shards)
}

/// A regular expression that matches only this name.
fn exactly(name: &str) -> String {
    let mut pattern = "^".to_owned();
    for letter in name.chars() {
        if r"\.+*?()|[]{}^$".contains(letter) {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    pattern.push('$');
    pattern
}

/// The survivors without a reason. Lines and columns move with every edit: they are left out of
/// the comparison.
fn unlisted<'m>(missed: &'m str, listed: &str) -> Vec<&'m str> {
    let reasoned = listed.lines().filter_map(|line| line.split_once(" # "));
    let known: BTreeSet<String> =
        reasoned.map(|(mutant, _)| without_place(mutant.trim())).collect();
    let lines = missed.lines().filter(|line| !line.trim().is_empty());
    lines.filter(|line| !known.contains(&without_place(line.trim()))).collect()
}

/// `src/a.rs: replace f` of `src/a.rs:12:5: replace f`.
fn without_place(mutant: &str) -> String {
    let Some((place, what)) = mutant.split_once(": ") else { return mutant.to_owned() };
    let file = place.split(':').next().unwrap_or_default();
    format!("{file}: {what}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_survivor_is_known_wherever_its_line_has_moved() {
        let missed =
            "src/a.rs:12:5: replace f -> bool with true\nsrc/b.rs:1:1: replace g with ()\n";
        let listed = "src/a.rs:9:5: replace f -> bool with true # only a hint\n";
        assert_eq!(unlisted(missed, listed), ["src/b.rs:1:1: replace g with ()"]);
        let without_reason = "src/b.rs:1:1: replace g with ()\n";
        assert_eq!(unlisted(missed, without_reason).len(), 2);
    }

    #[test]
    fn a_mutant_is_named_exactly() {
        let name = "a/b.rs:1:2: replace <impl A for B<T>>::c -> Vec<u8> with vec![0] in (x)?";
        let pattern =
            r"^a/b\.rs:1:2: replace <impl A for B<T>>::c -> Vec<u8> with vec!\[0\] in \(x\)\?$";
        assert_eq!(exactly(name), pattern);
    }

    #[test]
    fn every_mutant_has_its_commit() {
        let heads = ["00000000aa", "00000001aa", "00000002aa"];
        let shards: BTreeSet<String> =
            heads.iter().map(|head| shard(2 * SHARD + 1, head)).collect();
        assert_eq!(shards.into_iter().collect::<Vec<_>>(), ["0/3", "1/3", "2/3"]);
        assert_eq!(shard(0, "ffffffff"), "0/1");
    }
}
