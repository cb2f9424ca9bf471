use std::path::Path;
use std::process::Stdio;

use crate::command_line::CommandLine;
use crate::error::{Error, Result};

/// What the command prints; what it complains of goes to the terminal.
pub(crate) fn output(directory: &Path, command: &CommandLine) -> Result<String> {
    let failed = |what: String| Error::failed(format!("{what}\nto repeat it:\n  {command}"));
    let output = command.to_command(directory).stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| failed(format!("could not be run: {error}")))?;
    if !output.status.success() {
        return Err(failed(output.status.to_string()));
    }
    String::from_utf8(output.stdout).map_err(|error| failed(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_fails_is_an_error_with_the_command_to_repeat() {
        let command = CommandLine::new("no-such-program-anywhere").arg("--dir");
        let error = output(Path::new("."), &command).unwrap_err().to_string();
        assert!(error.ends_with("no-such-program-anywhere --dir"), "{error}");
    }
}
