//! Tables people can read, and lists that fit into a cell.

use std::io::{self, Write};

/// Prints rows under a heading; a cell may have several lines.
pub(crate) fn print(out: &mut dyn Write, heading: &[&str], rows: &[Vec<String>]) -> io::Result<()> {
    writeln!(out, "{}", ichor_core::table::text(heading, rows))
}

/// The first few names of many.
pub(crate) fn names<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    let names: Vec<_> = names.into_iter().collect();
    match names.as_slice() {
        [] | [_] | [_, _] | [_, _, _] => names.join("\n"),
        [first, second, rest @ ..] => format!("{first}\n{second}\n+ {} more", rest.len()),
    }
}
