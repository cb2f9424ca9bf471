//! Tasks of the system's administrator: small disks, files that cannot be written.

use std::path::{Path, PathBuf};
use std::process::Command;

use queuekit_conformance::{lacks, tell};

/// A file system of its own, unmounted at the end.
#[derive(Debug)]
pub(crate) struct Disk(PathBuf);

impl Disk {
    /// Mounts one of this size on this directory; none if mounting is not allowed here, and a line
    /// on stderr says so.
    pub(crate) fn mount(test: &str, at: &Path, size: &str) -> Option<Self> {
        let size = format!("size={size}");
        run(test, Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(at))?;
        Some(Self(at.to_owned()))
    }

    pub(crate) fn make_read_only(&self, test: &str) -> Option<()> {
        run(test, Command::new("mount").args(["-o", "remount,ro"]).arg(&self.0))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // A mount that is still in use is removed when its last user ends.
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// A file or directory that nobody can change, until the end.
#[derive(Debug)]
pub(crate) struct Immutable(PathBuf);

impl Immutable {
    pub(crate) fn make(test: &str, path: &Path) -> Option<Self> {
        run(test, Command::new("chattr").arg("+i").arg(path))?;
        Some(Self(path.to_owned()))
    }
}

impl Drop for Immutable {
    fn drop(&mut self) {
        let freed = Command::new("chattr").arg("-i").arg(&self.0).status();
        assert!(freed.is_ok_and(|status| status.success()), "{:?} stays immutable", self.0);
    }
}

/// None if it failed; a line on stderr says so. Its program's name is the word by which tests
/// require that this system allows it.
///
/// # Panics
/// If it is required.
fn run(test: &str, command: &mut Command) -> Option<()> {
    let why = match command.output() {
        Ok(output) if output.status.success() => return Some(()),
        Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        Err(error) => error.to_string(),
    };
    tell(&format!("{command:?}: {why}"));
    lacks(test, &command.get_program().to_string_lossy());
    None
}
