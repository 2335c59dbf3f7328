//! The name of a blob: the sum of its bytes.

use std::fmt;
use std::io::{self, Read, Write};

use sha2::{Digest as _, Sha256};

use ichor_talos::digest::{hex, sha256};

/// A SHA-256, written `sha256:…` with 64 digits in hex.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(String);

impl Digest {
    /// The digest of some bytes.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self(sha256(bytes))
    }

    /// The digest of everything that a reader has.
    pub(crate) fn of_all(reader: &mut dyn Read) -> io::Result<Self> {
        let mut sum = Sha256::new();
        io::copy(reader, &mut sum)?;
        Ok(Self::end(sum))
    }

    /// The digest of all that was summed up.
    pub(crate) fn end(sum: Sha256) -> Self {
        Self(hex(&sum.finalize()))
    }

    /// Reads `sha256:…`. Other sums are not read: no registry makes them.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let hex = text.strip_prefix("sha256:")?;
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        (hex.len() == 64 && hex.bytes().all(is_digit)).then(|| Self(hex.to_owned()))
    }

    /// The digits only.
    pub fn hex(&self) -> &str {
        &self.0
    }

    /// The path of the blob in a layout.
    pub fn path(&self) -> String {
        format!("blobs/sha256/{}", self.0)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", self.0)
    }
}

/// Counts and hashes the bytes written through it.
pub(super) struct HashingWriter<W> {
    inner: W,
    sum: Sha256,
    length: u64,
}

impl<W: Write> HashingWriter<W> {
    pub(super) fn new(inner: W) -> Self {
        Self { inner, sum: Sha256::new(), length: 0 }
    }

    /// The digest and the length of all that was written, and where it went.
    pub(super) fn finish(self) -> (Digest, u64, W) {
        (Digest::end(self.sum), self.length, self.inner)
    }
}

impl<W: Write> Write for HashingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.sum.update(&bytes[..written]);
        self.length += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_cannot_contain_a_path() {
        let good = Digest::of_bytes(b"");
        assert_eq!(Digest::parse(&good.to_string()), Some(good));
        for bad in
            ["", "sha256:", "sha256:../../etc/passwd", "sha512:00", &format!("sha256:{}", "A".repeat(64))]
        {
            assert_eq!(Digest::parse(bad), None, "{bad}");
        }
    }
}
