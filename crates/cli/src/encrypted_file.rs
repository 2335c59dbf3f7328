//! Files with secrets: decrypting and encrypting them.

use std::path::{Path, PathBuf};

use ichor_core::cluster::Files as _;
use ichor_talos::document;
use ichor_talos::sops;
use ichor_talos::sops::{SopsDocument, SopsError};
use rand_core::OsRng;
use serde_json::Value;

use crate::disk::DiskFiles;
use crate::identity::{Identities, IdentityError};
use crate::recipient::Recipients;

/// Errors of decrypting a file.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DecryptError {
    #[error("cannot read {}: {reason}", path.display())]
    Unreadable { path: PathBuf, reason: String },
    #[error("{} is not in the SOPS format; encrypt it", path.display())]
    Plain { path: PathBuf },
    #[error("cannot read {}: line {line} is not UTF-8", path.display())]
    NotText { path: PathBuf, line: u32 },
    #[error("cannot decrypt {}", path.display())]
    Sealed { path: PathBuf, source: SopsError },
    #[error("cannot decrypt {} with the age identities of {}", path.display(), places.join(", "))]
    WrongKey { path: PathBuf, places: Vec<String>, source: SopsError },
    #[error(
        "cannot decrypt {}: no age identity in {}; set a file with --identity, or create one with \
        `age-keygen -o ~/.config/sops/age/keys.txt` and encrypt the file for it (its recipients are {})",
        path.display(), places.join(", "), recipients.join(", ")
    )]
    NoIdentity { path: PathBuf, places: Vec<String>, recipients: Vec<String> },
    #[error(transparent)]
    Identity(#[from] IdentityError),
}

/// A decrypted file.
pub(crate) struct DecryptedFile {
    /// Decrypted text.
    pub(crate) text: String,
    /// Its recipients; none for an unencrypted file.
    pub(crate) recipients: Option<Vec<String>>,
}

/// Reads a file, and decrypts it if it is encrypted.
pub(crate) fn open(path: &Path, identity: Option<&Path>) -> Result<DecryptedFile, DecryptError> {
    let text = read(path)?;
    if !sops::is_sealed(&text) {
        return Ok(DecryptedFile { text, recipients: None });
    }
    let (documents, recipients) = decrypt(path, &text, identity)?;
    Ok(DecryptedFile { text: stream(&documents), recipients: Some(recipients) })
}

/// Reads and decrypts a file that must be encrypted.
pub(crate) fn open_sealed(path: &Path, identity: Option<&Path>) -> Result<Vec<Value>, DecryptError> {
    let text = read(path)?;
    decrypt(path, &text, identity).map(|(documents, _)| documents)
}

/// Text of a file that must be encrypted.
pub(crate) fn open_sealed_text(path: &Path, identity: Option<&Path>) -> Result<String, DecryptError> {
    open_sealed(path, identity).map(|documents| stream(&documents))
}

fn stream(documents: &[Value]) -> String {
    let lines: Vec<_> = documents.iter().map(document::one_line).collect();
    lines.join("\n---\n")
}

fn read(path: &Path) -> Result<String, DecryptError> {
    let unreadable = |reason| DecryptError::Unreadable { path: path.to_owned(), reason };
    let name = path.to_str().ok_or_else(|| unreadable("the file name is not UTF-8".to_owned()))?;
    let bytes = DiskFiles.read(name).map_err(|error| unreadable(error.to_string()))?;
    String::from_utf8(bytes).map_err(|error| {
        let text = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = text.iter().filter(|byte| **byte == b'\n').count() + 1;
        DecryptError::NotText { path: path.to_owned(), line: u32::try_from(line).unwrap_or(u32::MAX) }
    })
}

fn decrypt(
    path: &Path,
    text: &str,
    identity: Option<&Path>,
) -> Result<(Vec<Value>, Vec<String>), DecryptError> {
    let path = path.to_owned();
    let sealed = match SopsDocument::read(text) {
        Ok(sealed) => sealed,
        Err(SopsError::NotSealed) => return Err(DecryptError::Plain { path }),
        Err(source) => return Err(DecryptError::Sealed { path, source }),
    };
    let identities = Identities::load(identity)?;
    match sealed.open(&identities) {
        Ok(documents) => Ok((documents, sealed.recipients())),
        Err(SopsError::WrongKey(recipients)) if identities.is_empty() => {
            Err(DecryptError::NoIdentity { path, places: identities.places, recipients })
        }
        Err(source @ SopsError::WrongKey(_)) => {
            Err(DecryptError::WrongKey { path, places: identities.places, source })
        }
        Err(source) => Err(DecryptError::Sealed { path, source }),
    }
}

/// Encrypts a YAML map.
pub(crate) fn seal(text: &str, recipients: &Recipients) -> Result<String, SopsError> {
    let documents = document::read(text)?;
    let map = documents.first().and_then(Value::as_object).expect("only maps are encrypted");
    sops::seal(map, &recipients.envelope(), &mut OsRng, ichor_system::now())
}
