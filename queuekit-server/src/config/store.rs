//! The URL of the store.

use super::{Sources, StoreAddress};

const DEFAULT: &str = "sqlite://queuekit.db";

/// `--url`, `QUEUEKIT_URL`, `url` of the file, or a file in the current directory.
pub(crate) fn store_address(flag: Option<&str>, sources: &Sources) -> StoreAddress {
    let environment = sources.environment.get("QUEUEKIT_URL");
    let url = flag.or(environment).or(sources.file.url.as_deref()).unwrap_or(DEFAULT);
    StoreAddress::new(url.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Environment;

    #[test]
    fn a_flag_goes_before_the_environment_before_the_file_before_the_default() {
        let mut sources = Sources::default();
        assert_eq!(store_address(None, &sources).to_open().unwrap(), "sqlite://queuekit.db");
        sources.file.url = Some("memory:file".to_owned());
        assert_eq!(store_address(None, &sources).to_open().unwrap(), "memory:file");
        sources.environment = Environment::of([("QUEUEKIT_URL", "memory:environment")]);
        assert_eq!(store_address(None, &sources).to_open().unwrap(), "memory:environment");
        assert_eq!(store_address(Some("memory:flag"), &sources).to_open().unwrap(), "memory:flag");
    }
}
