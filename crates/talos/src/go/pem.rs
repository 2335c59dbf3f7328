//! PEM texts as `encoding/pem` reads them: blocks among other text, which is ignored.
//!
//! Whether a block contains a certificate or a key is judged by the shape of its content, one level deep. That is enough
//! to detect a certificate; neither Talos nor this module verifies its signature.

use super::base64;

/// A PEM block.
#[derive(PartialEq, Eq)]
pub(crate) struct Block<'t> {
    /// Its type, such as `CERTIFICATE`.
    pub label: &'t str,
    /// Whether it has headers before its content.
    pub headers: bool,
    /// The bytes it holds.
    pub content: Vec<u8>,
}

/// The blocks of a text; malformed ones are skipped.
pub(crate) fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find("-----BEGIN ") {
        let begins_line = start == 0 || rest.as_bytes()[start - 1] == b'\n';
        let after = &rest[start + "-----BEGIN ".len()..];
        match begins_line.then(|| block(after)).flatten() {
            Some((block, behind)) => {
                found.push(block);
                rest = behind;
            }
            None => rest = after,
        }
    }
    found
}

/// The block whose text follows `-----BEGIN `, and the rest.
fn block(text: &str) -> Option<(Block<'_>, &str)> {
    let (first, body) = text.split_once('\n')?;
    let label = first.trim_end().strip_suffix("-----")?;
    let (body, behind) = body.split_once(&format!("-----END {label}-----"))?;
    let headers = body.lines().take_while(|line| line.contains(':')).count();
    let lines = body.lines().skip(headers).flat_map(str::chars);
    let packed: String = lines.filter(|c| !c.is_ascii_whitespace()).collect();
    let content = base64::decode(&packed).ok()?;
    Some((Block { label, headers: headers > 0, content }, behind))
}

impl Block<'_> {
    /// Whether its content is a certificate: signed data, algorithm, signature.
    pub(crate) fn holds_certificate(&self) -> bool {
        const SHAPE: [u8; 3] = [SEQUENCE, SEQUENCE, BITS];
        sequence(&self.content).is_some_and(|parts| parts.iter().map(|part| part.0).eq(SHAPE))
    }

    /// Whether it holds a private key in the form that its label names.
    pub(crate) fn holds_key(&self) -> bool {
        match self.label {
            "RSA PRIVATE KEY" => sequence(&self.content)
                .is_some_and(|parts| parts.len() >= 9 && parts.iter().take(9).all(|part| part.0 == INTEGER)),
            "EC PRIVATE KEY" => self.starts_with(&[INTEGER, BYTES]),
            _ => self.holds_pkcs8() && ["PRIVATE KEY", "ED25519 PRIVATE KEY"].contains(&self.label),
        }
    }

    /// Whether it contains a private key in PKCS #8 form, whatever its label.
    pub(crate) fn holds_pkcs8(&self) -> bool {
        self.starts_with(&[INTEGER, SEQUENCE, BYTES])
    }

    fn starts_with(&self, shape: &[u8]) -> bool {
        sequence(&self.content).is_some_and(|parts| {
            parts.len() >= shape.len() && parts.iter().zip(shape).all(|(part, tag)| part.0 == *tag)
        })
    }
}

const INTEGER: u8 = 0x02;
const BITS: u8 = 0x03;
const BYTES: u8 = 0x04;
const SEQUENCE: u8 = 0x30;

/// The elements of a DER sequence that is all there is, each with its tag.
fn sequence(der: &[u8]) -> Option<Vec<(u8, &[u8])>> {
    let (SEQUENCE, mut inner, []) = element(der)? else { return None };
    let mut parts = Vec::new();
    while !inner.is_empty() {
        let (tag, content, rest) = element(inner)?;
        parts.push((tag, content));
        inner = rest;
    }
    Some(parts)
}

/// The first element: its tag, its content, and the rest.
fn element(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let [tag, first, rest @ ..] = der else { return None };
    let (length, rest) = match first {
        0..=0x7f => (usize::from(*first), rest),
        0x81..=0x84 => {
            let (bytes, rest) = rest.split_at_checked(usize::from(first - 0x80))?;
            (bytes.iter().fold(0usize, |length, byte| length << 8 | usize::from(*byte)), rest)
        }
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((*tag, content, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SEQUENCE { SEQUENCE {}, SEQUENCE {}, BIT STRING {} }
    const CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----\nMAYwADAAAwA=\n-----END CERTIFICATE-----\n";

    #[test]
    fn blocks_are_found_among_other_text() {
        let text = format!(
            "note\n{CERTIFICATE}more\n-----BEGIN X-----\nA: b\n\naGk=\n-----END X-----\n-----BEGIN Y-----\n"
        );

        let found = blocks(&text);

        let labels: Vec<_> = found.iter().map(|block| (block.label, block.headers)).collect();
        assert_eq!(labels, [("CERTIFICATE", false), ("X", true)]);
        assert!(found[0].holds_certificate() && !found[1].holds_certificate());
    }

    #[test]
    fn a_key_has_the_form_its_label_names() {
        // SEQUENCE { INTEGER 0, SEQUENCE {}, OCTET STRING {} }
        let key = |label: &str| format!("-----BEGIN {label}-----\nMAcCAQAwAAQA\n-----END {label}-----\n");

        for (label, holds) in [("PRIVATE KEY", true), ("RSA PRIVATE KEY", false), ("PUBLIC KEY", false)] {
            assert_eq!(blocks(&key(label))[0].holds_key(), holds, "{label}");
        }
        assert!(blocks("-----BEGIN X-----\n?\n-----END X-----\n").is_empty());
    }
}
