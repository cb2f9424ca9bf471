//! The rules of this project that neither the compiler nor clippy checks, one per file.
//!
//! The checks read text, not syntax trees: a rule is short enough to be read beside its reason, and
//! needs no parser that lags behind the language. Comments and the inside of strings are blanked
//! first ([`source`]), so that prose about a rule does not break it.

mod arrows;
mod circles;
mod code_map;
mod commits;
mod contents;
mod cuts;
mod delays;
mod exhaustive;
mod finding;
mod headers;
mod ignored;
mod image;
mod lexer;
mod monitoring;
mod rule_titles;
mod rules;
mod size;
mod source;
mod statements;
mod threats;
mod tree;
mod tutorial;
mod words;

use finding::{Finding, Severity};
use tree::{SEMANTICS, SEMANTICS_TESTS, Tree};

use crate::error::{Error, Result};
use crate::workspace::Workspace;

pub(crate) fn run() -> Result<()> {
    check(&Workspace::load()?)
}

/// Reports all findings before it fails, because a person who fixes one wants to see the others.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let tree = Tree::read(&workspace.root)?;
    let findings = findings(workspace, &tree);
    for finding in &findings {
        println!("{finding}");
    }
    let failures = findings.iter().filter(|finding| finding.severity == Severity::Failure).count();
    let warnings = findings.len() - failures;
    println!("tidy: {} .rs files, {failures} failures, {warnings} warnings", tree.rust.len());
    if failures > 0 {
        return Err(Error::failed(format!("tidy: {failures} findings, listed above")));
    }
    Ok(())
}

fn findings(workspace: &Workspace, tree: &Tree) -> Vec<Finding> {
    [
        commits::check(&workspace.root),
        arrows::check(&workspace.crates),
        circles::check(&tree.rust),
        code_map::check(&workspace.root, tree),
        statements::check(&tree.rust),
        headers::check(&tree.scripts),
        cuts::check(&tree.scripts),
        delays::check(&tree.rust),
        exhaustive::check(&tree.rust),
        size::check(&tree.rust),
        ignored::check(&tree.rust),
        image::check(&workspace.root, &workspace.crates),
        monitoring::check(&workspace.root, tree),
        contents::check(&tree.pages),
        tutorial::check(&tree.pages, &tree.rust),
        threats::check(&tree.pages, &tree.rust),
        words::check(tree),
        rules::check(tree.page(SEMANTICS), tree.page(SEMANTICS_TESTS), &tree.rust),
        rule_titles::check(tree.page(SEMANTICS), tree.page(SEMANTICS_TESTS)),
    ]
    .concat()
}
