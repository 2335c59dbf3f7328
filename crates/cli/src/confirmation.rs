//! Confirmation on the terminal before an irreversible change.

use std::io::{self, BufRead as _, IsTerminal as _};

use crate::style;

/// Errors of asking for confirmation.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfirmationError {
    #[error("cannot ask for confirmation without a terminal; nothing was changed; pass --yes to confirm")]
    NoTerminal,
    #[error(transparent)]
    Unread(#[from] io::Error),
}

/// Asks `question` and reports whether the answer is `word`; with `yes` it does not ask.
pub(crate) fn confirm(question: &str, word: &str, yes: bool) -> Result<bool, ConfirmationError> {
    if yes {
        return Ok(true);
    }
    if !io::stdin().is_terminal() {
        return Err(ConfirmationError::NoTerminal);
    }
    style::say(&format!("{}{question}{:#} Type {word} to continue:", style::BOLD, style::BOLD));
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    Ok(line.trim() == word)
}
