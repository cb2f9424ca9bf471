//! The account that runs this program.

use std::env;
use std::sync::LazyLock;

/// `account@host`, for the entries of a command in the audit log. The account is as the environment
/// names it: who runs a command on a store may write anything to it anyway.
pub(crate) fn account() -> &'static str {
    static ACCOUNT: LazyLock<String> = LazyLock::new(|| {
        let names = ["USER", "LOGNAME", "USERNAME"].into_iter();
        let name = names.filter_map(|name| env::var(name).ok()).find(|name| !name.is_empty());
        format!("{}@{}", name.unwrap_or_else(|| "unknown".to_owned()), host())
    });
    &ACCOUNT
}

#[cfg(unix)]
fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

#[cfg(not(unix))]
fn host() -> String {
    env::var("COMPUTERNAME").unwrap_or_else(|_| "unknown".to_owned())
}
