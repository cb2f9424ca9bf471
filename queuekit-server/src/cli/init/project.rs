use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, absolute};
use std::str::FromStr;

use anyhow::{Context as _, Result, bail};
use clap::ValueEnum;

use super::dependency::Dependency;
use crate::error::Usage;

/// An application to write.
#[derive(Debug)]
pub(super) struct Project {
    pub(super) name: Name,
    pub(super) store: Store,
    pub(super) dependency: Dependency,
}

/// The name of a package, as cargo accepts it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Name(String);

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Store {
    Sqlite,
    Postgres,
    Redis,
}

const MANIFEST: &str = include_str!("application/manifest.toml");
/// Where the manifest has the keys of the dependency.
const UNKNOWN: &str = "git = \"DEPENDENCY\"";
/// These are the sources of the example `application` of this crate: they are compiled, linted and
/// tested as they are.
const MAIN: &str = include_str!("application/src/main.rs");
const GREET: &str = include_str!("application/src/greet.rs");
const README: &str = include_str!("application/README.md");
const GITIGNORE: &str = include_str!("application/gitignore");
const SETTINGS: &str = include_str!("application/queuekit.toml");

impl Project {
    /// Writes all files, or none if one of them exists, and answers their paths.
    pub(super) fn write(&self, directory: &Path) -> Result<Vec<&'static str>> {
        let create = |directory: &Path| {
            let created = fs::create_dir_all(directory);
            created.with_context(|| format!("{} cannot be created", directory.display()))
        };
        create(directory)?;
        // Cargo.toml has the path from here.
        let dependency = self.dependency.keys(directory)?;
        let files = self.files(&dependency);
        for path in files.iter().map(|(path, _)| directory.join(path)) {
            if path.symlink_metadata().is_ok() {
                bail!("{} exists already; nothing was written", path.display());
            }
        }
        let sources = directory.join("src");
        need_directory_or_nothing(&sources)?;
        create(&sources)?;
        for (path, text) in &files {
            let path = directory.join(path);
            let written =
                File::create_new(&path).and_then(|mut file| file.write_all(text.as_bytes()));
            written.with_context(|| format!("{} cannot be written", path.display()))?;
        }
        Ok(files.iter().map(|(path, _)| *path).collect())
    }

    fn files(&self, dependency: &str) -> [(&'static str, String); 6] {
        let Self { name: Name(name), store, .. } = self;
        let manifest = MANIFEST.replace("NAME", name).replace("STORE", store.feature());
        let readme = README.replace("NAME", name).replace("START", store.start());
        [
            ("Cargo.toml", manifest.replace(UNKNOWN, dependency)),
            ("src/main.rs", MAIN.replace(Store::Sqlite.url(), store.url())),
            ("src/greet.rs", GREET.to_owned()),
            ("README.md", readme),
            (".gitignore", GITIGNORE.to_owned()),
            ("queuekit.toml", SETTINGS.replace(Store::Sqlite.url(), store.url())),
        ]
    }
}

/// Guard: what is behind a link is elsewhere, where nobody asked for files. The directory that was
/// named on the command line may be a link.
fn need_directory_or_nothing(path: &Path) -> Result<()> {
    let found = match path.symlink_metadata() {
        Ok(found) if found.is_symlink() => "a symbolic link",
        Ok(found) if !found.is_dir() => "no directory",
        _ => return Ok(()),
    };
    let path = path.display();
    bail!("{path} is {found}; remove it, or name another directory; nothing was written")
}

impl Store {
    fn feature(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
            Self::Redis => "redis",
        }
    }

    /// The default in `src/main.rs`, and this program's setting in `queuekit.toml`: both find the
    /// same store.
    pub(super) fn url(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite://queuekit.db",
            Self::Postgres => "postgres://localhost/queuekit",
            Self::Redis => "redis://localhost",
        }
    }

    /// What `README.md` says about the store.
    fn start(self) -> &'static str {
        match self {
            Self::Sqlite => include_str!("application/sqlite.md"),
            Self::Postgres => include_str!("application/postgres.md"),
            Self::Redis => include_str!("application/redis.md"),
        }
        .trim_end()
    }
}

impl Name {
    /// The name of a directory, which need not exist.
    pub(super) fn of(directory: &Path) -> Result<Self> {
        let directory = absolute(directory).context("the current directory is unknown")?;
        let name = directory.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let invalid = |why| Usage::error(format!("--name is needed for this directory: {why}"));
        name.parse().map_err(invalid)
    }
}

impl FromStr for Name {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let valid = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if !name.starts_with(|c: char| c.is_ascii_alphabetic()) || !name.chars().all(valid) {
            let rule = "a package is named by letters, digits, - and _, and a letter comes first";
            return Err(format!("{rule}; got {name:?}"));
        }
        let is_taken = |manifest: &toml::Table| {
            manifest["dependencies"].as_table().is_some_and(|table| table.contains_key(name))
        };
        if toml::from_str(MANIFEST).is_ok_and(|manifest| is_taken(&manifest)) {
            return Err(format!("the application depends on a package named {name}"));
        }
        Ok(Self(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STORES: [Store; 3] = [Store::Sqlite, Store::Postgres, Store::Redis];

    fn table(text: &str) -> toml::Table {
        toml::from_str(text).unwrap()
    }

    fn files(store: Store) -> [(&'static str, String); 6] {
        let name = Name("shop".to_owned());
        let dependency = Dependency::Git("https://example.com/queuekit".to_owned());
        Project { name, store, dependency }.files("path = \"../queuekit/queuekit\"")
    }

    #[test]
    fn its_manifest_names_what_this_workspace_has() {
        let workspace = table(include_str!("../../../../Cargo.toml"));
        let facade = table(include_str!("../../../../queuekit/Cargo.toml"));
        for store in STORES {
            let manifest = table(&files(store)[0].1);
            assert_eq!(manifest["package"]["name"].as_str(), Some("shop"));
            assert_eq!(
                manifest["package"]["edition"],
                workspace["workspace"]["package"]["edition"]
            );
            for (name, dependency) in manifest["dependencies"].as_table().unwrap() {
                let ours = &workspace["workspace"]["dependencies"][name];
                let version = |of: &toml::Value| of.get("version").unwrap_or(of).clone();
                match name.as_str() {
                    "queuekit" => {
                        assert_eq!(dependency["path"].as_str(), Some("../queuekit/queuekit"));
                        let feature = dependency["features"][0].as_str().unwrap();
                        assert!(facade["features"].get(feature).is_some(), "{feature}");
                    }
                    _ => assert_eq!(version(dependency), version(ours), "{name}"),
                }
            }
        }
    }

    #[test]
    fn only_the_url_of_its_program_and_of_this_one_depends_on_the_store() {
        for store in STORES {
            let [_, (_, main), (_, greet), (_, readme), _, (_, settings)] = files(store);
            assert_eq!(table(&settings)["url"].as_str(), Some(store.url()));
            assert_eq!(main.replace(store.url(), Store::Sqlite.url()), MAIN);
            assert_eq!(main.matches(store.url()).count(), 1);
            assert_eq!(greet, GREET);
            assert!(readme.starts_with("# shop\n") && readme.contains(store.start()), "{readme}");
        }
    }

    #[test]
    fn a_package_has_the_name_of_its_directory_if_cargo_accepts_it() {
        assert_eq!(Name::of(Path::new("work/web-shop")).unwrap(), Name("web-shop".to_owned()));
        assert!(Name::of(Path::new(".")).is_ok(), "this crate's directory has a good name");
        for bad in ["web shop", "2nd", "", "tokio", "queuekit"] {
            assert!(Name::from_str(bad).is_err(), "{bad}");
        }
        assert!(Name::of(Path::new("/")).unwrap_err().to_string().contains("--name"));
    }
}
