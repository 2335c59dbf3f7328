//! Signatures for Secure Boot, with keys of one's own, by sbsign.

use std::fs;
use std::path::{Path, PathBuf};

use ichor_image::media::Content;

use super::program::{self, MissingTool, ProgramError};
use super::scratch::ScratchFolder;

/// What a signature by itself does not give, and who gives it.
pub(crate) const LIMITS: &str = "signed with your key, the image boots where your certificate is enrolled; it has no PCR signature, \
    so disks cannot be sealed to the TPM by it: for that, Talos' imager makes images with `secureboot-iso` and `secureboot-installer`";

/// Signs programs for UEFI.
pub(crate) struct Signer {
    program: PathBuf,
    key: PathBuf,
    certificate: PathBuf,
}

impl Signer {
    /// One for a key and its certificate, both PEM files; or what is missing here.
    pub(crate) fn find(key: &Path, certificate: &Path) -> Result<Self, MissingTool> {
        let program = program::find(&["sbsign"]).ok_or_else(|| {
            MissingTool(
                "to sign images, sbsign has to be installed: it is in the package sbsigntool".to_owned(),
            )
        })?;
        for (what, path) in [("key", key), ("certificate", certificate)] {
            let there = fs::canonicalize(path).is_ok_and(|path| path.is_file());
            if !there {
                return Err(MissingTool(format!(
                    "there is no {what} {}, which images are to be signed with",
                    path.display()
                )));
            }
        }
        let whole = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        Ok(Self { program, key: whole(key), certificate: whole(certificate) })
    }

    /// The same program, signed.
    pub(crate) fn sign(&self, unsigned: &Content) -> Result<Content, ProgramError> {
        let failed =
            |source| ProgramError::File { what: "a program for UEFI".to_owned(), program: "sbsign", source };
        // For the owner alone: a configuration may be in a kernel image.
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
    fn a_key_that_is_not_there_is_told_before_anything_starts() {
        let Err(MissingTool(why)) = Signer::find(Path::new("no/key.pem"), Path::new("no/cert.pem")) else {
            panic!("there is no such key");
        };

        assert!(why.contains("sbsigntool") || why.contains("no/key.pem"), "{why}");
    }
}
