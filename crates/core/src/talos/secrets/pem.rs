//! PEM texts, read as Go reads them.

use std::borrow::Cow;
use std::fmt;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// Go's standard base64: padded, and not strict about the bits behind the last byte.
const GO: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::RequireCanonical),
);

/// Reads base64 as Go does: line breaks do not count.
pub(super) fn from_base64(text: &str) -> Option<Vec<u8>> {
    let joined: String = text.chars().filter(|c| !matches!(c, '\n' | '\r')).collect();
    GO.decode(joined).ok()
}

/// Writes standard base64.
pub(super) fn to_base64(bytes: &[u8]) -> String {
    GO.encode(bytes)
}

/// A certificate or key as it stands in a file; it does not show itself.
#[derive(Clone, PartialEq, Eq)]
pub struct Pem(Vec<u8>);

impl Pem {
    /// A block with this label, ended by a line break as Go ends it.
    pub fn new(label: &str, der: &[u8]) -> Self {
        let body = to_base64(der);
        let mut text = format!("-----BEGIN {label}-----\n");
        for line in body.as_bytes().chunks(64) {
            text.push_str(str::from_utf8(line).expect("base64 is ASCII"));
            text.push('\n');
        }
        text.push_str(&format!("-----END {label}-----\n"));
        Self(text.into_bytes())
    }

    /// What stands in a file, taken as it is.
    pub fn from_bytes(bytes: impl Into<Vec<u8>>) -> Self {
        Self(bytes.into())
    }

    /// The text, for documents that hold it in the clear.
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.0)
    }

    /// The whole text in base64, the form of machine configurations and bundles.
    pub fn base64(&self) -> String {
        to_base64(&self.0)
    }

    /// Label and content of the first block, or none where there is no block.
    pub fn block(&self) -> Option<(String, Vec<u8>)> {
        let text = self.text();
        let mut rest: &str = &text;
        loop {
            let start = rest.find("-----BEGIN ")?;
            let begins_line = start == 0 || rest.as_bytes()[start - 1] == b'\n';
            let after = &rest[start + "-----BEGIN ".len()..];
            match begins_line.then(|| block(after)).flatten() {
                Some(found) => return Some(found),
                None => rest = after,
            }
        }
    }
}

/// The block whose text follows `-----BEGIN `.
fn block(text: &str) -> Option<(String, Vec<u8>)> {
    let (first, body) = text.split_once('\n')?;
    let label = first.trim_end().strip_suffix("-----")?;
    let (body, _) = body.split_once(&format!("-----END {label}-----"))?;
    let lines = body.lines().skip_while(|line| line.contains(':')).flat_map(str::chars);
    let packed: String = lines.filter(|c| !c.is_ascii_whitespace()).collect();
    Some((label.to_owned(), GO.decode(packed).ok()?))
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
    fn a_block_is_found_behind_other_text_and_headers() {
        let pem =
            Pem::from_bytes("note\n-----BEGIN A B-----\nProc-Type: 4\n\naGVs\nbG8=\n-----END A B-----\n");

        assert_eq!(pem.block(), Some(("A B".to_owned(), b"hello".to_vec())));
    }

    #[test]
    fn what_is_written_is_read() {
        let pem = Pem::new("X", &[7; 100]);

        assert_eq!(pem.block(), Some(("X".to_owned(), vec![7; 100])));
        assert!(pem.text().ends_with("-----END X-----\n"));
    }

    #[test]
    fn half_a_block_is_none() {
        for text in
            ["", "******", "-----BEGIN", "-----BEGIN X-----\naGVs", "-----BEGIN X-----\n?\n-----END X-----"]
        {
            assert_eq!(Pem::from_bytes(text).block(), None, "{text}");
        }
    }

    #[test]
    fn it_does_not_show_itself() {
        assert_eq!(format!("{:?}", Pem::from_bytes("secret")), "***");
    }
}
