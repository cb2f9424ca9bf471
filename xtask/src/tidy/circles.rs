use std::collections::{BTreeMap, BTreeSet};

use crate::tidy::finding::Finding;
use crate::tidy::source::{Source, has_word};

/// The crates in which no modules may use each other in a circle: each of them can be read and
/// tested with only those below it.
const CRATES: [&str; 8] = [
    "queuekit",
    "queuekit-core",
    "queuekit-postgres",
    "queuekit-redis",
    "queuekit-server",
    "queuekit-sqlite",
    "queuekit-transactions",
    "queuekit-worker",
];

/// Where a module is in its crate: the names of the modules that lead to it.
type Path = Vec<String>;

/// What one `use` brings in, and whether others can import it from here.
struct Import {
    path: Path,
    is_public: bool,
}

struct Module<'a> {
    source: &'a Source,
    imports: Vec<Import>,
}

type Modules<'a> = BTreeMap<Path, Module<'a>>;

pub(crate) fn check(rust: &[Source]) -> Vec<Finding> {
    let circles = CRATES.iter().filter_map(|krate| {
        let modules = modules(krate, rust);
        let circle = circle(&modules)?;
        let name = |path: &Path| if path.is_empty() { "lib".to_owned() } else { path.join("::") };
        let names: Vec<String> = circle.iter().map(name).collect();
        let message = format!(
            "modules use each other in a circle: {}; move what both need below them",
            names.join(" -> ")
        );
        Some(Finding::file(&modules[&circle[0]].source.path, message))
    });
    circles.collect()
}

fn modules<'a>(krate: &str, rust: &'a [Source]) -> Modules<'a> {
    let prefix = format!("{krate}/src/");
    let files = rust.iter().filter_map(|source| {
        let file = source.path.strip_prefix(&prefix)?.strip_suffix(".rs")?;
        let mut path: Path = file.split('/').map(ToOwned::to_owned).collect();
        path.pop_if(|name| name == "mod" || name == "lib");
        Some((path, source))
    });
    let files: BTreeMap<Path, &Source> = files.collect();
    let module = |(path, source): (&Path, &&'a Source)| {
        let imports = imports(path, code(source), &|path| files.contains_key(path));
        (path.clone(), Module { source, imports })
    };
    files.iter().map(module).collect()
}

/// The code up to the unit tests, also those of one system alone.
fn code(source: &Source) -> &str {
    source.product_code().split("\nmod tests {").next().unwrap_or_default()
}

/// The imports from this crate, as paths from its root.
fn imports(module: &Path, code: &str, exists: &dyn Fn(&Path) -> bool) -> Vec<Import> {
    let mut imports = Vec::new();
    for statement in code.split_inclusive(';') {
        let Some(at) = statement.rfind("use ").filter(|_| statement.ends_with(';')) else {
            continue;
        };
        let before = statement[..at].rsplit('\n').next().unwrap_or_default().trim();
        if !before.is_empty() && !before.starts_with("pub") {
            continue;
        }
        // In a module within the file, `super` is the file.
        if statement[at..] == *"use super::*;" && statement[..at].ends_with(' ') {
            continue;
        }
        for text in expanded(&statement[at + 4..statement.len() - 1]) {
            if let Some(path) = from_root(module, &text, exists) {
                imports.push(Import { path, is_public: before.starts_with("pub") });
            }
        }
    }
    imports
}

/// `a::{b, c::{d, e}}` as `a::b`, `a::c::d` and `a::c::e`.
fn expanded(text: &str) -> Vec<String> {
    let text = text.trim();
    let Some((head, group)) = text.split_once('{') else {
        return vec![text.split(" as ").next().unwrap_or(text).to_owned()];
    };
    let group = group.trim_end().strip_suffix('}').unwrap_or(group);
    let (mut all, mut depth, mut begin) = (Vec::new(), 0, 0);
    let ends = group.char_indices().chain([(group.len(), ',')]);
    for (at, c) in ends {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                all.push(&group[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    let parts = all.into_iter().filter(|part| !part.trim().is_empty());
    parts.flat_map(expanded).map(|part| format!("{head}{part}")).collect()
}

/// None for a path into another crate.
fn from_root(module: &Path, text: &str, exists: &dyn Fn(&Path) -> bool) -> Option<Path> {
    let names: Vec<String> = text.split("::").map(|name| name.trim().to_owned()).collect();
    let up = names.iter().take_while(|name| *name == "super").count();
    let (base, rest) = match names[0].as_str() {
        "crate" => (Vec::new(), &names[1..]),
        "self" => (module.clone(), &names[1..]),
        "super" => (module[..module.len().checked_sub(up)?].to_vec(), &names[up..]),
        name => {
            let child = [module.as_slice(), &[name.to_owned()]].concat();
            if !exists(&child) {
                return None;
            }
            (module.clone(), &names[..])
        }
    };
    Some([base.as_slice(), rest].concat())
}

/// The module that declares what is imported: a folder's own module may only pass it on.
fn declares(modules: &Modules<'_>, import: &Path) -> Path {
    let mut at = import.clone();
    // A path through modules that pass each other on would not compile.
    for _ in 0..modules.len() {
        let mut module = at.clone();
        while !modules.contains_key(&module) {
            module.pop();
        }
        let Some(item) = at.get(module.len()) else { return module };
        let of = &modules[&module];
        if has_item(code(of.source), item) {
            return module;
        }
        let public = || of.imports.iter().filter(|import| import.is_public);
        let named = public().find(|import| import.path.last() == Some(item));
        let globbed = || {
            public().filter(|import| import.path.last().is_some_and(|last| last == "*")).find_map(
                |import| {
                    let from = import.path[..import.path.len() - 1].to_vec();
                    let declares = has_item(code(modules.get(&from)?.source), item);
                    declares.then(|| [from.as_slice(), std::slice::from_ref(item)].concat())
                },
            )
        };
        match named.map(|import| import.path.clone()).or_else(globbed) {
            Some(next) => at = next,
            None => return module,
        }
    }
    at
}

fn has_item(code: &str, name: &str) -> bool {
    const KINDS: [&str; 8] = ["fn", "struct", "enum", "trait", "type", "const", "static", "mod"];
    let declares = |line: &&str| {
        let is_item = KINDS.iter().any(|kind| line.contains(&format!("{kind} {name}")));
        is_item && has_word(line, name)
    };
    code.lines().any(|line| declares(&line))
}

/// A circle of modules, if there is one: the shortest way from a module back to itself.
fn circle(modules: &Modules<'_>) -> Option<Vec<Path>> {
    let uses: BTreeMap<&Path, BTreeSet<Path>> = modules
        .iter()
        .map(|(path, module)| {
            let used = module.imports.iter().map(|import| declares(modules, &import.path));
            (path, used.filter(|used| used != path).collect())
        })
        .collect();
    uses.keys().copied().find_map(|from| {
        let mut ways: Vec<Vec<Path>> = vec![vec![from.clone()]];
        let mut seen = BTreeSet::new();
        while !ways.is_empty() {
            let mut longer = Vec::new();
            for way in ways {
                for next in &uses[way.last()?] {
                    if next == from {
                        return Some([way, vec![next.clone()]].concat());
                    }
                    if seen.insert(next.clone()) {
                        longer.push([way.clone(), vec![next.clone()]].concat());
                    }
                }
            }
            ways = longer;
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let source = |(name, code): &(&str, &str)| {
            Source::new(&format!("queuekit-sqlite/src/{name}.rs"), code)
        };
        let sources: Vec<Source> = files.iter().map(source).collect();
        check(&sources).into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn two_modules_that_use_each_other_fail() {
        let files = [
            ("lib", "mod config;\nmod url;\n"),
            ("config", "use std::fmt;\n\nuse crate::url::{parse, Query};\n"),
            ("url", "use crate::config::Config;\n"),
        ];
        let found = found(&files);
        assert!(found[0].contains("config -> url -> config"), "{found:?}");
    }

    #[test]
    fn what_a_folder_passes_on_is_of_the_file_that_declares_it() {
        let folder = |call: &str| {
            found(&[
                ("lib", "mod call;\nmod step;\n"),
                ("call", call),
                ("step/mod", "mod ack;\nmod change;\n\npub(crate) use change::Change;\n"),
                ("step/change", "pub(crate) struct Change;\n"),
                ("step/ack", "use super::Change;\nuse crate::call::Call;\n"),
            ])
        };
        assert_eq!(folder("use crate::step::Change;\n"), Vec::<String>::new());
        assert_eq!(folder("use crate::step::ack::ack;\n").len(), 1);
    }

    #[test]
    fn unit_tests_and_other_crates_may_use_what_they_like() {
        let tests =
            "use rusqlite::url;\n#[cfg(test)]\nmod tests {\n    use crate::url::parse;\n}\n";
        let files = [("config", tests), ("url", "use crate::config::Config;\n")];
        assert_eq!(found(&files), Vec::<String>::new());
    }
}
