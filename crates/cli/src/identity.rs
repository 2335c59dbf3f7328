//! Age identities, found in the same places as by SOPS.

use std::env;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use age::armor::ArmoredReader;
use age::x25519;
use age::{Decryptor, Identity};
use ichor_core::cluster::Files as _;
use ichor_talos::sops::KeyProvider;

use crate::disk::DiskFiles;

/// Size limit of a data key.
const LARGEST: u64 = 4096;

/// Errors of loading identities. Messages contain no key material.
#[derive(Debug, thiserror::Error)]
pub(crate) enum IdentityError {
    #[error("cannot read the age identities in {}: {reason}", path.display())]
    Unreadable { path: PathBuf, reason: String },
    #[error(
        "line {line} of {from} is not an age identity; want AGE-SECRET-KEY-1… (ssh keys and passphrases are not supported)"
    )]
    NotIdentity { from: String, line: usize },
}

/// Age identities that decrypt files.
pub(crate) struct Identities {
    keys: Vec<x25519::Identity>,
    /// Places that were searched.
    pub(crate) places: Vec<String>,
}

impl Identities {
    /// Loads the identities of a file, or those SOPS would use: `SOPS_AGE_KEY`, `SOPS_AGE_KEY_FILE` and the user's key file.
    pub(crate) fn load(file: Option<&Path>) -> Result<Self, IdentityError> {
        let mut found = Self { keys: Vec::new(), places: Vec::new() };
        if let Some(file) = file {
            found.add_file(file)?;
            return Ok(found);
        }
        found.places.push("SOPS_AGE_KEY".to_owned());
        if let Ok(text) = env::var("SOPS_AGE_KEY") {
            found.add(&text, "SOPS_AGE_KEY")?;
        }
        match env::var_os("SOPS_AGE_KEY_FILE").filter(|path| !path.is_empty()) {
            Some(path) => found.add_file(Path::new(&path))?,
            None => found.places.push("SOPS_AGE_KEY_FILE".to_owned()),
        }
        if let Some(path) = default_file() {
            if path.exists() {
                found.add_file(&path)?;
            } else {
                found.places.push(path.display().to_string());
            }
        }
        Ok(found)
    }

    /// Whether no identity was found.
    pub(crate) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    fn add_file(&mut self, path: &Path) -> Result<(), IdentityError> {
        let unreadable = |reason| IdentityError::Unreadable { path: path.to_owned(), reason };
        let name = path.to_str().ok_or_else(|| unreadable("the file name is not UTF-8".to_owned()))?;
        let bytes = DiskFiles.read(name).map_err(|error| unreadable(error.to_string()))?;
        let text =
            String::from_utf8(bytes).map_err(|_| unreadable("the file is not UTF-8 text".to_owned()))?;
        self.places.push(name.to_owned());
        self.add(&text, name)
    }

    fn add(&mut self, text: &str, from: &str) -> Result<(), IdentityError> {
        for (nth, line) in text.lines().map(str::trim).enumerate() {
            // Plugin identities are skipped; the file may also have native ones.
            if line.is_empty() || line.starts_with('#') || line.starts_with("AGE-PLUGIN-") {
                continue;
            }
            let wrong = |_| IdentityError::NotIdentity { from: from.to_owned(), line: nth + 1 };
            self.keys.push(line.parse().map_err(wrong)?);
        }
        Ok(())
    }
}

impl KeyProvider for Identities {
    fn open(&self, armored: &str) -> Option<Vec<u8>> {
        let decryptor = Decryptor::new_buffered(ArmoredReader::new(armored.as_bytes())).ok()?;
        let reader = decryptor.decrypt(self.keys.iter().map(|key| key as &dyn Identity)).ok()?;
        let mut plain = Vec::new();
        reader.take(LARGEST).read_to_end(&mut plain).ok()?;
        Some(plain)
    }

    fn is_damaged(&self, recipient: &str, armored: &str) -> bool {
        Decryptor::new_buffered(ArmoredReader::new(armored.as_bytes())).is_err()
            || self.keys.iter().any(|key| key.to_public().to_string() == recipient)
    }
}

fn default_file() -> Option<PathBuf> {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let settings = set("XDG_CONFIG_HOME").or_else(|| set("HOME").map(|home| home.join(".config")))?;
    Some(settings.join("sops/age/keys.txt"))
}
