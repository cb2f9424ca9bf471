//! Finds settings files with secrets that every user of this machine can read, and those that other
//! users can write.

use std::path::{Path, PathBuf};

use super::{Sources, environment};

/// Settings files that hold a secret, and that other users can read.
pub(crate) fn exposed(sources: &Sources) -> Vec<&Path> {
    let Sources { environment, file, path, .. } = sources;
    let dotenv = environment.file_holds_secret().then_some(Path::new(environment::FILE));
    let settings = path.as_deref().filter(|_| file.holds_secret());
    [dotenv, settings].into_iter().flatten().filter(|path| everybody_reads(path)).collect()
}

/// Settings files, and their directories, that other users or a group can write: these could give
/// themselves a key.
pub(crate) fn writable(sources: &Sources) -> Vec<PathBuf> {
    let dotenv = sources.environment.has_file().then_some(Path::new(environment::FILE));
    let files = [dotenv, sources.path.as_deref()].into_iter().flatten();
    let places = files.flat_map(|file| [file.to_owned(), directory_of(file)]);
    places.filter(|path| others_write(path)).collect()
}

fn directory_of(file: &Path) -> PathBuf {
    match file.parent() {
        Some(directory) if !directory.as_os_str().is_empty() => directory.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// The finding and its remedy, for `doctor` and the log.
pub(crate) const FOUND: &str = "every user can read this file, which holds a secret";
pub(crate) const REMEDY: &str = "run chmod o= on it, or move the secret to the environment";

/// A group may read the file: it may be that of a service whose files belong to root.
#[cfg(unix)]
fn everybody_reads(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o004 != 0)
}

#[cfg(unix)]
fn others_write(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o022 != 0)
}

/// This system has no file modes.
#[cfg(not(unix))]
fn others_write(_: &Path) -> bool {
    false
}

/// This system has no file modes.
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
