//! Files that hold secrets, on disk: opened, and written so that nobody else can read them.

use std::path::{Path, PathBuf};

use ichor_core::cluster::Files as _;
use ichor_talos::document;
use ichor_talos::sops;
use ichor_talos::sops::{Sealed, SopsError};
use rand_core::OsRng;
use serde_json::Value;

use crate::disk::Disk;
use crate::identity::{Identities, IdentityError};
use crate::recipient::Recipients;

/// Why a file with secrets cannot be opened.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OpenError {
    #[error("cannot read {}: {reason}", path.display())]
    Unreadable { path: PathBuf, reason: String },
    #[error("{} is not in the SOPS format: encrypt it", path.display())]
    Plain { path: PathBuf },
    #[error("cannot read {}: line {line} is not UTF-8", path.display())]
    NotText { path: PathBuf, line: u32 },
    #[error("cannot open {}", path.display())]
    Sealed { path: PathBuf, source: SopsError },
    #[error("cannot open {} with the age identities of {}", path.display(), places.join(", "))]
    WrongKey { path: PathBuf, places: Vec<String>, source: SopsError },
    #[error(
        "cannot open {}: there is no age identity in {}; name a file with --identity, or make one with \
         `age-keygen -o ~/.config/sops/age/keys.txt` and have the file encrypted for it (it is for {})",
        path.display(), places.join(", "), recipients.join(", ")
    )]
    NoIdentity { path: PathBuf, places: Vec<String>, recipients: Vec<String> },
    #[error(transparent)]
    Identity(#[from] IdentityError),
}

/// A file that was opened.
pub(crate) struct Opened {
    /// Its text in the clear.
    pub(crate) text: String,
    /// Whom it was encrypted for; none for a file in the clear.
    pub(crate) recipients: Option<Vec<String>>,
}

/// Reads a file, and opens it where it is encrypted.
pub(crate) fn open(path: &Path, identity: Option<&Path>) -> Result<Opened, OpenError> {
    let text = read(path)?;
    if !sops::is_sealed(&text) {
        return Ok(Opened { text, recipients: None });
    }
    let (documents, recipients) = decrypt(path, &text, identity)?;
    Ok(Opened { text: stream(&documents), recipients: Some(recipients) })
}

/// Reads a file that has to be encrypted.
pub(crate) fn open_sealed(path: &Path, identity: Option<&Path>) -> Result<Vec<Value>, OpenError> {
    let text = read(path)?;
    decrypt(path, &text, identity).map(|(documents, _)| documents)
}

/// The text of a file that has to be encrypted.
pub(crate) fn open_sealed_text(path: &Path, identity: Option<&Path>) -> Result<String, OpenError> {
    open_sealed(path, identity).map(|documents| stream(&documents))
}

fn stream(documents: &[Value]) -> String {
    let lines: Vec<_> = documents.iter().map(document::one_line).collect();
    lines.join("\n---\n")
}

fn read(path: &Path) -> Result<String, OpenError> {
    let unreadable = |reason| OpenError::Unreadable { path: path.to_owned(), reason };
    let name = path.to_str().ok_or_else(|| unreadable("its name is not UTF-8".to_owned()))?;
    let bytes = Disk.read(name).map_err(|error| unreadable(error.to_string()))?;
    String::from_utf8(bytes).map_err(|error| {
        let text = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = text.iter().filter(|byte| **byte == b'\n').count() + 1;
        OpenError::NotText { path: path.to_owned(), line: u32::try_from(line).unwrap_or(u32::MAX) }
    })
}

fn decrypt(path: &Path, text: &str, identity: Option<&Path>) -> Result<(Vec<Value>, Vec<String>), OpenError> {
    let path = path.to_owned();
    let sealed = match Sealed::read(text) {
        Ok(sealed) => sealed,
        Err(SopsError::NotSealed) => return Err(OpenError::Plain { path }),
        Err(source) => return Err(OpenError::Sealed { path, source }),
    };
    let identities = Identities::load(identity)?;
    match sealed.open(&identities) {
        Ok(documents) => Ok((documents, sealed.recipients())),
        Err(SopsError::WrongKey(recipients)) if identities.is_empty() => {
            Err(OpenError::NoIdentity { path, places: identities.places, recipients })
        }
        Err(source @ SopsError::WrongKey(_)) => {
            Err(OpenError::WrongKey { path, places: identities.places, source })
        }
        Err(source) => Err(OpenError::Sealed { path, source }),
    }
}

/// Encrypts a text that is one YAML map.
pub(crate) fn seal(text: &str, recipients: &Recipients) -> Result<String, SopsError> {
    let documents = document::read(text)?;
    let map = documents.first().and_then(Value::as_object).expect("what is sealed was written as a map");
    sops::seal(map, &recipients.envelope(), &mut OsRng, ichor_system::now())
}
