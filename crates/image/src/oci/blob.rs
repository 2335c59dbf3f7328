//! A blob that is verified while it is read.

use std::io::{self, Read};

use sha2::{Digest as _, Sha256};

use super::descriptor::Descriptor;
use super::digest::Digest;
use super::error::OciError;

/// The bytes of a blob, as a stream. If they do not match the descriptor, its end is an error, so nothing
/// of it may be used before [`Blob::finish`] succeeds.
pub struct Blob<'s> {
    inner: io::Take<Box<dyn Read + 's>>,
    descriptor: Descriptor,
    sum: Sha256,
    got: u64,
    /// The result at its end, or an earlier error.
    verdict: Option<Result<(), OciError>>,
}

impl<'s> Blob<'s> {
    pub(super) fn new(inner: Box<dyn Read + 's>, descriptor: &Descriptor) -> Self {
        // One more byte is enough to detect an oversized blob.
        let inner = inner.take(descriptor.size.saturating_add(1));
        Self { inner, descriptor: descriptor.clone(), sum: Sha256::new(), got: 0, verdict: None }
    }

    /// Reads the remaining bytes, and returns whether all of them matched the descriptor.
    pub fn finish(mut self) -> Result<(), OciError> {
        // An error is in the verdict.
        let _ = io::copy(&mut self, &mut io::sink());
        self.verdict.unwrap_or(Ok(()))
    }

    /// The error up to here, if any. It reads no further, for a caller without use for the rest.
    pub fn failure(self) -> Option<OciError> {
        self.verdict.and_then(Result::err)
    }

    fn label(&self) -> String {
        format!("blob {}", self.descriptor.digest)
    }

    fn judge(&self) -> Result<(), OciError> {
        let (got, want) = (self.got, self.descriptor.size);
        if got != want {
            return Err(OciError::Size { what: self.label(), got, want });
        }
        let (got, want) = (Digest::end(self.sum.clone()), &self.descriptor.digest);
        if got != *want {
            return Err(OciError::Digest { what: self.label(), got, want: want.clone() });
        }
        Ok(())
    }

    /// Stores the verdict, and returns it to the reader.
    fn end(&mut self, verdict: Result<(), OciError>) -> io::Result<usize> {
        let result =
            verdict.as_ref().map_or_else(|error| Err(io::Error::other(error.to_string())), |()| Ok(0));
        self.verdict = Some(verdict);
        result
    }
}

impl Read for Blob<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &self.verdict {
            Some(Ok(())) => return Ok(0),
            Some(Err(error)) => return Err(io::Error::other(error.to_string())),
            None if buffer.is_empty() => return Ok(0),
            None => {}
        }
        match self.inner.read(buffer) {
            Ok(0) => {
                let verdict = self.judge();
                self.end(verdict)
            }
            Ok(read) => {
                self.sum.update(&buffer[..read]);
                self.got += read as u64;
                Ok(read)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            Err(error) => {
                let verdict = Err(OciError::Source { what: self.label(), source: error.into() });
                self.end(verdict)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8], descriptor: &Descriptor) -> (Option<Vec<u8>>, Result<(), OciError>) {
        let mut blob = Blob::new(Box::new(bytes), descriptor);
        let mut all = Vec::new();
        let read = blob.read_to_end(&mut all);
        (read.ok().map(|_| all), blob.finish())
    }

    #[test]
    fn a_blob_with_another_size_or_digest_is_an_error() {
        let descriptor = Descriptor::of_blob("x", b"abc");

        assert!(matches!(read(b"abc", &descriptor), (Some(all), Ok(())) if all == b"abc"));
        assert!(matches!(read(b"abd", &descriptor), (None, Err(OciError::Digest { .. }))));
        assert!(matches!(read(b"ab", &descriptor), (None, Err(OciError::Size { got: 2, .. }))));
        let endless = read(&[b'a'; 1000], &descriptor);
        assert!(matches!(endless, (None, Err(OciError::Size { got: 4, .. }))), "no more than is needed");
    }

    #[test]
    fn unread_bytes_are_verified() {
        let descriptor = Descriptor::of_blob("x", b"abc");
        let finished = |bytes: &'static [u8]| Blob::new(Box::new(bytes), &descriptor).finish();

        assert!(finished(b"abc").is_ok());
        assert!(finished(b"abd").is_err());
    }

    #[test]
    fn an_error_of_the_source_is_reported() {
        struct BrokenReader;
        impl Read for BrokenReader {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("the cable was pulled"))
            }
        }
        let descriptor = Descriptor::of_blob("x", b"abc");
        let half = b"a".chain(BrokenReader);
        let mut blob = Blob::new(Box::new(half), &descriptor);

        assert!(blob.read_to_end(&mut Vec::new()).is_err());

        let Err(OciError::Source { source, .. }) = blob.finish() else { panic!("no error") };
        assert_eq!(source.to_string(), "the cable was pulled");
    }
}
