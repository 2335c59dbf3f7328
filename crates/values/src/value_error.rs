//! Why a text is not a value of its type.

use std::borrow::Cow;

/// What is wrong with a text that should be a checked value, in a few words that fit under the marked place.
///
/// What would have been right is the same for every wrong text: [`Form::want`](crate::read::Form::want) has it.
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
