//! Rows are read by the names of their columns, so that a statement may order them as it likes.

use std::sync::{PoisonError, RwLock};

use rusqlite::types::FromSql;
use rusqlite::{Row, Statement};

/// Where some columns are in the rows of a statement.
pub(crate) trait Columns: Copy {
    /// Looks the names up on the first use of a statement.
    fn of(sql: &'static str, statement: &Statement<'_>) -> rusqlite::Result<Self>;
}

/// Declares the columns that are read of each row of a statement.
macro_rules! columns {
    ($($visibility:vis struct $name:ident { $($column:ident),* $(,)? })*) => {$(
        #[derive(Clone, Copy, Debug)]
        $visibility struct $name {
            $($column: usize),*
        }

        impl $crate::column_names::Columns for $name {
            fn of(
                sql: &'static str,
                statement: &::rusqlite::Statement<'_>,
            ) -> ::rusqlite::Result<Self> {
                static FOUND: $crate::column_names::Found<$name> =
                    $crate::column_names::Found::new();
                let find = |name| statement.column_index(name);
                FOUND.of(sql, || Ok(Self { $($column: find(stringify!($column))?),* }))
            }
        }
    )*};
}
pub(crate) use columns;

/// The columns that were looked up, by statement. The text of a statement alone decides where its
/// columns are.
pub(crate) struct Found<C>(RwLock<Vec<(&'static str, C)>>);

impl<C: Copy> Found<C> {
    pub(crate) const fn new() -> Self {
        Self(RwLock::new(Vec::new()))
    }

    pub(crate) fn of(
        &self,
        sql: &'static str,
        find: impl FnOnce() -> rusqlite::Result<C>,
    ) -> rusqlite::Result<C> {
        let found = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, columns)) = found.iter().find(|(of, _)| *of == sql) {
            return Ok(*columns);
        }
        drop(found);
        let columns = find()?;
        self.0.write().unwrap_or_else(PoisonError::into_inner).push((sql, columns));
        Ok(columns)
    }
}

impl<A: Columns, B: Columns> Columns for (A, B) {
    fn of(sql: &'static str, statement: &Statement<'_>) -> rusqlite::Result<Self> {
        Ok((A::of(sql, statement)?, B::of(sql, statement)?))
    }
}

/// The value of a row with one column.
pub(crate) fn only<T: FromSql>(row: &Row<'_>) -> rusqlite::Result<T> {
    const ONLY: usize = 0;
    row.get(ONLY)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    /// A column that moves within its statement would otherwise be read as another one.
    #[test]
    fn no_column_is_read_by_its_position() {
        let mut by_position = Vec::new();
        for file in sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")) {
            let text = fs::read_to_string(&file).expect("a source file");
            let reads = ["row.get", "read."].map(|read| text.split(read).skip(1));
            for read in reads.into_iter().flatten() {
                // What it is called with, past the name of the call and the type of the value.
                let call = read.split_once('(').map_or("", |(_, arguments)| arguments);
                if call.starts_with(|c: char| c.is_ascii_digit()) {
                    let line = read.lines().next().unwrap_or_default();
                    by_position.push(format!("{}: {line}", file.display()));
                }
            }
        }
        assert_eq!(by_position, Vec::<String>::new());
    }

    fn sources(folder: &Path) -> Vec<PathBuf> {
        let mut files = Vec::new();
        for entry in fs::read_dir(folder).expect("a folder of sources") {
            let path = entry.expect("an entry").path();
            match path.is_dir() {
                true => files.extend(sources(&path)),
                false => files.push(path),
            }
        }
        files
    }
}
