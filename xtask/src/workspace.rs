use std::path::PathBuf;

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package, TargetKind};

use crate::error::{Error, Result};

/// What cargo knows about this workspace, cut down to what the commands here need.
///
/// Crates, features and examples are discovered, never listed by hand: one that is added later is
/// checked from its first day.
#[derive(Debug)]
pub(crate) struct Workspace {
    pub root: PathBuf,
    pub target_directory: PathBuf,
    pub crates: Vec<Crate>,
}

#[derive(Debug, Default)]
pub(crate) struct Crate {
    pub name: String,
    /// The toolchain it promises to build with, as `1.89.0`.
    pub msrv: Option<String>,
    /// Others are to depend on it: it has a library and may be published.
    pub is_public_library: bool,
    /// `cargo doc` writes pages for it.
    pub is_documented: bool,
    /// All but `default`, which is no feature but a choice of them.
    pub features: Vec<String>,
    /// Names of the crates it depends on outside of its tests.
    pub dependencies: Vec<String>,
    pub examples: Vec<Example>,
    /// Below the root, with `/` on every system.
    pub directory: String,
}

#[derive(Debug)]
pub(crate) struct Example {
    pub name: String,
    pub required_features: Vec<String>,
}

impl Workspace {
    /// The workspace around the current directory.
    pub(crate) fn load() -> Result<Self> {
        // Without dependencies cargo needs no network and answers in milliseconds.
        let metadata = MetadataCommand::new().no_deps().exec();
        metadata.map(Self::from).map_err(|error| {
            Error::failed(format!("cargo metadata: {error}; run this inside the workspace"))
        })
    }

    pub(crate) fn find(&self, name: &str) -> Result<&Crate> {
        self.crates.iter().find(|krate| krate.name == name).ok_or_else(|| {
            Error::failed(format!("the workspace has no crate `{name}`; was it renamed?"))
        })
    }
}

impl From<Metadata> for Workspace {
    fn from(metadata: Metadata) -> Self {
        let krate = |package: &Package| {
            let directory = package.manifest_path.parent();
            let below = directory.and_then(|at| at.strip_prefix(&metadata.workspace_root).ok());
            let directory = below.map_or_else(String::new, |at| at.as_str().replace('\\', "/"));
            Crate { directory, ..Crate::from(package) }
        };
        Self {
            root: metadata.workspace_root.clone().into(),
            target_directory: metadata.target_directory.clone().into(),
            crates: metadata.workspace_packages().into_iter().map(krate).collect(),
        }
    }
}

impl From<&Package> for Crate {
    fn from(package: &Package) -> Self {
        let is_library =
            |kind: &TargetKind| matches!(kind, TargetKind::Lib | TargetKind::ProcMacro);
        let library = package.targets.iter().find(|target| target.kind.iter().any(is_library));
        let is_published = package.publish.as_ref().is_none_or(|registries| !registries.is_empty());
        Self {
            name: package.name.to_string(),
            msrv: package.rust_version.as_ref().map(ToString::to_string),
            is_public_library: library.is_some() && is_published,
            is_documented: library.is_some_and(|library| library.doc),
            features: package.features.keys().filter(|name| *name != "default").cloned().collect(),
            dependencies: package
                .dependencies
                .iter()
                .filter(|dependency| dependency.kind != DependencyKind::Development)
                .map(|dependency| dependency.name.clone())
                .collect(),
            examples: examples(package),
            directory: String::new(),
        }
    }
}

fn examples(package: &Package) -> Vec<Example> {
    package
        .targets
        .iter()
        .filter(|target| target.kind.contains(&TargetKind::Example))
        .map(|target| Example {
            name: target.name.clone(),
            required_features: target.required_features.clone(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_this_workspace_and_its_crates() {
        let workspace = Workspace::load().unwrap();
        assert!(workspace.root.join("xtask/src/workspace.rs").exists());
        let xtask = workspace.find("xtask").unwrap();
        assert!(!xtask.is_public_library);
        assert_eq!(xtask.directory, "xtask");
        assert!(xtask.dependencies.iter().any(|name| name == "cargo_metadata"));
        let facade = workspace.find("queuekit").unwrap();
        assert!(facade.is_public_library);
        assert!(facade.features.iter().all(|feature| feature != "default"));
        let error = workspace.find("queuekit-cobol").unwrap_err().to_string();
        assert!(error.contains("queuekit-cobol"), "{error}");
    }
}
