//! The sources of settings besides flags: the environment and the settings file.

use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};

use super::Environment;
use super::file::FileSettings;
use crate::error::Usage;

/// The file that is read if no other is named.
const FILE: &str = "queuekit.toml";
/// Larger than any settings file.
const MOST_BYTES: u64 = 1 << 20;

/// The environment and the settings file.
#[derive(Default)]
pub(crate) struct Sources {
    pub(crate) environment: Environment,
    pub(crate) file: FileSettings,
    /// The path of the file, if there is one.
    pub(crate) path: Option<PathBuf>,
    /// Relative paths in the file start at its directory.
    pub(crate) directory: PathBuf,
    /// The file that was named with `--config`; otherwise it was only found in the current
    /// directory.
    pub(crate) config: Option<PathBuf>,
}

impl Sources {
    /// Reads both. A file that was named must exist; the default one need not.
    pub(crate) fn read(config: Option<&Path>) -> Result<Self> {
        let environment = Environment::read()?;
        let path = config.unwrap_or(Path::new(FILE));
        let (file, found) = match bounded(path) {
            Ok(text) => (FileSettings::parse(path, &text)?, Some(path.to_owned())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && config.is_none() => {
                (FileSettings::default(), None)
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let name = path.display();
                return Err(Usage::error(format!(
                    "the settings file {name} does not exist; correct --config, or leave it out to \
                     use ./{FILE} if it exists"
                )));
            }
            Err(error) => return Err(anyhow!("cannot read {}: {error}", path.display())),
        };
        let directory = path.parent().map(Path::to_owned).unwrap_or_default();
        let config = config.map(Path::to_owned);
        Ok(Self { environment, file, path: found, directory, config })
    }

    /// Reads both again.
    pub(crate) fn reader(&self) -> impl Fn() -> Result<Self> + Send + Sync + use<> {
        let config = self.config.clone();
        move || Self::read(config.as_deref())
    }
}

/// Reads a file within a bound, because a device may be endless.
fn bounded(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    std::fs::File::open(path)?.take(MOST_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MOST_BYTES {
        let message = format!("it has more than {MOST_BYTES} bytes: is it a settings file?");
        return Err(std::io::Error::new(std::io::ErrorKind::InvalidData, message));
    }
    Ok(text)
}

/// Shows no contents, which may be secret.
impl fmt::Debug for Sources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sources")
    }
}
