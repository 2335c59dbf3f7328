//! The SOPS file format: values encrypted one by one, their keys in the clear.
//!
//! [`SopsDocument::read`] parses a YAML or JSON file, [`SopsDocument::open`] decrypts and verifies it with a [`KeyProvider`];
//! [`seal`] makes such a file. Comments are dropped: they are not verified.
//!
//! Every value is AES-256-GCM under one data key, with its key path as additional data; a MAC over all values keeps them from being
//! removed or moved. The data key is encrypted once per recipient. No value is returned before all of them have been verified.
//!
//! Not here: age itself, which draws random numbers. It is a [`KeyProvider`].

mod mac;
mod metadata;
mod open;
mod rule;
mod scalar;
mod seal;
mod shamir;
mod write;

pub use open::{SopsDocument, is_sealed};
pub use seal::{EncryptedDataKey, seal};

/// The identities at hand.
pub trait KeyProvider {
    /// Decrypts an armored age file with any matching identity; none if none matches.
    fn open(&self, armored: &str) -> Option<Vec<u8>>;

    /// Whether an armored age file for `recipient` that did not open is at fault itself, and not the choice of identities.
    fn is_damaged(&self, _recipient: &str, _armored: &str) -> bool {
        false
    }
}

/// Why a file is not given out. No value of the file is repeated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SopsError {
    /// Not YAML or JSON.
    #[error("not YAML or JSON: {0}")]
    NotYaml(#[from] ichor_values::go_yaml::reader::SyntaxError),
    /// A file in the clear.
    #[error("it is not encrypted: the section `sops` is missing")]
    NotSealed,
    /// Encrypted values without the metadata that decrypts them.
    #[error(
        "its values are encrypted, but the section `sops` is missing; take it from an older version of the file"
    )]
    NoSection,
    /// Its own description cannot be understood.
    #[error("sops.{key} {reason}")]
    Metadata {
        /// The key in the section.
        key: &'static str,
        /// The problem.
        reason: String,
    },
    /// Keys that ichor has no use for.
    #[error("it is encrypted for {0} only, and ichor opens age; add an age recipient with sops")]
    NoAge(String),
    /// The section names no key that could decrypt it.
    #[error("no recipients: the section `sops` names no key")]
    NoRecipients,
    /// An age file that is invalid, or not the original.
    #[error("the data key for {0} in sops.age is damaged, or was put there from elsewhere")]
    DamagedKey(String),
    /// No identity fits.
    #[error("no identity matches; the file is encrypted for {}", .0.join(", "))]
    WrongKey(Vec<String>),
    /// Some identities match, but the file requires more.
    #[error("it takes {needed} key groups to open, and identities at hand open {opened}")]
    TooFewGroups {
        /// How many groups are needed.
        needed: usize,
        /// How many were opened.
        opened: usize,
    },
    /// The age file does not contain a data key.
    #[error("the decrypted data key is not 32 bytes long")]
    BadDataKey,
    /// A plain value where only encrypted ones are allowed.
    #[error("{0} is not encrypted, although the rules of the file require it")]
    InTheClear(String),
    /// A value that looks encrypted and cannot be taken apart.
    #[error("{0} is damaged: not of the form ENC[AES256_GCM,…]")]
    Malformed(String),
    /// A value that was changed or moved.
    #[error("{0} was changed, or put there from elsewhere, after it was encrypted")]
    Tampered(String),
    /// A value does not match its type.
    #[error("{0} does not hold the {1} that its type says")]
    WrongType(String, String),
    /// The MAC itself was changed.
    #[error("sops.mac or sops.lastmodified was changed after the file was encrypted")]
    TamperedMac,
    /// The MAC does not match the contents.
    #[error(
        "values were added, removed, moved or changed after the file was encrypted: the MAC does not match"
    )]
    WrongMac,
    /// A key that is reserved by SOPS.
    #[error("the key {0} cannot be in an encrypted file: it means something else to SOPS")]
    Reserved(String),
}
