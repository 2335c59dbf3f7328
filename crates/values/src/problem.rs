//! What keeps a file from being understood.

use super::source::Place;

/// One reason why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Key path, such as `nodes.solcp01.macs[1]`; empty for the file as a whole.
    pub path: String,
    /// The place to mark.
    pub place: Place,
    /// What is wrong, in a few words that fit under the marked place.
    pub message: String,
    /// What would have been right.
    pub want: Option<String>,
    /// Another place the message speaks of, with a word on it.
    pub also: Option<(Place, String)>,
    /// Text that must not be repeated: a secret somebody wrote into the file.
    pub hidden: Option<Place>,
    /// Whether a file could not be read at all, rather than not understood.
    pub unreadable: bool,
}

impl Problem {
    /// A problem at `place`, without advice.
    pub fn new(path: impl Into<String>, place: Place, message: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            place,
            message: message.into(),
            want: None,
            also: None,
            hidden: None,
            unreadable: false,
        }
    }

    /// Adds what would have been right.
    #[must_use]
    pub fn want(mut self, want: impl Into<String>) -> Self {
        self.want = Some(want.into());
        self
    }

    /// Adds a second place.
    #[must_use]
    pub fn also(mut self, place: Place, note: impl Into<String>) -> Self {
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
    pub fn hide(mut self, place: Place) -> Self {
        self.hidden = Some(place);
        self
    }
}
