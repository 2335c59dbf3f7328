//! Which values of a file are encrypted: the one rule its description names.

use regex::Regex;

/// SOPS' own default: keys that end so are in the clear.
pub(super) const DEFAULT_SUFFIX: &str = "_unencrypted";

/// Tells encrypted values by the keys above them.
#[derive(Clone, Debug)]
pub(super) enum Rule {
    /// All but those below a key that ends so.
    UnencryptedSuffix(String),
    /// Those below a key that ends so.
    EncryptedSuffix(String),
    /// All but those below a key that matches.
    UnencryptedRegex(Regex),
    /// Those below a key that matches.
    EncryptedRegex(Regex),
    /// Comments decide, and comments are not read: a value is encrypted if it looks it. A lie is found by the MAC.
    Comments,
}

impl Default for Rule {
    fn default() -> Self {
        Self::UnencryptedSuffix(DEFAULT_SUFFIX.to_owned())
    }
}

impl Rule {
    /// Whether a value below `path` is encrypted; `looks_it` counts only where nothing else tells.
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
