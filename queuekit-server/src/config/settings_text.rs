//! Reads the text of a settings file, which may be in a directory of other people.

use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result};
use std::path::Path;

/// Larger than any settings file.
const MOST_BYTES: u64 = 1 << 20;

/// The text of the file at this path, or `None` if nothing is there.
///
/// # Errors
/// If the file cannot be read, is not a regular one, or is larger than any settings file. A pipe
/// would keep the program waiting, and a device may be endless. A link to a file that is not there
/// is a mistake: without the file the server might ask for no key.
pub(super) fn read(path: &Path) -> Result<Option<String>> {
    match path.metadata() {
        Ok(metadata) if metadata.is_file() => {}
        Ok(_) => return Err(invalid("it is not a regular file: is it a settings file?")),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return match path.is_symlink() {
                true => Err(invalid("it is a link to a file that does not exist")),
                false => Ok(None),
            };
        }
        Err(error) => return Err(error),
    }
    let mut text = String::new();
    File::open(path)?.take(MOST_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MOST_BYTES {
        let told = format!("it has more than {MOST_BYTES} bytes: is it a settings file?");
        return Err(invalid(&told));
    }
    Ok(Some(text))
}

fn invalid(told: &str) -> Error {
    Error::new(ErrorKind::InvalidData, told)
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn s6_a_pipe_a_device_a_broken_link_and_a_huge_file_are_no_settings() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        let refused = |name: &str| read(&path(name)).unwrap_err().to_string();
        let is_made = std::process::Command::new("mkfifo").arg(path("pipe")).status();
        assert!(is_made.unwrap().success());
        symlink("/dev/zero", path("device")).unwrap();
        symlink(path("none"), path("broken")).unwrap();
        std::fs::write(path("huge"), vec![b'#'; (MOST_BYTES + 1) as usize]).unwrap();
        for name in ["pipe", "device"] {
            assert!(refused(name).contains("not a regular file"), "{name}");
        }
        assert!(refused("broken").contains("does not exist"));
        assert!(refused("huge").contains("more than 1048576 bytes"));
        assert!(read(&path("none")).unwrap().is_none());
        symlink(path("settings"), path("link")).unwrap();
        std::fs::write(path("settings"), "A=1").unwrap();
        assert_eq!(read(&path("link")).unwrap().as_deref(), Some("A=1"));
    }
}
