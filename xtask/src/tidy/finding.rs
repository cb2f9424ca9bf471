use std::fmt;

/// One place that breaks a rule: where, what, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub severity: Severity,
    pub path: String,
    /// Counted from 1; `None` when it is about the file as a whole.
    pub line: Option<usize>,
    pub message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Severity {
    /// To be dealt with some day; does not fail the run.
    Warning,
    Failure,
}

impl Finding {
    pub(crate) fn at(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { line: Some(line), ..Self::file(path, message) }
    }

    pub(crate) fn file(path: &str, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Failure,
            path: path.to_owned(),
            line: None,
            message: message.into(),
        }
    }

    pub(crate) fn into_warning(self) -> Self {
        Self { severity: Severity::Warning, ..self }
    }
}

/// `path:line: ...`, the form that editors and terminals turn into a link.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        let severity = match self.severity {
            Severity::Warning => "warning",
            Severity::Failure => "error",
        };
        write!(f, ": {severity}: {}", self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_shown_as_a_link_with_its_severity() {
        let finding = Finding::at("a/b.rs", 7, "no");
        assert_eq!(finding.to_string(), "a/b.rs:7: error: no");
        assert_eq!(Finding::file("a.rs", "no").into_warning().to_string(), "a.rs: warning: no");
    }
}
