//! The log of which settings files were read.

use std::path::Path;

use super::{Sources, environment, file_permissions};

impl Sources {
    /// Logs which files were read, because a file in the current directory may be unexpected, and
    /// which of them every user can read.
    pub(crate) fn announce(&self) {
        let absolute = |file: &Path| std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
        let dotenv = self.environment.has_file().then_some(Path::new(environment::FILE));
        for file in [dotenv, self.path.as_deref()].into_iter().flatten() {
            tracing::info!(file = %absolute(file).display(), "read settings");
        }
        for file in file_permissions::exposed(self) {
            let file = absolute(file);
            let (found, remedy) = (file_permissions::FOUND, file_permissions::REMEDY);
            tracing::warn!(file = %file.display(), "{found}: {remedy}");
        }
    }
}
