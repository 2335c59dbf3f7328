//! Error chains in one line.

use std::error::Error;

/// Joins the messages of an error and its causes.
pub(crate) fn chain(error: &dyn Error) -> String {
    let (mut all, mut cause) = (error.to_string(), error.source());
    while let Some(one) = cause {
        all = format!("{all}: {one}");
        cause = one.source();
    }
    all
}
