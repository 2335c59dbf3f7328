//! Problems of a cluster file.

use super::issue::Issue;
use super::source::Location;

/// One problem of a cluster file, because of which it cannot be planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileIssue {
    /// The message is short enough to fit under the marked text. The subject is the key path, such as
    /// `nodes.solcp01.macs[1]`, or empty for the complete file; the help describes a valid value.
    pub issue: Issue,
    /// The place to mark.
    pub place: Location,
    /// Another location that the message refers to, with a label.
    pub also: Option<(Location, String)>,
    /// Text that must not be printed: a secret written into the file.
    pub hidden: Option<Location>,
    /// Whether the file could not be read at all.
    pub unreadable: bool,
}

impl FileIssue {
    /// An issue at `place`, under the key path `path`, without advice.
    pub fn new(path: impl Into<String>, place: Location, message: impl Into<String>) -> Self {
        Self { issue: Issue::error(path, message), place, also: None, hidden: None, unreadable: false }
    }

    /// Adds the valid form.
    #[must_use]
    pub fn want(mut self, want: impl Into<String>) -> Self {
        self.issue = self.issue.with_help(want);
        self
    }

    /// Adds a second place.
    #[must_use]
    pub fn also(mut self, place: Location, note: impl Into<String>) -> Self {
        self.also = Some((place, note.into()));
        self
    }

    /// Marks the file as unreadable.
    #[must_use]
    pub fn unreadable(mut self) -> Self {
        self.unreadable = true;
        self
    }

    /// Keeps the text at `place` out of every excerpt.
    #[must_use]
    pub(crate) fn hide(mut self, place: Location) -> Self {
        self.hidden = Some(place);
        self
    }
}
