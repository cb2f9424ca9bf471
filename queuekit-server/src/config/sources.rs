//! The sources of settings besides flags: the environment and the settings file.

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};

use super::file::FileSettings;
use super::{Environment, settings_text};
use crate::error::Usage;

/// The file that is read if no other is named.
const FILE: &str = "queuekit.toml";

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
        let text = settings_text::read(path);
        let text = text.map_err(|error| anyhow!("cannot read {}: {error}", path.display()))?;
        let (file, found) = match text {
            Some(text) => (FileSettings::parse(path, &text)?, Some(path.to_owned())),
            None if config.is_none() => (FileSettings::default(), None),
            None => {
                let name = path.display();
                return Err(Usage::error(format!(
                    "the settings file {name} does not exist; correct --config, or leave it out to \
                     use ./{FILE} if it exists"
                )));
            }
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

/// Shows no contents, which may be secret.
impl fmt::Debug for Sources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sources")
    }
}
