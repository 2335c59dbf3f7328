//! What several commands are told on the command line.

use std::borrow::Cow;
use std::time::Duration;

use ichor_values as value;

/// Why a word on the command line is not taken.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ArgumentError {
    /// It is something else; what would be right.
    #[error("want {0}")]
    Want(Cow<'static, str>),
    #[error("{0}: want one such as 90s or 20m")]
    Time(String),
    #[error("`{0}` is no address")]
    Address(String),
    #[error("not a fingerprint: want 32 bytes in base64, as Talos shows it")]
    Fingerprint,
    #[error("Talos has no such platform; want one of {0}")]
    Platform(String),
}

impl ArgumentError {
    /// That something else is wanted.
    pub(crate) fn want(what: impl Into<Cow<'static, str>>) -> Self {
        Self::Want(what.into())
    }

    /// That one of these words is wanted.
    pub(crate) fn want_one_of(words: &[&str]) -> Self {
        Self::want(format!("one of {}", words.join(", ")))
    }
}

/// How long something may take, as it is typed.
pub(crate) fn time(text: &str) -> Result<Duration, ArgumentError> {
    let time = value::Duration::parse(text).map_err(|wrong| ArgumentError::Time(wrong.to_string()))?;
    Ok(Duration::from_secs(time.0))
}
