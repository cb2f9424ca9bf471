use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use super::list::List;
use super::scratch::below;
use crate::error::{Error, Result};

const CASES: &str = "queuekit-conformance/src/cases";

/// Every rule whose cases name a guard has a mutant in the list, or the list says where that
/// guard is; and it says so of no other.
pub(super) fn check(root: &Path, list: &List) -> Result<()> {
    let rules = rules(root).map_err(|error| Error::failed(format!("{CASES}: {error}")))?;
    let faults = faults(&rules, list);
    if faults.is_empty() { Ok(()) } else { Err(Error::failed(faults.join("\n"))) }
}

fn faults(rules: &BTreeMap<String, Vec<String>>, list: &List) -> Vec<String> {
    let taken_out: BTreeSet<&str> = list.mutant.iter().map(|mutant| &*mutant.rule).collect();
    let mut faults = Vec::new();
    for (rule, guards) in rules {
        match (taken_out.contains(&**rule), list.elsewhere.contains_key(rule)) {
            (false, false) => faults.push(format!(
                "{rule} has no mutant, though its cases name guards; take one out, or say under \
                 [elsewhere] where it is: {}",
                guards.join(" ")
            )),
            (true, true) => {
                faults.push(format!("{rule} has a mutant, and stands under [elsewhere] as well"));
            }
            _ => {}
        }
    }
    let listed = taken_out.into_iter().chain(list.elsewhere.keys().map(|rule| &**rule));
    let unknown = listed.filter(|rule| !rules.contains_key(*rule));
    faults.extend(unknown.map(|rule| format!("no case of {rule} names a guard")));
    faults
}

/// The guards by rule, as the doc comments of the cases name them.
fn rules(root: &Path) -> std::io::Result<BTreeMap<String, Vec<String>>> {
    let mut rules = BTreeMap::new();
    for file in below(&root.join(CASES))? {
        for (rule, guard) in guards(&fs::read_to_string(file)?) {
            rules.entry(rule).or_insert_with(Vec::new).push(guard);
        }
    }
    Ok(rules)
}

/// Each guard of a source with the rule of the case below it.
fn guards(source: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut guard = None;
    for line in source.lines().map(str::trim) {
        if let Some(text) = line.strip_prefix("/// Guard: ") {
            guard = Some(text.to_owned());
        } else if let Some((_, name)) = line.split_once("fn ")
            && let (Some(guard), Some(rule)) = (guard.take(), rule_of(name))
        {
            found.push((rule, guard));
        }
    }
    found
}

/// `R3.3` of `r3_3_stale_ack..`, or `R12` of a rule without parts.
pub(super) fn rule_of(case: &str) -> Option<String> {
    let mut parts = case.strip_prefix('r')?.split('_');
    let is_number = |part: &&str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let major = parts.next().filter(is_number)?;
    Some(match parts.next().filter(is_number) {
        Some(minor) => format!("R{major}.{minor}"),
        None => format!("R{major}"),
    })
}

#[cfg(test)]
mod tests {
    use super::super::list::Mutant;
    use super::*;

    #[test]
    fn a_guard_belongs_to_the_rule_of_the_case_below_it() {
        let source = "/// What holds.\n/// Guard: the fence.\n/// And more.\n\
                      pub async fn r3_3_stale(world: &dyn World) {}\nfn helper() {}\n\
                      /// Guard: the width.\npub async fn r12_names(world: &dyn World) {}\n";
        let found = guards(source);
        let expected = [("R3.3", "the fence."), ("R12", "the width.")];
        assert_eq!(found, expected.map(|(rule, text)| (rule.to_owned(), text.to_owned())));
    }

    #[test]
    fn a_rule_is_taken_out_or_elsewhere_and_never_both() {
        let rules = ["R1.1", "R2.2", "R3.3"].map(|rule| (rule.to_owned(), vec!["it.".into()]));
        let mutant = |rule: &str| Mutant { rule: rule.to_owned(), ..Mutant::default() };
        let list = List {
            mutant: vec![mutant("R2.2"), mutant("R9.9")],
            elsewhere: [("R2.2".to_owned(), "core".to_owned())].into(),
        };
        let faults = faults(&rules.into(), &list);
        assert_eq!(faults.len(), 4, "{faults:?}");
        for (fault, of) in faults.iter().zip(["R1.1 has no", "R2.2 has a", "R3.3 has no", "R9.9"]) {
            assert!(fault.contains(of), "{fault}");
        }
    }

    #[test]
    fn the_lists_cover_the_guards_of_this_tree() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        for store in super::super::options::Store::ALL {
            let list = List::load(root, store).unwrap();
            check(root, &list).unwrap_or_else(|error| panic!("{}: {error}", store.name()));
        }
    }
}
