//! BIRD's way to write: statements that end with a semicolon, in blocks.

use std::fmt::{Display, Write};

/// A file in the making.
#[derive(Default)]
pub(crate) struct BirdWriter {
    text: String,
    depth: usize,
}

impl BirdWriter {
    /// The file.
    pub(crate) fn finish(self) -> String {
        self.text
    }

    /// A remark.
    pub(crate) fn remark(&mut self, remark: impl Display) {
        self.line(format_args!("# {remark}"));
    }

    /// A statement.
    pub(crate) fn say(&mut self, statement: impl Display) {
        self.line(format_args!("{statement};"));
    }

    /// A block that stands by itself, after an empty line.
    pub(crate) fn block(&mut self, head: impl Display, inside: impl FnOnce(&mut Self)) {
        self.apart();
        self.nest(head, "}", inside);
    }

    /// A block that is a part of a statement.
    pub fn part(&mut self, head: impl Display, inside: impl FnOnce(&mut Self)) {
        self.nest(head, "};", inside);
    }

    /// A block inside another that no semicolon ends.
    pub(crate) fn nested(&mut self, head: impl Display, inside: impl FnOnce(&mut Self)) {
        self.nest(head, "}", inside);
    }

    /// Parts what follows from what is there.
    pub(crate) fn apart(&mut self) {
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

/// Whether a name can stand between apostrophes, and in a pattern without being one.
pub(crate) fn fits(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}
