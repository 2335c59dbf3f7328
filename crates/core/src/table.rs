//! Text tables of at most 100 columns.

use comfy_table::{Cell, ContentArrangement, LineStyle, Table, TableStyle};

/// Maximum width of a table.
const WIDTH: u16 = 100;

/// A line below the heading is the only border.
const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// Renders rows below a heading, without a final line end.
///
/// A cell may have several lines. Empty columns are omitted.
pub fn text(heading: &[&str], rows: &[Vec<String>]) -> String {
    let filled: Vec<usize> = (0..heading.len())
        .filter(|&column| rows.iter().any(|row| row.get(column).is_some_and(|cell| !cell.is_empty())))
        .collect();
    let mut table = Table::new();
    table.load_style(STYLE).set_content_arrangement(ContentArrangement::Dynamic).set_width(WIDTH);
    table.set_header(filled.iter().map(|&column| Cell::new(heading[column])));
    for row in rows {
        table.add_row(filled.iter().map(|&column| row.get(column).map_or("", String::as_str)));
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 1));
    }
    table.trim_fmt()
}
