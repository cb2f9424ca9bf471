//! What is wrong with the store, and how to fix it.

use askama::Template;

use super::{Mark, Shell};

/// The page `/ui/doctor`.
#[derive(Clone, Debug, Template)]
#[template(path = "doctor.html")]
pub(crate) struct Doctor {
    pub(crate) shell: Shell,
    pub(crate) is_healthy: bool,
    /// What was looked at, and what it said.
    pub(crate) facts: Vec<(String, String)>,
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
    pub(crate) commands: Vec<&'static str>,
}

/// A part of a sentence: text or code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Words {
    pub(crate) text: &'static str,
    pub(crate) is_code: bool,
}

impl Wanted {
    /// In the texts, code is between backticks.
    pub(crate) fn of(name: &'static str, what: &'static str, setting: &'static str) -> Self {
        let setting = Words::of(setting);
        let begins =
            |text: &str| ["queuekit ", "cargo ", "chmod "].iter().any(|it| text.starts_with(it));
        let is_command = |words: &&Words| words.is_code && begins(words.text);
        let commands = setting.iter().filter(is_command).map(|words| words.text).collect();
        Self { name, what: Words::of(what), setting, commands }
    }
}

impl Words {
    pub(crate) fn of(text: &'static str) -> Vec<Self> {
        let parts = text.split('`').enumerate();
        let parts = parts.map(|(at, text)| Self { text, is_code: at % 2 == 1 });
        parts.filter(|words| !words.text.is_empty()).collect()
    }
}

/// Something that is wrong.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    /// `error` or `warning`
    pub(crate) mark: Mark,
    pub(crate) message: String,
    /// How to fix it.
    pub(crate) remedy: String,
    /// The command of the remedy, to copy.
    pub(crate) command: Option<String>,
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
            wanted.setting.iter().map(|words| (words.text, words.is_code)).collect();
        let command = "queuekit queue set Q --max-pending N";
        assert_eq!(told, [("migrate=off", true), (", or ", false), (command, true)]);
        assert_eq!(wanted.commands, [command]);
    }
}
