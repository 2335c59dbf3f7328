//! A JSON document with the version of its format in the key `version`.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{DecodeOutcome, InvalidValue, Relation, UnknownKey, Version, read};

/// The key with the version.
const KEY: &str = "version";

/// Why a document cannot be read. No value of it is repeated: it may be a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// It is not JSON.
    #[error("line {line}, column {column}: not valid JSON")]
    Syntax {
        /// The line, counted from 1.
        line: usize,
        /// The column, counted from 1.
        column: usize,
    },
    /// Its version is not one.
    #[error("{KEY}: want the version of the format, such as \"1.0\"")]
    Version,
    /// It has a newer format.
    #[error("format version {found} is newer than {newest}, the newest that this release reads")]
    TooNew {
        /// Its version.
        found: Version,
        /// The newest that is known.
        newest: Version,
    },
    /// It has unknown keys, or a value that does not fit.
    #[error("{}", ProblemList(.unknown, .invalid.as_ref()))]
    Content {
        /// Every unknown key.
        unknown: Vec<UnknownKey>,
        /// The first value that does not fit.
        invalid: Option<InvalidValue>,
    },
}

/// The problems, on lines of their own if there are several.
struct ProblemList<'a>(&'a [UnknownKey], Option<&'a InvalidValue>);

impl fmt::Display for ProblemList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unknown = self.0.iter().map(ToString::to_string);
        let all: Vec<_> = unknown.chain(self.1.map(ToString::to_string)).collect();
        match &all[..] {
            [one] => f.write_str(one),
            all => write!(f, "{} problems\n  {}", all.len(), all.join("\n  ")),
        }
    }
}

impl From<InvalidValue> for FormatError {
    fn from(invalid: InvalidValue) -> Self {
        Self::Content { unknown: Vec::new(), invalid: Some(invalid) }
    }
}

/// A document of a version that can be read.
#[derive(Clone, Debug)]
pub struct Document {
    value: Value,
    version: Version,
    newest: Version,
}

impl Document {
    /// Parses a text whose format this release knows up to version `newest`. Without a version it is 0.0.
    pub fn parse(text: &str, newest: Version) -> Result<Self, FormatError> {
        let value = serde_json::from_str(text)
            .map_err(|error| FormatError::Syntax { line: error.line(), column: error.column() })?;
        Self::new(value, newest)
    }

    /// The document with this content.
    pub fn new(mut value: Value, newest: Version) -> Result<Self, FormatError> {
        let version = match value.as_object_mut().and_then(|map| map.shift_remove(KEY)) {
            None => Version::new(0, 0),
            Some(version) => version.as_str().and_then(Version::parse).ok_or(FormatError::Version)?,
        };
        match version.relation_to(newest) {
            Relation::NewerMajor => Err(FormatError::TooNew { found: version, newest }),
            _ => Ok(Self { value, version, newest }),
        }
    }

    /// The version of its format.
    pub fn version(&self) -> Version {
        self.version
    }

    /// The content without the version.
    pub fn into_content(self) -> Value {
        self.value
    }

    /// Reads all of it but the version. Unknown keys are an error, unless the document has a newer minor version: then they
    /// are returned.
    pub fn read<'v, T: Deserialize<'v>>(&'v self) -> Result<(T, Vec<UnknownKey>), FormatError> {
        match read(&self.value) {
            DecodeOutcome { value: Err(invalid), unknown } => {
                Err(FormatError::Content { unknown, invalid: Some(invalid) })
            }
            DecodeOutcome { value: Ok(value), unknown } => {
                let ignores = self.version.relation_to(self.newest) == Relation::NewerMinor;
                if ignores || unknown.is_empty() {
                    Ok((value, unknown))
                } else {
                    Err(FormatError::Content { unknown, invalid: None })
                }
            }
        }
    }
}

/// Content with the version of its format before it, to be written.
#[derive(Debug, Serialize)]
pub struct Versioned<T> {
    version: Version,
    #[serde(flatten)]
    content: T,
}

impl<T: Serialize> Versioned<T> {
    /// The content in this version.
    pub fn new(version: Version, content: T) -> Self {
        Self { version, content }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEWEST: Version = Version::new(2, 1);

    #[derive(Debug, PartialEq, Deserialize, Serialize)]
    struct Note {
        text: String,
    }

    fn note(text: &str) -> Result<(Note, usize), String> {
        let document = Document::parse(text, NEWEST).map_err(|error| error.to_string())?;
        let (note, ignored) = document.read().map_err(|error| error.to_string())?;
        Ok((note, ignored.len()))
    }

    #[test]
    fn a_written_document_reads_back_in_its_version() {
        let text = serde_json::to_string(&Versioned::new(NEWEST, Note { text: "a".to_owned() })).unwrap();

        assert_eq!(text, r#"{"version":"2.1","text":"a"}"#);
        assert_eq!(Document::parse(&text, NEWEST).unwrap().version(), NEWEST);
        assert_eq!(note(&text), Ok((Note { text: "a".to_owned() }, 0)));
        assert_eq!(Document::parse("{}", NEWEST).unwrap().version(), Version::new(0, 0));
    }

    #[test]
    fn only_a_newer_minor_version_may_have_unknown_keys() {
        let text =
            |version: &str| format!(r#"{{"version": "{version}", "text": "a", "txet": 1, "zebra": 2}}"#);

        assert_eq!(note(&text("2.2")).unwrap().1, 2);
        assert_eq!(
            note(&text("2.1")).unwrap_err(),
            "2 problems\n  txet: unknown key; did you mean `text`?\n  zebra: unknown key"
        );
        assert!(note(&text("1.0")).is_err());
    }

    #[test]
    fn an_unreadable_document_is_located() {
        let wrong = |text| note(text).unwrap_err();

        assert_eq!(wrong("{\n  \"text\""), "line 2, column 8: not valid JSON");
        assert_eq!(wrong(r#"{"version": 2}"#), r#"version: want the version of the format, such as "1.0""#);
        assert_eq!(
            wrong(r#"{"version": "3.0"}"#),
            "format version 3.0 is newer than 2.1, the newest that this release reads"
        );
        assert_eq!(wrong(r#"{"text": 1}"#), "text: want a string, found a number");
    }
}
