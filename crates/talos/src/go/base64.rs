//! Base64 as `base64.StdEncoding` reads and writes it: padded, line breaks anywhere, stray bits at the end ignored.

use base64::alphabet::STANDARD;
use base64::engine::general_purpose::URL_SAFE;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::{DecodeError, Engine as _};

const GO: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::RequireCanonical),
);

/// Decodes a text.
pub(crate) fn decode(text: &str) -> Result<Vec<u8>, DecodeError> {
    let joined: Vec<u8> = text.bytes().filter(|byte| !matches!(byte, b'\r' | b'\n')).collect();
    GO.decode(joined)
}

/// The text for some bytes.
pub fn encode(bytes: impl AsRef<[u8]>) -> String {
    GO.encode(bytes)
}

/// The text for some bytes, as `base64.URLEncoding` writes it.
pub(crate) fn encode_for_url(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE.encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_read_as_go_reads_it() {
        assert_eq!(decode("aGVsbG8=").as_deref(), Ok(b"hello".as_slice()));
        assert_eq!(decode("aGVs\nbG8=\n").as_deref(), Ok(b"hello".as_slice()));
        assert_eq!(decode("aGVsbG9=").as_deref(), Ok(b"hello".as_slice()));
        assert_eq!(decode("").as_deref(), Ok(b"".as_slice()));
        for wrong in ["aGVsbG8", "aGVs bG8=", "a===", "====", "aGVsbG8_", "aG=sbG8="] {
            assert!(decode(wrong).is_err(), "{wrong}");
        }
    }
}
