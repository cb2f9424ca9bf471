//! A button that changes something: a form that works without scripts.

use askama::Template;

use super::parts;

/// A button. If it cannot act now, it is disabled and says why.
#[derive(Clone, Debug, Template)]
#[template(path = "parts/action.html")]
pub(crate) struct Action {
    /// Unique on the page; the parts of the button have ids that begin with it.
    pub(crate) id: String,
    /// Where the form is posted to, with the path prefix.
    pub(crate) url: String,
    pub(crate) csrf: String,
    /// What happens: `Retry 12 jobs`.
    pub(crate) label: String,
    /// Hidden fields of the form.
    pub(crate) fields: Vec<(&'static str, String)>,
    pub(crate) tone: Tone,
    /// Why it is impossible now.
    pub(crate) impossible: Option<String>,
    /// Asked before it happens; none for what can be undone.
    pub(crate) confirm: Option<Confirm>,
    /// Fields of the question.
    pub(crate) inputs: Vec<Input>,
    /// The same on the command line, to copy.
    pub(crate) cli: Option<String>,
}

/// A field of a question.
#[derive(Clone, Debug)]
pub(crate) struct Input {
    pub(crate) name: &'static str,
    pub(crate) label: &'static str,
    pub(crate) kind: InputKind,
}

#[derive(Clone, Debug)]
pub(crate) enum InputKind {
    /// A number from 1 on.
    Number(u32),
    /// A text that may be left out, of at most this number of letters.
    Text { most: u32 },
    /// One of these: what is sent, and what is shown.
    Choice(&'static [(&'static str, &'static str)]),
}

/// How a button looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    Primary,
    Danger,
}

/// The question before an action.
#[derive(Clone, Debug)]
pub(crate) struct Confirm {
    /// `Delete this job?`, with number and target.
    pub(crate) question: String,
    /// What is lost.
    pub(crate) detail: String,
}

parts!(Action);

impl Action {
    pub(crate) fn new(id: &str, url: String, csrf: &str, label: impl Into<String>) -> Self {
        Self {
            id: id.to_owned(),
            url,
            csrf: csrf.to_owned(),
            label: label.into(),
            fields: Vec::new(),
            tone: Tone::Plain,
            impossible: None,
            confirm: None,
            inputs: Vec::new(),
            cli: None,
        }
    }

    pub(crate) fn field(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.fields.push((name, value.into()));
        self
    }

    pub(crate) fn tone(mut self, tone: Tone) -> Self {
        self.tone = tone;
        self
    }

    pub(crate) fn impossible(mut self, why: impl Into<String>) -> Self {
        self.impossible = Some(why.into());
        self
    }

    pub(crate) fn confirm(mut self, question: impl Into<String>, lost: impl Into<String>) -> Self {
        self.confirm = Some(Confirm { question: question.into(), detail: lost.into() });
        self
    }

    /// Adds a field to the question.
    pub(crate) fn input(
        mut self,
        name: &'static str,
        label: &'static str,
        kind: InputKind,
    ) -> Self {
        self.inputs.push(Input { name, label, kind });
        self
    }

    pub(crate) fn cli(mut self, command: impl Into<String>) -> Self {
        self.cli = Some(command.into());
        self
    }

    pub(crate) const fn class(&self) -> &'static str {
        match self.tone {
            Tone::Plain => "btn",
            Tone::Primary => "btn primary",
            Tone::Danger => "btn danger",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_impossible_cannot_be_sent() {
        let action = Action::new("retry", "/ui/x".to_owned(), "token", "Retry");
        assert!(action.to_string().contains("<form"), "{action}");
        let action = action.impossible("It runs.");
        let html = action.to_string();
        assert!(!html.contains("<form") && html.contains("disabled"), "{html}");
        assert!(html.contains("It runs."), "{html}");
    }

    #[test]
    fn what_cannot_be_undone_asks_first() {
        let action = Action::new("del", "/ui/x".to_owned(), "token", "Delete");
        let html = action.confirm("Delete <this>?", "It is gone.").to_string();
        assert!(html.contains("popovertarget=\"del-ask\""), "{html}");
        assert!(html.contains("Delete &#60;this&#62;?"), "{html}");
    }
}
