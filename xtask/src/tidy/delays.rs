use crate::tidy::finding::Finding;
use crate::tidy::source::{Source, words};

const ALLOWED: &str = "queuekit-core/src/retry.rs";

/// How far apart, in lines, the two signs of a computed delay may stand.
const NEAR: usize = 3;

/// What the name of a delay contains.
const SUBJECTS: &[&str] = &["backoff", "back_off", "delay", "jitter"];

/// Calls and operators with which a value grows from attempt to attempt, or is drawn at random.
const COMPUTATIONS: &[&str] =
    &["pow(", "powi(", "powf(", "exp2(", "<<", "fastrand::", "random_range(", "mul_f64("];

/// A delay is computed in one file, once for all stores: two back-offs drift apart.
///
/// What gives a second back-off away is growth or chance close to something called a delay, so
/// that is what is looked for: a computation and a subject within a few lines of code, or a
/// subject that is doubled. It can be fooled by other names; it is there for the honest mistake.
/// Unit tests are free: they make up delays and compute none.
pub(crate) fn check(sources: &[Source]) -> Vec<Finding> {
    let product = sources.iter().filter(|source| source.is_product() && source.path != ALLOWED);
    product.flat_map(check_file).collect()
}

fn check_file(source: &Source) -> Vec<Finding> {
    let lines: Vec<&str> = source.product_code().lines().map(without_imports).collect();
    let computed = lines.iter().enumerate().filter(|&(at, line)| {
        let near = &lines[at.saturating_sub(NEAR)..(at + NEAR + 1).min(lines.len())];
        let computes = COMPUTATIONS.iter().any(|sign| line.contains(sign));
        (computes && near.iter().any(|line| has_subject(line))) || doubles(line)
    });
    computed
        .map(|(at, _)| {
            let message = format!(
                "looks like a delay computed outside of {ALLOWED}; compute it there and pass it in"
            );
            Finding::at(&source.path, at + 1, message)
        })
        .collect()
}

/// A name in an import is used elsewhere, or it is not.
fn without_imports(line: &str) -> &str {
    let import = ["use ", "pub use ", "pub(crate) use "];
    if import.iter().any(|start| line.trim_start().starts_with(start)) { "" } else { line }
}

fn has_subject(line: &str) -> bool {
    words(line).any(|word| {
        let word = word.to_ascii_lowercase();
        SUBJECTS.iter().any(|subject| word.contains(subject))
    })
}

/// `delay *= 2`, `delay * 2` and `delay.saturating_mul(2)`, but not `delay * 20`.
fn doubles(line: &str) -> bool {
    let by_two = |sign: &&str| {
        let mut factors = line.split(sign).skip(1).map(str::trim_start);
        factors.any(|rest| rest.starts_with('2') && words(rest).next() == Some("2"))
    };
    has_subject(line) && ["*=", "*", "_mul("].iter().any(by_two)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<Option<usize>> {
        check(&[Source::new(path, text)]).into_iter().map(|finding| finding.line).collect()
    }

    fn fails(text: &str) -> bool {
        !lines("queuekit-worker/src/settle.rs", text).is_empty()
    }

    #[test]
    fn growth_and_chance_near_a_delay_fail() {
        assert!(fails("let delay = base * 2_u32.pow(attempts);"));
        assert!(fails("let delay_ms = 100 << attempt;"));
        assert!(fails("let backoff = base.mul_f64(1.5_f64.powi(n));"));
        assert!(fails("let spread = fastrand::u64(..1000);\nlet wait = delay + spread;"));
        assert!(fails("delay *= 2;"));
        assert!(fails("let next = delay.saturating_mul(2).min(max);"));
        assert!(fails("self.backoff = self.backoff * 2;"));
    }

    #[test]
    fn the_line_of_the_computation_is_named() {
        let text = "fn f() {\n    let exponent = 2_u32.pow(3);\n    wait(base_delay * exponent)\n}";
        assert_eq!(lines("queuekit/src/a.rs", text), [Some(2)]);
    }

    #[test]
    fn a_delay_that_is_passed_on_converted_or_clamped_passes() {
        assert!(!fails("let delay = policy.delay(attempt).min(limits::DELAY_MAX);"));
        assert!(!fails("let delay_ms = delay_s * 1000 + delay_s * 20;"));
        assert!(!fails(
            "pub use queuekit_core::retry::{Backoff, Jitter};\nlet n = fastrand::u8(..);"
        ));
        assert!(!fails("// delay = base << attempt\nlet bits = 1 << 4;"));
        assert!(!fails("let bits = 1 << 4;\n\n\n\n\nlet delay = ZERO;"));
    }

    #[test]
    fn the_one_file_unit_tests_and_other_crates_are_free() {
        let text = "let delay = base << attempt;";
        assert_eq!(lines(ALLOWED, text), []);
        assert_eq!(lines("integration-tests/src/a.rs", text), []);
        let test = format!("fn f() {{}}\n#[cfg(test)]\nmod tests {{\n{text}\n}}");
        assert_eq!(lines("queuekit-core/src/memory.rs", &test), []);
    }
}
