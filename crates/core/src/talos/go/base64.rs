//! Base64 as `base64.StdEncoding` reads it: padded, line breaks anywhere, stray bits at the end ignored.

/// The bytes behind a text; none when it is not base64.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let symbols: Vec<u8> = text.bytes().filter(|b| !matches!(b, b'\r' | b'\n')).collect();
    if !symbols.len().is_multiple_of(4) {
        return None;
    }
    let padding = symbols.iter().rev().take_while(|b| **b == b'=').count();
    if padding > 2 {
        return None;
    }
    let mut bytes = Vec::with_capacity(symbols.len() / 4 * 3);
    for group in symbols[..symbols.len() - padding].chunks(4) {
        let mut bits = 0u32;
        for symbol in group {
            bits = bits << 6 | value(*symbol)?;
        }
        let whole = (bits << (6 * (4 - group.len()))).to_be_bytes();
        bytes.extend_from_slice(&whole[1..group.len()]);
    }
    Some(bytes)
}

fn value(symbol: u8) -> Option<u32> {
    Some(
        match symbol {
            b'A'..=b'Z' => symbol - b'A',
            b'a'..=b'z' => symbol - b'a' + 26,
            b'0'..=b'9' => symbol - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        }
        .into(),
    )
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn text_is_read_as_go_reads_it() {
        assert_eq!(decode("aGVsbG8=").as_deref(), Some(b"hello".as_slice()));
        assert_eq!(decode("aGVs\nbG8=\n").as_deref(), Some(b"hello".as_slice()));
        assert_eq!(decode("aGVsbG9=").as_deref(), Some(b"hello".as_slice()));
        assert_eq!(decode("").as_deref(), Some(b"".as_slice()));
        for wrong in ["aGVsbG8", "aGVs bG8=", "a===", "====", "aGVsbG8_", "aG=sbG8="] {
            assert_eq!(decode(wrong), None, "{wrong}");
        }
    }
}
