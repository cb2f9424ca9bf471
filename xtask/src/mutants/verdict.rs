use std::time::Duration;

use super::list::Mutant;
use super::program::Outcome;

/// What it looks like when a mutant is no store with a guard gone but one that cannot run: its
/// cases would all fail, and show nothing.
const NONSENSE: &[&str] = &[
    "syntax error",
    "no such column",
    "no such table",
    "could not determine data type",
    "Error compiling script",
    "Script attempted to",
    "attempt to perform arithmetic",
    "attempt to compare",
    "attempt to index",
    "attempt to call",
    "wrong number of parameters",
    "prepared statement",
];

/// What became of a mutant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// By cases of its own rule.
    ByRule(Vec<String>),
    /// By a case of another rule only, the first one that failed.
    ByOthers(Vec<String>),
    /// The run did not come to an end.
    Hung,
    /// No case failed.
    Survived,
    /// It cannot run at all, which catches nothing: the list is wrong.
    Nonsense(String),
}

impl Verdict {
    /// The verdict of the cases of its rule; none if they did not catch it.
    pub(super) fn of_rule(outcome: &Outcome) -> Option<Self> {
        Self::of(outcome, Self::ByRule)
    }

    /// Of all the other cases.
    pub(super) fn of_others(outcome: &Outcome) -> Self {
        Self::of(outcome, Self::ByOthers).unwrap_or(Self::Survived)
    }

    fn of(outcome: &Outcome, caught: impl FnOnce(Vec<String>) -> Self) -> Option<Self> {
        let nonsense =
            outcome.output.lines().find(|line| NONSENSE.iter().any(|sign| line.contains(sign)));
        if outcome.hung {
            return Some(Self::Hung);
        }
        if let Some(line) = nonsense {
            return Some(Self::Nonsense(line.trim().to_owned()));
        }
        if outcome.broke {
            return Some(Self::Nonsense("the program ended badly and no case failed".to_owned()));
        }
        (!outcome.failed.is_empty()).then(|| caught(outcome.failed.clone()))
    }

    /// Why the list and the suite do not fit each other, if they do not.
    pub(super) fn fault(&self, mutant: &Mutant) -> Option<String> {
        let is_listed = mutant.survives.is_some();
        match self {
            Self::Nonsense(line) => Some(format!("is no mutant: {line}")),
            Self::Survived if !is_listed => {
                Some("survived: write the case that catches it, or list why none can".to_owned())
            }
            Self::ByRule(_) | Self::ByOthers(_) | Self::Hung if is_listed => {
                Some("is listed as a survivor and caught now: drop its `survives`".to_owned())
            }
            _ => None,
        }
    }

    fn text(&self) -> String {
        let name = |case: &String| case.rsplit("::").next().unwrap_or_default().to_owned();
        let first = |cases: &[String]| {
            let names: Vec<String> = cases.iter().take(2).map(name).collect();
            let more = if cases.len() > names.len() { ", .." } else { "" };
            format!("{}{more}", names.join(", "))
        };
        match self {
            Self::ByRule(cases) => format!("{:>3} {}", cases.len(), first(cases)),
            Self::ByOthers(cases) => format!("  other {}", first(cases)),
            Self::Hung => "    the time limit".to_owned(),
            Self::Survived => "    SURVIVED".to_owned(),
            Self::Nonsense(_) => "    NONSENSE".to_owned(),
        }
    }
}

/// The line of a mutant.
pub(super) fn line(mutant: &Mutant, verdict: &Verdict, took: Duration) -> String {
    let seconds = took.as_secs_f64();
    let listed = if mutant.survives.is_some() { " (listed)" } else { "" };
    let text = verdict.text();
    format!("{seconds:6.1} s  {:<6} {:<58} {text}{listed}", mutant.rule, mutant.name)
}

/// How many went which way.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    by_rule: usize,
    by_others: usize,
    hung: usize,
    survived: usize,
    listed: usize,
    nonsense: usize,
}

impl Counts {
    pub(super) fn add(&mut self, mutant: &Mutant, verdict: &Verdict) {
        let count = match verdict {
            Verdict::ByRule(_) => &mut self.by_rule,
            Verdict::ByOthers(_) => &mut self.by_others,
            Verdict::Hung => &mut self.hung,
            Verdict::Survived if mutant.survives.is_some() => &mut self.listed,
            Verdict::Survived => &mut self.survived,
            Verdict::Nonsense(_) => &mut self.nonsense,
        };
        *count += 1;
    }

    pub(super) fn text(&self) -> String {
        let Self { by_rule, by_others, hung, survived, listed, nonsense } = self;
        let all = by_rule + by_others + hung + survived + listed + nonsense;
        format!(
            "{all} mutants: {by_rule} caught by cases of their rule, {by_others} by others only, \
             {hung} by the time limit; {survived} survived, {listed} as listed; {nonsense} cannot \
             run"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(failed: &[&str], output: &str) -> Outcome {
        let failed = failed.iter().map(|&case| case.to_owned()).collect();
        Outcome { failed, output: output.to_owned(), ..Outcome::default() }
    }

    fn mutant(survives: Option<&str>) -> Mutant {
        Mutant { survives: survives.map(str::to_owned), ..Mutant::default() }
    }

    #[test]
    fn a_mutant_is_caught_by_its_rule_else_by_others_else_it_survives() {
        let red = outcome(&["conformance::fence::r3_3_x"], "assertion failed");
        let cases = red.failed.clone();
        assert_eq!(Verdict::of_rule(&red), Some(Verdict::ByRule(cases.clone())));
        assert_eq!(Verdict::of_rule(&Outcome::default()), None);
        assert_eq!(Verdict::of_others(&red), Verdict::ByOthers(cases));
        assert_eq!(Verdict::of_others(&Outcome::default()), Verdict::Survived);
        let hung = Outcome { hung: true, ..Outcome::default() };
        assert_eq!(Verdict::of_rule(&hung), Some(Verdict::Hung));
    }

    #[test]
    fn what_cannot_run_is_caught_by_nothing() {
        let broken = outcome(&["conformance::fence::r3_3_x"], "ERROR: syntax error at \"AND\"");
        assert!(matches!(Verdict::of_rule(&broken), Some(Verdict::Nonsense(_))));
        let aborted = Outcome { broke: true, ..Outcome::default() };
        let verdict = Verdict::of_others(&aborted);
        assert!(matches!(verdict, Verdict::Nonsense(_)));
        assert!(verdict.fault(&mutant(None)).is_some());
        assert!(verdict.fault(&mutant(Some("why"))).is_some());
    }

    #[test]
    fn only_what_the_list_expects_is_no_fault() {
        let caught = Verdict::ByOthers(vec!["conformance::fence::r3_3_x".to_owned()]);
        for (verdict, listed, is_fault) in [
            (&caught, false, false),
            (&caught, true, true),
            (&Verdict::Hung, false, false),
            (&Verdict::Hung, true, true),
            (&Verdict::Survived, false, true),
            (&Verdict::Survived, true, false),
        ] {
            let fault = verdict.fault(&mutant(listed.then_some("why")));
            assert_eq!(fault.is_some(), is_fault, "{verdict:?} {listed}: {fault:?}");
        }
    }

    #[test]
    fn a_line_has_how_many_cases_and_the_first_names() {
        let cases = ["a::r1", "a::r2", "a::r3"].map(str::to_owned).to_vec();
        let verdict = Verdict::ByRule(cases);
        let mut counts = Counts::default();
        counts.add(&mutant(None), &verdict);
        counts.add(&mutant(Some("why")), &Verdict::Survived);
        let line = line(&mutant(None), &verdict, Duration::from_millis(1500));
        assert!(line.contains("1.5 s") && line.ends_with("3 r1, r2, .."), "{line}");
        let text = counts.text();
        assert!(text.starts_with("2 mutants: 1 caught") && text.contains("1 as listed"), "{text}");
    }
}
