//! TOML as gobgpd reads it: tables of keys with plain values.

use std::fmt::{Display, Write};

use serde_json::Value;

/// A file that is being written, table by table.
#[derive(Debug, Default)]
pub(crate) struct TomlWriter(String);

impl TomlWriter {
    /// A comment.
    pub(crate) fn comment(&mut self, text: impl Display) {
        let _ = writeln!(self.0, "# {text}");
    }

    /// Starts a table.
    pub fn table(&mut self, name: &str) -> &mut Self {
        let _ = writeln!(self.0, "\n[{name}]");
        self
    }

    /// Starts the next table of a list.
    pub fn next(&mut self, name: &str) -> &mut Self {
        let _ = writeln!(self.0, "\n[[{name}]]");
        self
    }

    /// Sets a key of the latest table. Strings, numbers, booleans and lists of them are written in TOML as in JSON,
    /// including escapes.
    pub fn key(&mut self, name: &str, value: impl Into<Value>) -> &mut Self {
        let value = value.into();
        debug_assert!(!value.is_object() && !value.is_null(), "{name} is not a plain value");
        let _ = writeln!(self.0, "{name} = {value}");
        self
    }

    /// The text of the file.
    pub fn text(self) -> String {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_and_backslashes_are_escaped() {
        let mut toml = TomlWriter::default();

        toml.table("a").key("b", r#"p"w\x"#).key("c", vec!["^1$", "^1_2$"]).key("d", 3).key("e", true);

        assert_eq!(toml.text(), "\n[a]\nb = \"p\\\"w\\\\x\"\nc = [\"^1$\",\"^1_2$\"]\nd = 3\ne = true\n");
    }
}
