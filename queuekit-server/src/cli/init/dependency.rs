use std::path::{Component, Path, PathBuf, absolute};

use anyhow::{Context as _, Result};

use crate::error::Usage;

/// Where the application gets the crate `queuekit` from. It is not on crates.io yet; once it is,
/// the default is the version of this program.
#[derive(Debug)]
pub(super) enum Dependency {
    /// The directory of the crate.
    Path(PathBuf),
    Git(String),
}

impl Dependency {
    /// The crate in a clone of the repository.
    pub(super) fn on_clone(clone: &Path) -> Result<Self> {
        Self::in_clone(clone).ok_or_else(|| {
            let clone = clone.display();
            Usage::error(format!("--path must be a clone of queuekit's repository; got {clone}"))
        })
    }

    /// The clone `queuekit` in the directory that also has the project.
    pub(super) fn next_to(project: &Path) -> Result<Self> {
        let project = absolute(project).context("the current directory is unknown")?;
        let clone = project.with_file_name("queuekit");
        Self::in_clone(&clone).ok_or_else(|| {
            Usage::error(format!(
                "queuekit is not on crates.io yet, and {} is no clone of its repository; pass \
                 --path with a clone, or --git with the URL of a repository",
                clone.display()
            ))
        })
    }

    fn in_clone(clone: &Path) -> Option<Self> {
        let krate = clone.join("queuekit");
        krate.join("Cargo.toml").is_file().then_some(Self::Path(krate))
    }

    /// Its keys in `Cargo.toml` of a project in this directory, which exists.
    pub(super) fn keys(&self, project: &Path) -> Result<String> {
        let (key, value) = match self {
            Self::Git(url) => ("git", url.clone()),
            Self::Path(krate) => {
                let exists = |path: &Path| {
                    let path = path.canonicalize();
                    path.with_context(|| format!("{} cannot be read", krate.display()))
                };
                let path = relative(&exists(project)?, &exists(krate)?);
                let path =
                    path.to_str().with_context(|| format!("{} is not UTF-8", path.display()))?;
                ("path", path.to_owned())
            }
        };
        Ok(format!("{key} = {}", toml::Value::String(value)))
    }
}

/// The path from one directory to another, as `cargo add --path` writes it. Both are absolute.
fn relative(from: &Path, to: &Path) -> PathBuf {
    let shared = from.components().zip(to.components()).take_while(|(from, to)| from == to).count();
    let up = from.components().skip(shared).map(|_| Component::ParentDir);
    up.chain(to.components().skip(shared)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_to_a_crate_leads_up_and_down() {
        for (from, to, path) in [
            ("/src/shop", "/src/queuekit/queuekit", "../queuekit/queuekit"),
            ("/home/ada/shop", "/opt/queuekit", "../../../opt/queuekit"),
            ("/src", "/src/queuekit", "queuekit"),
        ] {
            assert_eq!(relative(Path::new(from), Path::new(to)), Path::new(path));
        }
    }

    #[test]
    fn a_url_is_quoted() {
        let keys = Dependency::Git("https://a/\"b\".git".to_owned()).keys(Path::new(".")).unwrap();
        let table: toml::Table = toml::from_str(&keys).unwrap();
        assert_eq!(table["git"].as_str(), Some("https://a/\"b\".git"));
    }
}
