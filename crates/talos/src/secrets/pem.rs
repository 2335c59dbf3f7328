//! A certificate or key, kept as PEM text.
//!
//! Not here: how Go finds blocks in a text ([`pem`]), and their content.

use std::borrow::Cow;
use std::fmt;

use crate::go::{base64, pem};

/// A certificate or key as in its file; its debug output is redacted.
#[derive(Clone, PartialEq, Eq)]
pub struct Pem(Vec<u8>);

impl Pem {
    /// A block with this label, ended by a line break as Go ends it.
    pub fn new(label: &str, der: &[u8]) -> Self {
        let body = base64::encode(der);
        let mut text = format!("-----BEGIN {label}-----\n");
        for line in body.as_bytes().chunks(64) {
            text.push_str(str::from_utf8(line).expect("base64 is ASCII"));
            text.push('\n');
        }
        text.push_str(&format!("-----END {label}-----\n"));
        Self(text.into_bytes())
    }

    /// Wraps the content of a file.
    pub fn from_bytes(bytes: impl Into<Vec<u8>>) -> Self {
        Self(bytes.into())
    }

    /// Decodes the form of machine configurations and bundles; none if it is not base64.
    pub fn from_base64(text: &str) -> Option<Self> {
        base64::decode(text).ok().map(Self)
    }

    /// The text, for documents that hold it in the clear.
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.0)
    }

    /// The text in base64, the form of machine configurations and bundles.
    pub fn base64(&self) -> String {
        base64::encode(&self.0)
    }

    /// Label and content of the first block, if any.
    pub fn block(&self) -> Option<(String, Vec<u8>)> {
        let text = self.text();
        let block = pem::blocks(&text).into_iter().next()?;
        Some((block.label.to_owned(), block.content))
    }
}

impl fmt::Debug for Pem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_found_after_other_text_and_headers() {
        let pem =
            Pem::from_bytes("note\n-----BEGIN A B-----\nProc-Type: 4\n\naGVs\nbG8=\n-----END A B-----\n");

        assert_eq!(pem.block(), Some(("A B".to_owned(), b"hello".to_vec())));
    }

    #[test]
    fn written_pem_reads_back() {
        let pem = Pem::new("X", &[7; 100]);

        assert_eq!(pem.block(), Some(("X".to_owned(), vec![7; 100])));
        assert!(pem.text().ends_with("-----END X-----\n"));
    }

    #[test]
    fn an_incomplete_block_is_ignored() {
        for text in
            ["", "******", "-----BEGIN", "-----BEGIN X-----\naGVs", "-----BEGIN X-----\n?\n-----END X-----"]
        {
            assert_eq!(Pem::from_bytes(text).block(), None, "{text}");
        }
    }

    #[test]
    fn a_pem_key_is_redacted() {
        assert_eq!(format!("{:?}", Pem::from_bytes("secret")), "***");
    }
}
