use std::fmt;
use std::path::Path;
use std::process::{Command, Stdio};

/// A command that can be run and, exactly as it is run, shown for a person to repeat.
#[derive(Clone, Debug)]
pub(crate) struct CommandLine {
    env: Vec<(String, String)>,
    program: String,
    args: Vec<String>,
}

impl CommandLine {
    pub(crate) fn new(program: impl Into<String>) -> Self {
        Self { env: Vec::new(), program: program.into(), args: Vec::new() }
    }

    /// `cargo` with the words of `line`; for arguments that need no quoting.
    pub(crate) fn cargo(line: &str) -> Self {
        Self::new("cargo").args(line.split_whitespace())
    }

    pub(crate) fn arg(mut self, arg: impl Into<String>) -> Self {
        self.args.push(arg.into());
        self
    }

    pub(crate) fn args<A: Into<String>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The words of this command, the program first, as further arguments of another.
    pub(crate) fn behind(self, mut other: Self) -> Self {
        other.env.extend(self.env);
        other.arg(self.program).args(self.args)
    }

    /// The same at the lowest priority: what runs beside tests that have time limits leaves the
    /// processor to them.
    pub(crate) fn yielding(self) -> Self {
        if cfg!(unix) { self.behind(Self::new("nice").args(["-n", "19"])) } else { self }
    }

    /// Standard input is closed: a step that asks a question would wait for ever in CI.
    pub(crate) fn to_command(&self, directory: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(&self.args)
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .current_dir(directory)
            .stdin(Stdio::null());
        command
    }
}

impl fmt::Display for CommandLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in &self.env {
            write!(f, "{name}={} ", quoted(value))?;
        }
        f.write_str(&quoted(&self.program))?;
        self.args.iter().try_for_each(|arg| write!(f, " {}", quoted(arg)))
    }
}

/// As a POSIX shell wants it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=+./:,@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_shown_so_that_a_shell_understands_it() {
        let doc = CommandLine::cargo("doc --no-deps").env("RUSTDOCFLAGS", "-D warnings");
        assert_eq!(doc.to_string(), "RUSTDOCFLAGS='-D warnings' cargo doc --no-deps");
        let odd = CommandLine::new("echo").arg("it's").arg("*").arg("");
        assert_eq!(odd.to_string(), r"echo 'it'\''s' '*' ''");
    }

    #[test]
    fn behind_another_it_is_all_arguments() {
        let command = CommandLine::new("initdb").arg("--pgdata").env("LANG", "C");
        let behind = command.behind(CommandLine::new("setpriv").arg("--"));
        assert_eq!(behind.to_string(), "LANG=C setpriv -- initdb --pgdata");
    }
}
