//! The file that keeps the administrator's certificate, beside the bundle.
//!
//! It is made once and kept, so that a build gives the same bytes each time.

use serde::Deserialize;

use super::bundle::{Entry, Pair, Problems, Sieve, parse};

#[derive(Default, Deserialize)]
#[serde(default)]
struct File {
    admin: Option<Entry>,
}

/// Reads the administrator's certificate and key.
pub fn read_admin(text: &str) -> Result<Pair, Problems> {
    let file: File = parse(text).map_err(|problem| Problems(vec![problem]))?;
    let mut sieve = Sieve::default();
    let pair = sieve.pair("admin", file.admin);
    pair.ok_or(Problems(sieve.problems))
}

/// Writes the administrator's certificate and key in the clear.
pub fn write_admin(pair: &Pair) -> String {
    format!("admin:\n    crt: {}\n    key: {}\n", pair.crt.base64(), pair.key.base64())
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
