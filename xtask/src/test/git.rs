use std::process::Command;

use crate::error::{Error, Result};
use crate::steps::Steps;

/// What git prints in the root of the workspace.
pub(super) fn output(steps: &Steps, args: &[&str]) -> Result<String> {
    let output = Command::new("git").args(args).current_dir(&steps.root).output();
    let output = output.map_err(|error| Error::failed(format!("git {args:?}: {error}")))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(Error::failed(format!("git {}: {}", args.join(" "), said.trim())));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
