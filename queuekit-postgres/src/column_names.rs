//! Rows are read by the names of their columns, so that a statement may order them as it likes.

use tokio_postgres::Row;

use crate::error::{Outcome, unreadable};

/// Declares the columns that are read of each row of an answer. A name costs a search through the
/// columns, so an answer of many rows or columns is searched once, and not once per row.
macro_rules! columns {
    ($visibility:vis struct $name:ident { $($column:ident),* $(,)? }) => {
        #[derive(Clone, Copy, Debug)]
        $visibility struct $name {
            $($column: usize),*
        }

        impl $name {
            /// Where the columns are in these rows, which one statement answered.
            $visibility fn of(rows: &[::tokio_postgres::Row]) -> $crate::error::Outcome<Self> {
                Ok(Self { $($column: $crate::column_names::index(rows, stringify!($column))?),* })
            }
        }
    };
}
pub(crate) use columns;

pub(crate) fn index(rows: &[Row], name: &str) -> Outcome<usize> {
    // Nothing is read of no rows.
    let Some(row) = rows.first() else { return Ok(0) };
    let found = row.columns().iter().position(|column| column.name() == name);
    found.ok_or_else(|| unreadable(&format!("the column {name} of an answer")).into())
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
            // Past the type of the value, if the call names it.
            let reads = text.split("try_get").skip(1).filter_map(|rest| {
                let arguments = rest
                    .strip_prefix("::<")
                    .map_or(rest, |rest| rest.find(">(").map_or(rest, |end| &rest[end + 1..]));
                arguments.strip_prefix('(')
            });
            for read in reads.filter(|read| read.starts_with(|c: char| c.is_ascii_digit())) {
                let read: String = read.chars().take_while(|c| *c != ')').collect();
                by_position.push(format!("{}: try_get({read})", file.display()));
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
