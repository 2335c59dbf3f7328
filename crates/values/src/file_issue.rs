//! What keeps a file from being understood.

use super::issue::Issue;
use super::source::Location;

/// One reason why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileIssue {
    /// What is wrong, in a few words that fit under the marked place. The subject is the key path, such as
    /// `nodes.solcp01.macs[1]`, and empty for the file as a whole; the help is what would have been right.
    pub issue: Issue,
    /// The place to mark.
    pub place: Location,
    /// Another place the message speaks of, with a word on it.
    pub also: Option<(Location, String)>,
    /// Text that must not be repeated: a secret somebody wrote into the file.
    pub hidden: Option<Location>,
    /// Whether a file could not be read at all, rather than not understood.
    pub unreadable: bool,
}

impl FileIssue {
    /// An issue at `place`, under the key path `path`, without advice.
    pub fn new(path: impl Into<String>, place: Location, message: impl Into<String>) -> Self {
        Self { issue: Issue::error(path, message), place, also: None, hidden: None, unreadable: false }
    }

    /// Adds what would have been right.
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

    /// Says that a file could not be read at all.
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
