use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package, PackageId};
use serde_json::{Value, json};

use crate::error::{Error, Result};

/// What is shipped.
const ROOT: &str = "queuekit-server";

/// Which components to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    /// Those of one platform, as `x86_64-unknown-linux-gnu`; else of all.
    pub target: Option<String>,
}

impl Options {
    pub(crate) fn parse(args: &[&str]) -> Result<Self> {
        match args {
            [] => Ok(Self::default()),
            ["--target", target] => Ok(Self { target: Some((*target).to_owned()) }),
            [arg, ..] => Err(Error::Usage(format!("sbom: unexpected `{arg}`"))),
        }
    }
}

/// Writes the bill of materials of the binary, as CycloneDX 1.5: all crates that it is built from,
/// with their licences and the digests of `Cargo.lock`. It holds neither time nor chance: the same
/// commit gives the same bytes.
pub(crate) fn run(options: &Options) -> Result<()> {
    let mut command = MetadataCommand::new();
    let mut others = vec!["--locked".to_owned()];
    if let Some(target) = &options.target {
        others.extend(["--filter-platform".to_owned(), target.clone()]);
    }
    let metadata = command.other_options(others).exec();
    let metadata = metadata.map_err(|error| Error::failed(format!("cargo metadata: {error}")))?;
    let root: &Path = metadata.workspace_root.as_ref();
    let lock = root.join("Cargo.lock");
    let lock = fs::read_to_string(&lock).map_err(|error| unusable(&lock, &error))?;
    let bom = bill(&metadata, &checksums(&lock)?)?;
    let path = Path::new(&metadata.target_directory).join("sbom").join("queuekit.cdx.json");
    let text = format!("{bom:#}\n");
    let written = path.parent().map_or(Ok(()), fs::create_dir_all);
    written.and_then(|()| fs::write(&path, text)).map_err(|error| unusable(&path, &error))?;
    println!("{}", path.display());
    Ok(())
}

fn unusable(path: &Path, error: &dyn std::fmt::Display) -> Error {
    Error::failed(format!("{}: {error}", path.display()))
}

/// The bill of what [`ROOT`] is built from.
fn bill(metadata: &Metadata, checksums: &Checksums) -> Result<Value> {
    let root = metadata.packages.iter().find(|package| package.name == ROOT);
    let root = root.ok_or_else(|| Error::failed(format!("the workspace has no crate {ROOT}")))?;
    let graph = graph(metadata)?;
    let mut found = BTreeSet::from([&root.id]);
    let mut open = vec![&root.id];
    while let Some(id) = open.pop() {
        open.extend(graph.get(id).into_iter().flatten().filter(|id| found.insert(id)));
    }
    let packages: BTreeMap<&PackageId, &Package> =
        metadata.packages.iter().map(|package| (&package.id, package)).collect();
    let mut parts: Vec<&Package> =
        found.iter().filter_map(|id| packages.get(id).copied()).collect();
    parts.sort_by_key(|package| reference(package));
    let needs = |package: &&Package| {
        let needed = graph.get(&package.id).into_iter().flatten();
        let needed = needed.filter_map(|id| packages.get(id)).map(|package| reference(package));
        json!({"ref": reference(package), "dependsOn": needed.collect::<BTreeSet<_>>()})
    };
    let libraries = parts.iter().filter(|package| package.id != root.id);
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": component(root, "application", checksums)},
        "components":
            libraries.map(|package| component(package, "library", checksums)).collect::<Vec<_>>(),
        "dependencies": parts.iter().map(needs).collect::<Vec<_>>(),
    }))
}

/// What each package needs to be built; what its tests need is not shipped.
fn graph(metadata: &Metadata) -> Result<BTreeMap<&PackageId, BTreeSet<&PackageId>>> {
    let resolve = metadata.resolve.as_ref();
    let resolve = resolve.ok_or_else(|| Error::failed("cargo metadata resolved nothing"))?;
    let is_built = |kind: &cargo_metadata::DepKindInfo| kind.kind != DependencyKind::Development;
    let nodes = resolve.nodes.iter().map(|node| {
        let built = node.deps.iter().filter(|dependency| dependency.dep_kinds.iter().any(is_built));
        (&node.id, built.map(|dependency| &dependency.pkg).collect())
    });
    Ok(nodes.collect())
}

fn component(package: &Package, kind: &str, checksums: &Checksums) -> Value {
    let mut component = json!({
        "type": kind,
        "bom-ref": reference(package),
        "name": package.name.to_string(),
        "version": package.version.to_string(),
        "purl": reference(package),
    });
    if let Some(license) = &package.license {
        // Crates of old write the choice as a path.
        let expression = license.replace('/', " OR ").replace("  ", " ");
        component["licenses"] = json!([{ "expression": expression }]);
    }
    if let Some(repository) = &package.repository {
        component["externalReferences"] = json!([{"type": "vcs", "url": repository}]);
    }
    let named = (package.name.to_string(), package.version.to_string());
    if let Some(digest) = checksums.get(&named).filter(|_| package.source.is_some()) {
        component["hashes"] = json!([{"alg": "SHA-256", "content": digest}]);
    }
    component
}

fn reference(package: &Package) -> String {
    // Of a version, `+` alone has to be written otherwise in such a URL.
    format!("pkg:cargo/{}@{}", package.name, package.version.to_string().replace('+', "%2B"))
}

/// SHA-256 by name and version.
type Checksums = BTreeMap<(String, String), String>;

/// Those of `Cargo.lock`, by which cargo checks what it downloads.
fn checksums(lock: &str) -> Result<Checksums> {
    let wrong = |error: toml::de::Error| Error::failed(format!("Cargo.lock: {error}"));
    let lock: toml::Table = toml::from_str(lock).map_err(wrong)?;
    let packages = lock.get("package").and_then(toml::Value::as_array).into_iter().flatten();
    let text = |package: &toml::Value, key: &str| package.get(key)?.as_str().map(str::to_owned);
    let named = packages.filter_map(|package| {
        let named = (text(package, "name")?, text(package, "version")?);
        Some((named, text(package, "checksum")?))
    });
    Ok(named.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own() -> Value {
        let metadata =
            MetadataCommand::new().other_options(["--locked".to_owned()]).exec().unwrap();
        let lock = fs::read_to_string(metadata.workspace_root.join("Cargo.lock")).unwrap();
        bill(&metadata, &checksums(&lock).unwrap()).unwrap()
    }

    fn texts<'a>(list: &'a Value, key: &str) -> Vec<&'a str> {
        list.as_array().unwrap().iter().map(|item| item[key].as_str().unwrap()).collect()
    }

    #[test]
    fn the_bill_lists_what_the_binary_is_built_from_once_and_no_more() {
        let bom = own();
        assert_eq!(
            (&bom["bomFormat"], &bom["specVersion"], &bom["metadata"]["component"]["name"]),
            (&json!("CycloneDX"), &json!("1.5"), &json!("queuekit-server"))
        );
        let names = texts(&bom["components"], "name");
        for built in ["tokio", "rustls", "libsqlite3-sys", "cc", "serde_derive", "queuekit-core"] {
            assert!(names.contains(&built), "{built}");
        }
        // Of tests, benchmarks and this program.
        for other in ["tempfile", "criterion", "xtask", "queuekit-conformance", "rcgen"] {
            assert!(!names.contains(&other), "{other}");
        }
        let references = texts(&bom["components"], "bom-ref");
        let distinct: BTreeSet<&str> = references.iter().copied().collect();
        assert_eq!(references.len(), distinct.len());
        let known: BTreeSet<&str> = distinct
            .into_iter()
            .chain([bom["metadata"]["component"]["bom-ref"].as_str().unwrap()])
            .collect();
        for node in bom["dependencies"].as_array().unwrap() {
            assert!(known.contains(node["ref"].as_str().unwrap()), "{node}");
            for needed in node["dependsOn"].as_array().unwrap() {
                assert!(known.contains(needed.as_str().unwrap()), "{node}");
            }
        }
        assert_eq!(bom["dependencies"].as_array().unwrap().len(), known.len());
        assert_eq!(bom, own(), "the same commit gives the same bill");
    }

    #[test]
    fn what_was_downloaded_has_its_digest_and_its_licence() {
        let bom = own();
        for component in bom["components"].as_array().unwrap() {
            let is_ours = component["name"].as_str().unwrap().starts_with("queuekit");
            let digest = component["hashes"][0]["content"].as_str();
            assert_eq!(digest.is_none(), is_ours, "{component}");
            assert!(digest.is_none_or(|digest| digest.len() == 64), "{component}");
            let licence = component["licenses"][0]["expression"].as_str().unwrap();
            assert!(!licence.is_empty() && !licence.contains('/'), "{component}");
        }
    }

    #[test]
    fn digests_are_read_by_name_and_version() {
        let lock = "version = 4\n[[package]]\nname = 'a'\nversion = '1.0.0'\nchecksum = 'x'\n\
                    [[package]]\nname = 'own'\nversion = '0.1.0'\n";
        let read = checksums(lock).unwrap();
        assert_eq!(read, [(("a".to_owned(), "1.0.0".to_owned()), "x".to_owned())].into());
        assert!(checksums("package = [").is_err());
    }

    #[test]
    fn one_platform_is_named_by_target_and_nothing_else_is_known() {
        let target = Some("x86_64-unknown-linux-gnu".to_owned());
        assert_eq!(
            Options::parse(&["--target", "x86_64-unknown-linux-gnu"]),
            Ok(Options { target })
        );
        assert!(matches!(Options::parse(&["--target"]), Err(Error::Usage(_))));
    }
}
