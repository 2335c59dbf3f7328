//! A writer of BIRD's syntax: statements that end with a semicolon, in blocks.

use std::fmt::{Display, Write};

/// A file that is being written.
#[derive(Default)]
pub(crate) struct BirdWriter {
    text: String,
    depth: usize,
}

impl BirdWriter {
    /// The text of the file.
    pub(crate) fn finish(self) -> String {
        self.text
    }

    /// A comment.
    pub(crate) fn comment(&mut self, comment: impl Display) {
        self.line(format_args!("# {comment}"));
    }

    /// A statement.
    pub(crate) fn statement(&mut self, statement: impl Display) {
        self.line(format_args!("{statement};"));
    }

    /// A top-level block, after an empty line.
    pub(crate) fn block(&mut self, head: impl Display, inside: impl FnOnce(&mut Self)) {
        self.blank_line();
        self.nest(head, "}", inside);
    }

    /// A block that is part of a statement.
    pub fn part(&mut self, head: impl Display, inside: impl FnOnce(&mut Self)) {
        self.nest(head, "};", inside);
    }

    /// A block inside another, without a semicolon at its end.
    pub(crate) fn nested(&mut self, head: impl Display, inside: impl FnOnce(&mut Self)) {
        self.nest(head, "}", inside);
    }

    /// An empty line.
    pub(crate) fn blank_line(&mut self) {
        self.text.push('\n');
    }

    fn nest(&mut self, head: impl Display, end: &str, inside: impl FnOnce(&mut Self)) {
        self.line(format_args!("{head} {{"));
        self.depth += 1;
        inside(self);
        self.depth -= 1;
        self.line(end);
    }

    fn line(&mut self, line: impl Display) {
        let _ = writeln!(self.text, "{:\t<depth$}{line}", "", depth = self.depth);
    }
}

/// Whether a name can be quoted, and matches only itself as a pattern.
pub(crate) fn is_plain_name(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}
