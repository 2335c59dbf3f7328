//! The kubeconfig that a node generates: a compressed archive with one file.

use std::io::Read as _;

use flate2::read::GzDecoder;

/// More than any kubeconfig has.
const LONGEST: u64 = 4 << 20;

/// The name of the file in the archive.
const NAME: &str = "kubeconfig";

/// Why a node's response contains no kubeconfig.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnpackError {
    /// It is truncated, or not an archive.
    #[error("the kubeconfig archive is incomplete or corrupt: {0}")]
    Broken(String),
    /// The archive has other files.
    #[error("the archive has no file `{NAME}`")]
    Missing,
}

/// The text of the kubeconfig in `archive`, as the call `Kubeconfig` streams it.
pub fn unpack(archive: &[u8]) -> Result<String, UnpackError> {
    let broken = |error: std::io::Error| UnpackError::Broken(error.to_string());
    let mut files = tar::Archive::new(GzDecoder::new(archive).take(LONGEST));
    for file in files.entries().map_err(broken)? {
        let mut file = file.map_err(broken)?;
        let is_it = file.path().is_ok_and(|path| path.as_os_str() == NAME);
        if is_it {
            let mut text = String::new();
            file.read_to_string(&mut text).map_err(broken)?;
            return Ok(text);
        }
    }
    Err(UnpackError::Missing)
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn archive(name: &str, text: &str) -> Vec<u8> {
        let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        archive.append_data(&mut header, name, text.as_bytes()).unwrap();
        archive.into_inner().unwrap().finish().unwrap()
    }

    #[test]
    fn a_kubeconfig_is_unpacked() {
        assert_eq!(unpack(&archive("kubeconfig", "kind: Config\n")), Ok("kind: Config\n".to_owned()));
    }

    #[test]
    fn another_file_is_not_a_kubeconfig() {
        assert_eq!(unpack(&archive("other", "kind: Config\n")), Err(UnpackError::Missing));
    }

    #[test]
    fn a_truncated_archive_is_rejected() {
        let archive_bytes = archive("kubeconfig", &"kind: Config\n".repeat(1000));

        for end in [0, 1, 10, archive_bytes.len() / 2] {
            assert!(unpack(&archive_bytes[..end]).is_err(), "{end} bytes");
        }
    }
}
