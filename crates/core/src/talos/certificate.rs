//! Whether bytes are a certificate: PEM around the outline of an X.509 structure.
//!
//! Not here: what the certificate says, and whether anybody should trust it.

use super::go::base64;

const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
const END: &str = "-----END CERTIFICATE-----";

/// Whether the first certificate in a PEM text is one. Text before it does not matter, as in Go.
pub fn is_pem(pem: &[u8]) -> bool {
    let Ok(text) = str::from_utf8(pem) else { return false };
    let Some((_, rest)) = text.split_once(BEGIN) else { return false };
    let Some((body, _)) = rest.split_once(END) else { return false };
    let body: String = body.split_whitespace().collect();
    base64::decode(&body).is_some_and(|der| is_outline(&der))
}

/// A sequence of what is signed, how, and the signature (RFC 5280, section 4.1).
fn is_outline(der: &[u8]) -> bool {
    let parts = || {
        let (whole, after) = element(0x30, der)?;
        let (_, rest) = element(0x30, whole)?;
        let (_, rest) = element(0x30, rest)?;
        let (_, rest) = element(0x03, rest)?;
        (rest.is_empty() && after.is_empty()).then_some(())
    };
    parts().is_some()
}

/// The contents of the element at the start, if it has this tag, and what follows it.
fn element(tag: u8, der: &[u8]) -> Option<(&[u8], &[u8])> {
    let (head, rest) = der.split_first_chunk::<2>()?;
    let (length, rest) = match head[1] {
        short @ 0..0x80 => (usize::from(short), rest),
        long => {
            let (length, rest) = rest.split_at_checked(usize::from(long & 0x7f))?;
            let length =
                length.iter().try_fold(0usize, |sum, byte| sum.checked_mul(256)?.checked_add((*byte).into()));
            (length?, rest)
        }
    };
    rest.split_at_checked(length).filter(|_| head[0] == tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_outline_of_a_certificate_is_enough() {
        // SEQUENCE { SEQUENCE {}, SEQUENCE {}, BIT STRING 00 }
        let pem = format!("a comment\n{BEGIN}\nMAcwADAAAwEA\n{END}\n");

        assert!(is_pem(pem.as_bytes()));
    }

    #[test]
    fn other_bytes_are_no_certificate() {
        for wrong in ["", "not a certificate", "-----BEGIN CERTIFICATE-----\nMAcwADAAAwEA\n"] {
            assert!(!is_pem(wrong.as_bytes()), "{wrong}");
        }
        for body in ["", "????", "MAcwADAAAwEB", "MAgwADAAAwEA", "MIT/////////"] {
            let whole = format!("{BEGIN}\n{body}\n{END}\n");
            assert_eq!(is_pem(whole.as_bytes()), body == "MAcwADAAAwEB", "{body}");
        }
        assert!(!is_pem(b"\xff\xfe"));
    }
}
