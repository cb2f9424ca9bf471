//! What the compiler says about the commonest mistakes of those who write jobs and handlers.
//!
//! Each file of `mistakes/` has one mistake, and next to it is what the compiler says. To write
//! these texts anew, run this test with `TRYBUILD=overwrite` and the compiler named below. Then
//! read them: each should say what to write instead. The test compiles queuekit once more, with the
//! few features of this crate. With those of the facade it would compile every store.
//!
//! A payload without the derives of serde is not among them: what the compiler says begins well,
//! with the derive to add, but ends with a list of types that changes with each new one.

use std::io::Write as _;
use std::process::Command;

/// The compiler that the texts are of. Another one says the same in other words.
const RUSTC: &str = "rustc 1.95.";

#[test]
fn the_compiler_says_what_is_wrong() {
    let version = Command::new("rustc").arg("--version").output().map(|said| said.stdout);
    let version = String::from_utf8(version.unwrap_or_default()).unwrap_or_default();
    if !version.starts_with(RUSTC) {
        let told = format!("SKIPPED the_compiler_says_what_is_wrong: needs {RUSTC}*\n");
        // Not by a macro, whose output libtest captures.
        std::io::stderr().write_all(told.as_bytes()).expect("stderr is open");
        return;
    }
    trybuild::TestCases::new().compile_fail("tests/mistakes/*.rs");
}
