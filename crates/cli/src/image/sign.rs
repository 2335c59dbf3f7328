//! Secure Boot signatures with the user's keys, by sbsign.

use std::fs;
use std::path::{Path, PathBuf};

use ichor_image::media::Content;

use super::program::{self, MissingTool, ProgramError};
use super::scratch::ScratchFolder;

/// What a signature alone does not provide.
pub(crate) const LIMITS: &str = "the image boots on machines where your certificate is enrolled; without a PCR \
    signature it cannot seal disks to the TPM: for that, use the profiles `secureboot-iso` and \
    `secureboot-installer` of Talos' imager";

/// Signs UEFI programs.
pub(crate) struct Signer {
    program: PathBuf,
    key: PathBuf,
    certificate: PathBuf,
}

impl Signer {
    /// Creates a signer for a key and its certificate, both PEM files.
    pub(crate) fn find(key: &Path, certificate: &Path) -> Result<Self, MissingTool> {
        let program = program::find(&["sbsign"]).ok_or_else(|| {
            MissingTool(
                "sbsign, which signs images, is not installed; install the package sbsigntool".to_owned(),
            )
        })?;
        for (what, path) in [("key", key), ("certificate", certificate)] {
            let is_file = fs::canonicalize(path).is_ok_and(|path| path.is_file());
            if !is_file {
                return Err(MissingTool(format!("cannot sign images: no {what} at {}", path.display())));
            }
        }
        let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        Ok(Self { program, key: absolute(key), certificate: absolute(certificate) })
    }

    /// Signs a program.
    pub(crate) fn sign(&self, unsigned: &Content) -> Result<Content, ProgramError> {
        let failed =
            |source| ProgramError::File { what: "a UEFI program".to_owned(), program: "sbsign", source };
        // Readable by the owner only: a kernel image may contain a machine configuration.
        let folder = ScratchFolder::new().map_err(failed)?;
        let (from, to) = (folder.path().join("unsigned.efi"), folder.path().join("signed.efi"));
        let copy = || unsigned.copy_to(&mut fs::File::create(&from)?);
        copy().map_err(failed)?;
        program::run(&self.program, folder.path(), |command| {
            command.arg("--key").arg(&self.key).arg("--cert").arg(&self.certificate);
            command.arg("--output").arg(&to).arg(&from);
        })?;
        let open = || super::FileImage::new(fs::File::open(&to)?);
        Ok(Content::from_image(std::sync::Arc::new(open().map_err(failed)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_key_is_reported_before_signing() {
        let Err(MissingTool(why)) = Signer::find(Path::new("no/key.pem"), Path::new("no/cert.pem")) else {
            panic!("the key does not exist");
        };

        assert!(why.contains("sbsigntool") || why.contains("no/key.pem"), "{why}");
    }
}
