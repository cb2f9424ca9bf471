use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use super::Result;

/// The user of servers if these tests run as root, because Postgres and pgbouncer refuse to run as
/// root.
#[derive(Clone, Copy, Debug)]
pub(super) struct Account {
    uid: u32,
    gid: u32,
}

impl Account {
    /// None if this process is not root: servers then run as the user of the tests.
    pub(super) fn for_servers() -> Result<Option<Self>> {
        if !rustix::process::geteuid().is_root() {
            return Ok(None);
        }
        let found = ["postgres", "nobody"].into_iter().find_map(Self::find);
        let remedy = "there is no user `postgres` nor `nobody`; run the tests as another user";
        found.map(Some).ok_or_else(|| format!("servers do not run as root, and {remedy}"))
    }

    fn find(name: &str) -> Option<Self> {
        Some(Self { uid: id("-u", name)?, gid: id("-g", name)? })
    }

    pub(super) fn runs(self, command: &mut Command) {
        command.uid(self.uid).gid(self.gid);
    }

    pub(super) fn owns(self, path: &Path) -> Result<()> {
        let owned = chown(path, Some(self.uid), Some(self.gid));
        owned.map_err(|error| format!("cannot give {} to a server: {error}", path.display()))
    }
}

fn id(which: &str, user: &str) -> Option<u32> {
    let output = Command::new("id").args([which, user]).output().ok()?;
    String::from_utf8(output.stdout).ok()?.trim().parse().ok()
}
