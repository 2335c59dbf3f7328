//! Asking whoever sits in front of the terminal before something cannot be undone.

use std::io::{self, BufRead as _, IsTerminal as _};

use crate::style;

/// Why it is not known what the person in front of the terminal wants.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConsentError {
    #[error("nobody is there to be asked; nothing was done. Say --yes if it is meant")]
    NoTerminal,
    #[error(transparent)]
    Unread(#[from] io::Error),
}

/// Whether whoever is asked types `word`; with `yes` nobody is asked.
pub(crate) fn consents(question: &str, word: &str, yes: bool) -> Result<bool, ConsentError> {
    if yes {
        return Ok(true);
    }
    if !io::stdin().is_terminal() {
        return Err(ConsentError::NoTerminal);
    }
    style::say(&format!("{}{question}{:#} Type {word} to go on:", style::BOLD, style::BOLD));
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    Ok(line.trim() == word)
}
