//! What is wrong with the store, and how to fix it.

use askama::Template;

use super::{Mark, Shell, parts};

/// The page `/ui/doctor`.
#[derive(Clone, Debug, Template)]
#[template(path = "doctor.html")]
pub(crate) struct Doctor {
    pub(crate) shell: Shell,
    pub(crate) is_healthy: bool,
    /// What was looked at, and what it said.
    pub(crate) facts: Vec<(String, Vec<Words>)>,
    pub(crate) findings: Vec<Finding>,
    /// What is wanted in production.
    pub(crate) checklist: Vec<Wanted>,
    /// The command that also checks the list for production.
    pub(crate) cli: String,
}

/// An item of the list for production.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) name: &'static str,
    pub(crate) what: Vec<Words>,
    /// Where it is set.
    pub(crate) setting: Vec<Words>,
    /// The commands among these settings, to copy.
    pub(crate) commands: Vec<String>,
}

/// A part of a sentence: text or code.
#[derive(Clone, Debug, PartialEq, Eq, Template)]
#[template(path = "parts/words.html")]
pub(crate) struct Words {
    pub(crate) text: String,
    pub(crate) is_code: bool,
}

parts!(Words);

impl Wanted {
    /// In the texts, code is between backticks.
    pub(crate) fn of(name: &'static str, what: &str, setting: &str) -> Self {
        let setting = Words::of(setting);
        Self { name, what: Words::of(what), commands: Words::commands(&setting), setting }
    }
}

impl Words {
    /// What is between two backticks is code.
    pub(crate) fn of(text: &str) -> Vec<Self> {
        let mut parts: Vec<String> = text.split('`').map(str::to_owned).collect();
        // A backtick without another is text.
        if parts.len().is_multiple_of(2)
            && let (Some(last), Some(before)) = (parts.pop(), parts.last_mut())
        {
            *before = format!("{before}`{last}");
        }
        let parts = parts.into_iter().enumerate();
        let parts = parts.map(|(at, text)| Self { text, is_code: at % 2 == 1 });
        parts.filter(|words| !words.text.is_empty()).collect()
    }

    fn commands(all: &[Self]) -> Vec<String> {
        let begins =
            |text: &str| ["queuekit ", "cargo ", "chmod "].iter().any(|it| text.starts_with(it));
        let is_command = |words: &&Self| words.is_code && begins(&words.text);
        all.iter().filter(is_command).map(|words| words.text.clone()).collect()
    }
}

/// Something that is wrong.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    /// `error` or `warning`
    pub(crate) mark: Mark,
    pub(crate) message: Vec<Words>,
    /// How to fix it.
    pub(crate) remedy: Vec<Words>,
    /// The commands of the remedy, to copy.
    pub(crate) commands: Vec<String>,
}

impl Finding {
    /// In the texts, code is between backticks.
    pub(crate) fn of(mark: Mark, message: &str, remedy: &str) -> Self {
        let (message, remedy) = (Words::of(message), Words::of(remedy));
        Self { mark, message, commands: Words::commands(&remedy), remedy }
    }
}

impl Doctor {
    /// How many findings are of this shape.
    pub(crate) fn count(&self, shape: &str) -> usize {
        self.findings.iter().filter(|finding| finding.mark.shape == shape).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_text_and_code_and_its_commands_can_be_copied() {
        let setting = "`migrate=off`, or `queuekit queue set Q --max-pending N`";
        let wanted = Wanted::of("name", "what", setting);
        let told: Vec<(&str, bool)> =
            wanted.setting.iter().map(|words| (words.text.as_str(), words.is_code)).collect();
        let command = "queuekit queue set Q --max-pending N";
        assert_eq!(told, [("migrate=off", true), (", or ", false), (command, true)]);
        assert_eq!(wanted.commands, [command]);
    }

    #[test]
    fn what_a_finding_says_has_code_instead_of_backticks_and_is_escaped() {
        let remedy = "run `queuekit migrate`, then `a < b`; one ` stays";
        let finding = Finding::of(Mark::new("error", "error"), "`jobs` is full", remedy);
        let html = |words: &[Words]| words.iter().map(ToString::to_string).collect::<String>();
        assert_eq!(html(&finding.message), "<code>jobs</code> is full");
        let code = "run <code>queuekit migrate</code>, then <code>a &#60; b</code>; one ` stays";
        assert_eq!(html(&finding.remedy).replace("&#96;", "`"), code);
        assert_eq!(finding.commands, ["queuekit migrate"]);
    }
}
