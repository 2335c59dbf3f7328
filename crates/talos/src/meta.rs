//! META values as they travel: on the kernel command line and to the installer.
//!
//! [`encode`] and [`decode`] are the form of `INSTALLER_META_BASE64`: `0xa=VALUE;0xc=VALUE` in base64, gzipped where that
//! is wanted and it is long. [`Value::parse`] reads one `KEY=VALUE` as Talos does.
//!
//! Not here: the META partition ([`adv`](crate::meta_partition)).

use std::collections::BTreeSet;
use std::fmt;
use std::io::{Read, Write};

use ::base64::DecodeError;
use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;

use super::go::base64;

/// The key of the platform's network configuration, on metal.
pub const NETWORK: u8 = 10;

/// The key of the code in the URL of a configuration.
pub const CODE: u8 = 11;

/// The key of the boot loaders that a disk image has; Talos removes it at the first boot, with those that were not used.
pub const LOADERS: u8 = 17;

/// The variable that carries META values to the installer.
pub const VARIABLE: &str = "INSTALLER_META_BASE64";

/// From this length on, values are gzipped.
const GZIPPED_OVER: usize = 256;

/// The longest text that is unpacked: as much as the META partition holds.
const LONGEST: u64 = 1 << 20;

/// A META value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// Its key.
    pub key: u8,
    /// Its value.
    pub value: String,
}

/// Why META values could not be read or written. A value is never repeated: it may be a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MetaError {
    /// It has no `=`.
    #[error("value {nth} has no `=`; want KEY=VALUE, such as 0xa=text")]
    NoEquals {
        /// Counted from 1.
        nth: usize,
    },
    /// The key is not a number that fits.
    #[error("`{0}` is not a META key; want a number from 0 to 255, such as 10 or 0xa")]
    Key(String),
    /// It is not base64.
    #[error("not base64: {0}; is some of it missing, or is it something else?")]
    Base64(String),
    /// It is gzipped, but not to the end.
    #[error("cannot unpack it: {0}")]
    Gzip(String),
    /// It is not text.
    #[error("not UTF-8")]
    Utf8,
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}={}", self.key, self.value)
    }
}

impl Value {
    /// Parses `KEY=VALUE`; `nth` is its number in errors.
    pub fn parse(text: &str, nth: usize) -> Result<Value, MetaError> {
        let (key, value) = text.split_once('=').ok_or(MetaError::NoEquals { nth })?;
        let key = parse_key(key).ok_or_else(|| MetaError::Key(key.to_owned()))?;
        Ok(Value { key, value: value.to_owned() })
    }
}

/// A number as Go reads it when its base is left open: `0xa`, `0o12`, `012`, `0b1010`, `1_0`.
fn parse_key(text: &str) -> Option<u8> {
    let lower = text.to_ascii_lowercase();
    let (digits, base) = match lower.as_bytes() {
        [b'0', b'x', _, ..] => (&lower[2..], 16),
        [b'0', b'o', _, ..] => (&lower[2..], 8),
        [b'0', b'b', _, ..] => (&lower[2..], 2),
        [b'0', _, ..] => (&lower[1..], 8),
        _ => (lower.as_str(), 10),
    };
    // An underscore must be between two digits, or between a prefix and a digit.
    let prefixed = digits.len() < lower.len();
    let body = if prefixed { digits.strip_prefix('_').unwrap_or(digits) } else { digits };
    if body.is_empty() || body.starts_with('_') || body.ends_with('_') || body.contains("__") {
        return None;
    }
    let plain = body.replace('_', "");
    if !plain.chars().all(|c| c.is_digit(base)) {
        return None;
    }
    u8::from_str_radix(&plain, base).ok()
}

/// The values in base64, gzipped where that is wanted and they are long.
pub fn encode(values: &[Value], gzip: bool) -> String {
    let text = values.iter().map(Value::to_string).collect::<Vec<_>>().join(";");
    let bytes = if gzip && text.len() > GZIPPED_OVER { pack(text.as_bytes()) } else { text.into_bytes() };
    base64::encode(bytes)
}

/// The repeated keys, each once.
pub fn repeated_keys(values: &[Value]) -> BTreeSet<u8> {
    let mut seen = BTreeSet::new();
    values.iter().map(|value| value.key).filter(|key| !seen.insert(*key)).collect()
}

/// The keys whose values Talos will not read back: it cuts the list at every `;`.
pub fn unreadable_keys(values: &[Value]) -> impl Iterator<Item = u8> {
    values.iter().filter(|value| value.value.contains(';')).map(|value| value.key)
}

fn pack(bytes: &[u8]) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::best());
    packer.write_all(bytes).and_then(|()| packer.finish()).expect("memory takes every byte")
}

/// The values out of base64.
pub fn decode(text: &str) -> Result<Vec<Value>, MetaError> {
    let mut bytes = base64::decode(text).map_err(|error| MetaError::Base64(describe_error(&error)))?;
    if bytes.is_empty() {
        return Ok(Vec::new());
    }
    if bytes.len() >= 10 && bytes.starts_with(&[0x1f, 0x8b]) {
        bytes = unpack(&bytes)?;
    }
    let text = String::from_utf8(bytes).map_err(|_| MetaError::Utf8)?;
    text.split(';').enumerate().map(|(nth, part)| Value::parse(part, nth + 1)).collect()
}

fn describe_error(error: &DecodeError) -> String {
    match error {
        DecodeError::InvalidByte(place, _) => {
            format!("character {} is not allowed there", place.saturating_add(1))
        }
        DecodeError::InvalidLength(length) => format!("it stops short after {length} characters"),
        DecodeError::InvalidLastSymbol { .. } | DecodeError::InvalidPadding => {
            "it does not end with as many `=` as it should".to_owned()
        }
    }
}

fn unpack(bytes: &[u8]) -> Result<Vec<u8>, MetaError> {
    let mut unpacked = Vec::new();
    let failed = |reason: String| MetaError::Gzip(reason);
    MultiGzDecoder::new(bytes)
        .take(LONGEST + 1)
        .read_to_end(&mut unpacked)
        .map_err(|error| failed(error.to_string()))?;
    if unpacked.len() as u64 > LONGEST {
        return Err(failed(format!("it is longer than {} MiB", LONGEST >> 20)));
    }
    Ok(unpacked)
}

/// The variable the installer reads.
pub fn environment(encoded: &str) -> String {
    format!("{VARIABLE}={encoded}")
}

/// The kernel argument that sets it.
pub fn kernel_argument(encoded: &str) -> String {
    format!("talos.environment={}", environment(encoded))
}

/// The encoded values of a variable, a kernel argument or a kernel command line, or `text` itself.
pub fn encoded_part(text: &str) -> &str {
    let text = text.trim();
    // If it is set twice, the last one counts. Line breaks are part of base64, blanks end an argument.
    let Some((_, rest)) = text.rsplit_once(&format!("{VARIABLE}=")) else { return text };
    rest.split([' ', '\t', '"']).next().unwrap_or(rest)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_key_is_a_number_as_go_reads_it() {
        for text in ["10", "0xa", "0XA", "012", "0o12", "0b1010", "1_0", "0x_a", "0_12"] {
            assert_eq!(parse_key(text), Some(10), "{text}");
        }
        for text in ["", "256", "-1", "+1", "a", "0x", "1__0", "_10", "10_", "08", " 1", "0x_", "0b2"] {
            assert_eq!(parse_key(text), None, "{text}");
        }
        assert_eq!(parse_key("0"), Some(0));
        assert_eq!(parse_key("255"), Some(255));
    }

    #[test]
    fn errors_do_not_repeat_values() {
        let text = base64::encode("0xa=ok;hunter2");

        assert_eq!(decode(&text), Err(MetaError::NoEquals { nth: 2 }));
    }

    #[test]
    fn a_value_with_a_semicolon_is_reported() {
        let values = [Value { key: 10, value: "a;b".to_owned() }, Value { key: 12, value: "c".to_owned() }];

        assert_eq!(unreadable_keys(&values).collect::<Vec<_>>(), [10]);
        assert_eq!(decode(&encode(&values, false)), Err(MetaError::NoEquals { nth: 2 }));
    }

    #[test]
    fn the_encoded_part_is_found_in_every_form() {
        for text in [
            "MHhhPWZvbw==",
            "INSTALLER_META_BASE64=MHhhPWZvbw==\n",
            "talos.environment=INSTALLER_META_BASE64=MHhhPWZvbw==",
            "BOOT_IMAGE=/a console=ttyS0 talos.environment=INSTALLER_META_BASE64=MHhhPWZvbw== talos.platform=metal\n",
            "a=b \"talos.environment=INSTALLER_META_BASE64=MHhhPWZvbw==\" c=d",
            "INSTALLER_META_BASE64=old INSTALLER_META_BASE64=MHhhPWZvbw==",
        ] {
            assert_eq!(encoded_part(text), "MHhhPWZvbw==");
        }
    }

    #[test]
    fn invalid_base64_is_located() {
        for (text, said) in [("MHhhP.Zv", "character 6"), ("MHhhPWZvb", "base64"), ("MHhhPWZvbw=", "base64")]
        {
            let error = decode(text).unwrap_err().to_string();

            assert!(error.contains(said) && !error.contains("symbol"), "{text}: {error}");
        }
    }

    #[test]
    fn a_repeated_key_is_reported() {
        let values = [10, 12, 10, 10].map(|key| Value { key, value: String::new() });

        assert_eq!(repeated_keys(&values).into_iter().collect::<Vec<_>>(), [10]);
    }

    #[test]
    fn a_decompression_bomb_is_not_unpacked() {
        let bomb = base64::encode(pack(&vec![b'x'; 4 << 20]));

        assert!(matches!(decode(&bomb), Err(MetaError::Gzip(_))));
    }

    proptest! {
        #[test]
        fn an_encoded_value_decodes(all in prop::collection::vec((any::<u8>(), "[^;]{0,200}"), 1..5), gzip: bool) {
            let values: Vec<_> = all.into_iter().map(|(key, value)| Value { key, value }).collect();

            prop_assert_eq!(decode(&encode(&values, gzip)), Ok(values));
        }
    }
}
