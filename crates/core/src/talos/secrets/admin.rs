//! The file that keeps the administrator's certificate, beside the bundle.
//!
//! It is made once and kept, so that a build gives the same bytes each time.

use serde_json::json;

use super::bundle::{Pair, Problems, Sieve};
use super::file::Entry;
use crate::talos::emit;

/// Reads the administrator's certificate and key.
pub fn read_admin(text: &str) -> Result<Pair, Problems> {
    let mut sieve = Sieve::default();
    let pair = sieve.pair("admin", Entry::read_admin(text)?);
    pair.ok_or(Problems(sieve.problems))
}

/// Writes the administrator's certificate and key in the clear.
pub fn write_admin(pair: &Pair) -> String {
    emit::emit(&json!({"admin": {"crt": pair.crt.base64(), "key": pair.key.base64()}}))
}

#[cfg(test)]
mod tests {
    use super::super::Bundle;
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let pair = Bundle::read(include_str!("../../../tests/talos/secrets-check/001-ok.yaml")).unwrap().os;

        assert_eq!(read_admin(&write_admin(&pair)), Ok(pair));
        assert_eq!(read_admin("{}").unwrap_err().to_string(), "admin is missing");
    }
}
