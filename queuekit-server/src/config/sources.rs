//! Where settings come from, beside flags.

use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};

use super::file::FileSettings;
use super::{Environment, environment, exposed};
use crate::cli::Usage;

/// The file that is read if no other one is named.
const FILE: &str = "queuekit.toml";
/// More than any file of settings has.
const MOST_BYTES: u64 = 1 << 20;

/// The environment and the file.
#[derive(Default)]
pub(crate) struct Sources {
    pub(crate) environment: Environment,
    pub(crate) file: FileSettings,
    /// The file, if there is one.
    pub(crate) path: Option<PathBuf>,
    /// Paths in the file begin at its directory.
    pub(crate) directory: PathBuf,
    /// The file that was named; another one was only found in the current directory.
    pub(crate) config: Option<PathBuf>,
}

impl Sources {
    /// Reads them. The file that was named must be there; the one of the usual name need not.
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
                    "there is no file {name}; name the file of settings by --config, or leave it \
                     out to use ./{FILE} if there is one"
                )));
            }
            Err(error) => return Err(anyhow!("{} cannot be read: {error}", path.display())),
        };
        let directory = path.parent().map(Path::to_owned).unwrap_or_default();
        let config = config.map(Path::to_owned);
        Ok(Self { environment, file, path: found, directory, config })
    }

    /// Says in the log which files have a say, for whoever did not expect one where this runs, and
    /// which of them everybody can read.
    pub(crate) fn announce(&self) {
        let absolute = |file: &Path| std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
        let dotenv = self.environment.has_file().then_some(Path::new(environment::FILE));
        for file in [dotenv, self.path.as_deref()].into_iter().flatten() {
            tracing::info!(file = %absolute(file).display(), "settings were read");
        }
        for file in exposed::exposed(self) {
            let file = absolute(file);
            tracing::warn!(file = %file.display(), "{}: {}", exposed::FOUND, exposed::REMEDY);
        }
    }

    /// Reads them again, from the same places.
    pub(crate) fn reader(&self) -> impl Fn() -> Result<Self> + Send + use<> {
        let config = self.config.clone();
        move || Self::read(config.as_deref())
    }
}

/// A device has no end.
fn bounded(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    std::fs::File::open(path)?.take(MOST_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MOST_BYTES {
        let message = format!("it is larger than {MOST_BYTES} bytes: is it the file of settings?");
        return Err(std::io::Error::new(std::io::ErrorKind::InvalidData, message));
    }
    Ok(text)
}

/// What is in them may be secret.
impl fmt::Debug for Sources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sources")
    }
}
