use crate::tidy::finding::Finding;
use crate::tidy::source::{Source, words};

/// Words with which a statement, or a piece of one, begins when they are written in capitals.
/// Small letters are prose too often, and `SET` or `COPY` alone are commands of Redis as well.
const OPENINGS: &[&str] = &[
    "SELECT",
    "PRAGMA",
    "SAVEPOINT",
    "VACUUM",
    "TRUNCATE",
    "LOCK TABLE",
    "SET LOCAL",
    "SET SESSION",
    "BEGIN",
    "COMMIT",
    "ROLLBACK",
    "FROM",
    "WHERE",
    "RETURNING",
    "ORDER BY",
    "FOR UPDATE",
    "ON CONFLICT",
];

/// What CREATE, ALTER and DROP act on.
const OBJECTS: &[&str] = &[
    "TABLE",
    "INDEX",
    "SCHEMA",
    "VIEW",
    "TRIGGER",
    "FUNCTION",
    "TYPE",
    "SEQUENCE",
    "EXTENSION",
    "DATABASE",
];

/// What may stand between CREATE and its object.
const MODIFIERS: &[&str] =
    &["OR", "REPLACE", "UNIQUE", "TEMP", "TEMPORARY", "UNLOGGED", "MATERIALIZED", "VIRTUAL"];

/// SQL and Lua stand in files of their own, each valid as it stands: there they can be read, run
/// and explained by themselves, and no store builds a statement out of pieces.
pub(crate) fn check(sources: &[Source]) -> Vec<Finding> {
    let product = sources.iter().filter(|source| source.is_product());
    product.flat_map(check_file).collect()
}

fn check_file(source: &Source) -> Vec<Finding> {
    let statements = source.strings.iter().filter_map(|literal| {
        let (language, extension) = if is_sql(&literal.text) {
            ("SQL", "sql")
        } else if is_lua(&literal.text) {
            ("Lua", "lua")
        } else {
            return None;
        };
        let message = format!(
            "{language} in a string; move it to a .{extension} file with a header and \
             `include_str!` it"
        );
        Some(Finding::at(&source.path, literal.line, message))
    });
    statements.collect()
}

/// By how it begins: a whole statement, or a piece of one.
fn is_sql(literal: &str) -> bool {
    // As it would run: without the escapes that lay it out in the source.
    let text = literal.replace("\\n", " ").replace('\\', " ");
    let text = text.trim();
    begins_in_capitals(text) || begins_a_statement(text)
}

fn begins_in_capitals(text: &str) -> bool {
    // A lone word is a name, a command of Redis for example; these are statements even alone.
    if words(text).count() < 2 {
        return matches!(text.trim_end_matches(';'), "BEGIN" | "COMMIT" | "ROLLBACK");
    }
    let goes_on =
        |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || "_-:".contains(c));
    OPENINGS.iter().any(|opening| text.strip_prefix(opening).is_some_and(goes_on))
}

/// In capitals or not: what follows the first word tells it from prose.
fn begins_a_statement(text: &str) -> bool {
    let words: Vec<String> = words(text).map(str::to_ascii_uppercase).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["SELECT", rest @ ..] => rest.contains(&"FROM"),
        ["INSERT", "INTO" | "OR", ..] | ["REPLACE", "INTO", ..] | ["DELETE", "FROM", ..] => true,
        ["UPDATE", _, rest @ ..] => rest.contains(&"SET"),
        ["WITH", _, "AS", ..] | ["WITH", "RECURSIVE", ..] => text.contains('('),
        ["CREATE" | "ALTER" | "DROP", rest @ ..] => {
            let object = rest.iter().find(|word| !MODIFIERS.contains(word));
            object.is_some_and(|word| OBJECTS.contains(word))
        }
        _ => false,
    }
}

fn is_lua(text: &str) -> bool {
    text.contains("redis.call(") || text.contains("redis.pcall(")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(path: &str, text: &str) -> Vec<Finding> {
        check(&[Source::new(path, text)])
    }

    #[test]
    fn statements_in_strings_fail() {
        let statements = [
            "SELECT 1",
            "select id from jobs",
            "\n  insert into jobs values (1)",
            "\\n  insert into jobs values (1)",
            "UPDATE jobs SET state = 2",
            "delete from jobs where id = $1",
            "WITH due AS (SELECT 1) SELECT 2",
            "create unique index i on jobs (id)",
            "DROP TABLE jobs",
            "BEGIN IMMEDIATE",
            "COMMIT",
            "PRAGMA journal_mode = WAL",
            " WHERE id = $1",
            "return redis.call('GET', KEYS[1])",
        ];
        for statement in statements {
            let text = format!("const S: &str = \"{statement}\";");
            assert_eq!(findings("queuekit-sqlite/src/a.rs", &text).len(), 1, "{statement}");
        }
    }

    #[test]
    fn prose_names_and_redis_commands_pass() {
        let passing = [
            "select a queue first",
            "SELECT",
            "update the queue's settings",
            "with a lease as proof",
            "create a job",
            "cannot create the schema",
            "SET",
            "BEGIN-token",
            "where is it?",
            "delete_job",
        ];
        for text in passing {
            let text = format!("f(\"{text}\");");
            assert_eq!(findings("queuekit-sqlite/src/a.rs", &text), [], "{text}");
        }
    }

    #[test]
    fn the_line_is_named_and_comments_and_tests_of_the_workspace_are_free() {
        let found = findings("queuekit-core/src/a.rs", "\n// SELECT 1\nf(\"SELECT 1\");");
        assert_eq!(found[0].line, Some(3));
        assert_eq!(findings("integration-tests/src/a.rs", "f(\"SELECT 1\");"), []);
    }
}
