//! Files of settings whose secrets every user of this machine can read.

use std::path::Path;

use super::{Sources, environment};

/// Those that hold a secret, and are not closed to others.
pub(crate) fn exposed(sources: &Sources) -> Vec<&Path> {
    let Sources { environment, file, path, .. } = sources;
    let dotenv = environment.file_holds_secret().then_some(Path::new(environment::FILE));
    let settings = path.as_deref().filter(|_| file.holds_secret());
    [dotenv, settings].into_iter().flatten().filter(|path| everybody_reads(path)).collect()
}

/// What is said of each.
pub(crate) const FOUND: &str = "a file that holds a secret can be read by every user";
pub(crate) const REMEDY: &str = "chmod o= it, or keep the secret in the environment";

/// A group is an answer too: that of a service whose files are root's.
#[cfg(unix)]
fn everybody_reads(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o004 != 0)
}

/// This system has no modes.
#[cfg(not(unix))]
fn everybody_reads(_: &Path) -> bool {
    false
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn s9_a_file_with_a_secret_that_everybody_reads_is_found() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let found = |settings: &str, mode: u32| {
            std::fs::set_permissions(file.path(), PermissionsExt::from_mode(mode)).unwrap();
            let (file, path) = (toml::from_str(settings).unwrap(), Some(file.path().to_owned()));
            !exposed(&Sources { file, path, ..Sources::default() }).is_empty()
        };
        let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        for settings in [
            "url = 'postgres://ada:hunter2@db/jobs'",
            "[handlers.email]\npassword = 'hunter2'",
            &format!("[handlers.http]\nsecret = '{secret}'"),
            &format!("[handlers.http.secrets]\n'a.example' = '{secret}'"),
        ] {
            assert!(found(settings, 0o644) && found(settings, 0o604), "{settings}");
            assert!(!found(settings, 0o640) && !found(settings, 0o600), "{settings}");
        }
        let digest = "0".repeat(64);
        let key = format!("[[keys]]\nid = 'a'\nscopes = ['read']\nsha256 = '{digest}'");
        for settings in ["url = 'postgres://db/jobs'", "[handlers.email]\nuser = 'a'", &key] {
            assert!(!found(settings, 0o644), "{settings}");
        }
    }
}
