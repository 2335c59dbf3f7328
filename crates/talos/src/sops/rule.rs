//! Which values of a file are encrypted: the one rule its description names.

use regex::Regex;

/// SOPS' own default: keys that end so are in the clear.
pub(super) const DEFAULT_SUFFIX: &str = "_unencrypted";

/// Decides which values are encrypted, by the keys above them.
#[derive(Clone, Debug)]
pub(super) enum Rule {
    /// All but those below a key that ends so.
    UnencryptedSuffix(String),
    /// Values below a key with this suffix.
    EncryptedSuffix(String),
    /// All but those below a key that matches.
    UnencryptedRegex(Regex),
    /// Values below a key that matches.
    EncryptedRegex(Regex),
    /// Comments decide, and comments are dropped: a value is encrypted if it looks encrypted. The MAC detects a forgery.
    Comments,
}

impl Default for Rule {
    fn default() -> Self {
        Self::UnencryptedSuffix(DEFAULT_SUFFIX.to_owned())
    }
}

impl Rule {
    /// Whether a value below `path` is encrypted; `looks_it` decides only if no rule applies.
    pub(super) fn encrypts(&self, path: &[String], looks_it: bool) -> bool {
        match self {
            Self::UnencryptedSuffix(suffix) => !path.iter().any(|key| key.ends_with(suffix.as_str())),
            Self::EncryptedSuffix(suffix) => path.iter().any(|key| key.ends_with(suffix.as_str())),
            Self::UnencryptedRegex(regex) => !path.iter().any(|key| regex.is_match(key)),
            Self::EncryptedRegex(regex) => path.iter().any(|key| regex.is_match(key)),
            Self::Comments => looks_it,
        }
    }
}
