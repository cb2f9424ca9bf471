use crate::tidy::finding::Finding;
use crate::workspace::Crate;

const HERE: &str = "xtask/src/tidy/arrows.rs";

/// Which crates of this workspace each may depend on, outside of its tests.
///
/// The arrows are the architecture: a store that knows the worker, or another store, can no longer
/// be written, tested or replaced by itself.
const ARROWS: &[(&str, May)] = &[
    ("queuekit-core", May::Only(&[])),
    ("queuekit-derive", May::Only(&[])),
    ("queuekit-sqlite", May::Only(&["queuekit-core"])),
    ("queuekit-postgres", May::Only(&["queuekit-core"])),
    ("queuekit-redis", May::Only(&["queuekit-core"])),
    ("queuekit-transactions", May::Only(&["queuekit-core"])),
    ("queuekit-worker", May::Only(&["queuekit-core"])),
    (
        "queuekit",
        May::Only(&[
            "queuekit-core",
            "queuekit-derive",
            "queuekit-worker",
            "queuekit-sqlite",
            "queuekit-postgres",
            "queuekit-redis",
            "queuekit-transactions",
        ]),
    ),
    ("queuekit-server", May::Only(&["queuekit", "queuekit-core", "queuekit-worker"])),
    ("queuekit-conformance", May::Only(&["queuekit-core", "queuekit-worker"])),
    ("queuekit-store-json", May::Only(&["queuekit-core"])),
    ("shop", May::Only(&["queuekit"])),
    ("webshop", May::Only(&["queuekit"])),
    ("queuekit-integration-tests", May::Anything),
    ("queuekit-benches", May::Anything),
    ("xtask", May::Anything),
];

#[derive(Clone, Copy)]
enum May {
    Only(&'static [&'static str]),
    Anything,
}

pub(crate) fn check(crates: &[Crate]) -> Vec<Finding> {
    let is_ours = |name: &String| crates.iter().any(|krate| krate.name == *name);
    let mut findings = Vec::new();
    for krate in crates {
        let Some((_, may)) = ARROWS.iter().find(|(name, _)| *name == krate.name) else {
            let message = format!("crate `{}` is not in the table ARROWS; add it", krate.name);
            findings.push(Finding::file(HERE, message));
            continue;
        };
        let May::Only(allowed) = may else { continue };
        let forbidden = krate.dependencies.iter().filter(|name| is_ours(name));
        let forbidden = forbidden.filter(|name| !allowed.contains(&name.as_str()));
        findings.extend(forbidden.map(|name| forbidden_arrow(&krate.name, name, allowed)));
    }
    findings
}

fn forbidden_arrow(from: &str, to: &str, allowed: &[&str]) -> Finding {
    let allowed = if allowed.is_empty() { "none of ours".to_owned() } else { allowed.join(", ") };
    let message = format!(
        "crate `{from}` depends on `{to}`, and may depend on: {allowed}; \
         move what it needs there, or what needs it out of here"
    );
    Finding::file("Cargo.toml", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn krate(name: &str, dependencies: &[&str]) -> Crate {
        Crate {
            name: name.to_owned(),
            dependencies: dependencies.iter().map(|&name| name.to_owned()).collect(),
            ..Crate::default()
        }
    }

    #[test]
    fn arrows_of_the_design_pass_and_foreign_crates_are_not_its_business() {
        let crates = [
            krate("queuekit-core", &["serde"]),
            krate("queuekit-worker", &["queuekit-core", "tokio"]),
            krate("queuekit", &["queuekit-core", "queuekit-worker"]),
            krate("queuekit-integration-tests", &["queuekit-core", "queuekit"]),
        ];
        assert_eq!(check(&crates), []);
    }

    #[test]
    fn a_store_that_knows_the_worker_fails() {
        let crates =
            [krate("queuekit-sqlite", &["queuekit-worker"]), krate("queuekit-worker", &[])];
        let findings = check(&crates);
        assert_eq!(findings.len(), 1);
        assert!(findings[0].message.contains("`queuekit-sqlite` depends on `queuekit-worker`"));
    }

    #[test]
    fn core_depends_on_none_of_ours() {
        let crates = [krate("queuekit-core", &["queuekit"]), krate("queuekit", &[])];
        assert!(check(&crates)[0].message.contains("none of ours"));
    }

    #[test]
    fn a_crate_nobody_placed_fails_and_names_the_table() {
        let findings = check(&[krate("queuekit-mysql", &["queuekit-core"])]);
        assert!(findings[0].message.contains("ARROWS"), "{findings:?}");
    }
}
