//! Why a text is not a value of its type.

use std::borrow::Cow;

/// Why a text is not a valid value, short enough to fit under the marked text.
///
/// The valid form is the same for every invalid text: see [`Shape::want`](crate::schema::Shape::want).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct ValueError {
    reason: Cow<'static, str>,
}

impl ValueError {
    /// An error with this reason.
    pub fn new(reason: impl Into<Cow<'static, str>>) -> Self {
        Self { reason: reason.into() }
    }
}
