//! How Talos interprets `user-data`.

use crate::go::url;

/// The kind of a `user-data` file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UserData<'f> {
    /// cloud-init's: ignored, as if it were missing.
    CloudConfig,
    /// The address of the configuration.
    Include(Result<String, IncludeError>),
    /// The configuration itself.
    Config(&'f [u8]),
}

/// Why Talos does not follow an `#include`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IncludeError {
    /// No line follows.
    #[error("`#include` is followed by no URL; want one on the next line")]
    None,
    /// Several do.
    #[error("`#include` is followed by several lines, and Talos follows one URL")]
    Several,
    /// The next line is not a URL.
    #[error("the line after `#include` is not a URL: {0}")]
    NotUrl(&'static str),
}

impl<'f> UserData<'f> {
    /// Detects the kind of the file.
    pub fn parse(bytes: &'f [u8]) -> Self {
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let (first, rest) = match end {
            Some(end) => (&bytes[..end], &bytes[end + 1..]),
            None => (bytes, &[][..]),
        };
        match first.trim_ascii() {
            b"#cloud-config" => UserData::CloudConfig,
            b"#include" => UserData::Include(include(&String::from_utf8_lossy(rest))),
            _ => UserData::Config(bytes),
        }
    }
}

fn include(rest: &str) -> Result<String, IncludeError> {
    let mut lines = rest.lines().map(str::trim).filter(|line| !line.is_empty());
    let line = lines.next().ok_or(IncludeError::None)?;
    if lines.next().is_some() {
        return Err(IncludeError::Several);
    }
    url::parse(line).map(|_| line.to_owned()).map_err(IncludeError::NotUrl)
}
