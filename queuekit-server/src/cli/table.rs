//! Tables for people: columns fit their contents, and numbers are aligned to the right.

use std::fmt;

use anstyle::Style;
use unicode_width::UnicodeWidthStr;

use super::format::on_a_line;

/// A table without lines.
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
    /// Printed instead if there are no rows.
    empty: &'static str,
}

struct Column {
    name: &'static str,
    is_number: bool,
}

/// A cell of a row.
pub(crate) struct Cell {
    text: String,
    style: Style,
}

impl Table {
    /// Columns by name; those that begin with `#` hold numbers.
    pub(crate) fn new(names: &[&'static str], empty: &'static str) -> Self {
        let column = |name: &&'static str| match name.strip_prefix('#') {
            Some(name) => Column { name, is_number: true },
            None => Column { name, is_number: false },
        };
        Self { columns: names.iter().map(column).collect(), rows: Vec::new(), empty }
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(cells.into_iter().collect());
    }

    fn width(&self, column: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(column));
        let widest = cells.map(|cell| cell.text.width()).max().unwrap_or(0);
        widest.max(self.columns[column].name.width())
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.rows.is_empty() {
            return f.write_str(self.empty);
        }
        let widths: Vec<usize> = (0..self.columns.len()).map(|at| self.width(at)).collect();
        let header = self.columns.iter().map(|column| Cell::from(column.name)).collect();
        for (number, row) in std::iter::once(&header).chain(&self.rows).enumerate() {
            let mut line = String::new();
            for ((cell, column), width) in row.iter().zip(&self.columns).zip(&widths) {
                let space = " ".repeat(width - cell.text.width());
                let style = if number == 0 { Style::new().bold() } else { cell.style };
                let (start, end) = (style.render(), style.render_reset());
                let text = match cell.text.as_str() {
                    "" => String::new(),
                    text => format!("{start}{text}{end}"),
                };
                line += &if column.is_number { space + &text } else { text + &space };
                line += "  ";
            }
            f.write_str(if number > 0 { "\n" } else { "" })?;
            f.write_str(line.trim_end())?;
        }
        Ok(())
    }
}

impl Cell {
    /// A cell in this style.
    pub(crate) fn styled(text: impl fmt::Display, style: Style) -> Self {
        Self { text: on_a_line(&text.to_string()), style }
    }
}

impl<T: fmt::Display> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::styled(text, Style::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell_and_numbers_end_in_line() {
        let mut table = Table::new(&["NAME", "#JOBS", "WHY"], "none");
        assert_eq!(table.to_string(), "none");
        table.row([Cell::from("übung"), 7.into(), "x".into()]);
        table.row([Cell::from("a"), 12_345.into(), "".into()]);
        let plain = anstream::adapter::strip_str(&table.to_string()).to_string();
        assert_eq!(plain, "NAME    JOBS  WHY\nübung      7  x\na      12345");
    }
}
