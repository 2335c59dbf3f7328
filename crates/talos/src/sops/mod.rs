//! The SOPS file format: values encrypted one by one, their keys in the clear.
//!
//! [`Sealed::read`] takes a YAML or JSON file apart, [`Sealed::open`] decrypts and verifies it with what a [`Ring`] opens;
//! [`seal`] makes such a file. Comments are not kept: they are no part of what is verified.
//!
//! Every value is AES-256-GCM under one data key, with its key path as additional data; a MAC over all values keeps them from being
//! taken away or put elsewhere. The data key is encrypted once per recipient. Nothing is given out before all of it has been verified.
//!
//! Not here: age itself, which draws random numbers. It comes in as a [`Ring`].

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
    /// Opens an armored age file with whichever identity fits; none where none does.
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
    /// Encrypted values without what it takes to open them.
    #[error(
        "its values are encrypted, but the section `sops` is missing; take it from an older version of the file"
    )]
    NoSection,
    /// Its own description cannot be understood.
    #[error("sops.{key} {reason}")]
    Metadata {
        /// The key in the section.
        key: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// Keys that ichor has no use for.
    #[error("it is encrypted for {0} only, and ichor opens age; add an age recipient with sops")]
    NoAge(String),
    /// No keys at all.
    #[error("no recipients: the section `sops` names no key")]
    Nobody,
    /// An age file that is none, or not the one that was written.
    #[error("the data key for {0} in sops.age is damaged, or was put there from elsewhere")]
    DamagedKey(String),
    /// No identity fits.
    #[error("none of them fits; it is encrypted for {}", .0.join(", "))]
    WrongKey(Vec<String>),
    /// Some identities fit, but the file asks for more.
    #[error("it takes {needed} key groups to open, and identities at hand open {opened}")]
    TooFewGroups {
        /// How many have to be opened.
        needed: usize,
        /// How many were.
        opened: usize,
    },
    /// What the age file holds is no data key.
    #[error("what an identity opened is not a data key of 32 bytes")]
    BadDataKey,
    /// A value in the clear where there should be none.
    #[error("{0} is not encrypted, though the rules of the file say it is")]
    InTheClear(String),
    /// A value that looks encrypted and cannot be taken apart.
    #[error("{0} is damaged: not of the form ENC[AES256_GCM,…]")]
    Malformed(String),
    /// A value that was changed or moved.
    #[error("{0} was changed, or put there from elsewhere, after it was encrypted")]
    Tampered(String),
    /// A value that does not hold what its type says.
    #[error("{0} does not hold the {1} that its type says")]
    WrongType(String, String),
    /// The MAC itself was changed.
    #[error("sops.mac or sops.lastmodified was changed after the file was encrypted")]
    TamperedMac,
    /// The MAC says that something else was encrypted.
    #[error(
        "values were added, removed, moved or changed after the file was encrypted: the MAC does not match"
    )]
    WrongMac,
    /// A key that means something else to SOPS.
    #[error("the key {0} cannot be in an encrypted file: it means something else to SOPS")]
    Reserved(String),
}
