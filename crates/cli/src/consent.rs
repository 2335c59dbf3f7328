//! Asking whoever sits in front of the terminal before something cannot be undone.

use std::io::{self, BufRead as _, IsTerminal as _};

use anyhow::bail;

use crate::style;

/// Whether whoever is asked types `word`; with `yes` nobody is asked.
pub(crate) fn consents(question: &str, word: &str, yes: bool) -> anyhow::Result<bool> {
    if yes {
        return Ok(true);
    }
    if !io::stdin().is_terminal() {
        bail!("nobody is there to be asked; nothing was done. Say --yes if it is meant");
    }
    style::say(&format!("{}{question}{:#} Type {word} to go on:", style::BOLD, style::BOLD));
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    Ok(line.trim() == word)
}
