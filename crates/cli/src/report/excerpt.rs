//! Excerpts of source files: one line with a marked location, and secrets redacted.

use ichor_values::{Location, Sources};
use unicode_width::UnicodeWidthStr;

/// Characters shown around the marked location of a very long line.
const AROUND: usize = 60;

/// Keys whose values are never quoted.
const SECRET_KEYS: [&str; 5] = ["password", "passwd", "token", "secret", "authkey"];

/// A line and the marks below it.
pub(crate) struct Excerpt {
    /// The line, tabs as spaces, secrets as `***`.
    pub line: String,
    /// Spaces and carets under the marked location.
    pub marks: String,
}

/// Quotes the line of `place`; text at `hidden` locations is redacted.
pub(crate) fn excerpt(sources: &Sources, place: Location, hidden: &[Location]) -> Option<Excerpt> {
    let line = sources.line(place)?;
    let column = (place.column as usize).saturating_sub(1);
    let length = usize::from(place.length).max(1);
    let mut shown: Vec<char> =
        line.chars().map(|c| if c == '\t' || c.is_control() { ' ' } else { c }).collect();
    let mask = hidden
        .iter()
        .filter(|other| other.file == place.file && other.line == place.line)
        .map(|other| (other.column as usize - 1, usize::from(other.length)))
        .chain(find_secret_values(&shown))
        .chain(passwords_in_urls(&shown));
    // From right to left, so that the columns of the remaining masks stay valid.
    let mut mask: Vec<_> = mask.collect();
    mask.sort_unstable();
    mask.dedup();
    let (mut column, mut length) = (column, length);
    for (from, count) in mask.into_iter().rev() {
        let from = from.min(shown.len());
        let to = if count == 0 { shown.len() } else { (from + count).min(shown.len()) };
        shown.splice(from..to, "***".chars());
        if column > from {
            column = (column + 3).saturating_sub(to - from);
        } else if column == from {
            length = 3;
        }
    }
    let from = column.saturating_sub(AROUND).min(shown.len());
    let to = (column + AROUND).min(shown.len());
    let cut = |range: std::ops::Range<usize>| shown[range].iter().collect::<String>();
    let mut line = cut(from..to);
    let before = cut(from..column.clamp(from, to)).width();
    let marked = cut(column.clamp(from, to)..(column + length).clamp(from, to)).width().max(1);
    let mut indent = before;
    if from > 0 {
        line.insert(0, '…');
        indent += 1;
    }
    if to < shown.len() {
        line.push('…');
    }
    Some(Excerpt {
        line: line.trim_end().to_owned(),
        marks: format!("{}{}", " ".repeat(indent), "^".repeat(marked)),
    })
}

/// Values of keys that usually hold a secret, unless the value is a reference.
fn find_secret_values(line: &[char]) -> Vec<(usize, usize)> {
    let text: String = line.iter().collect::<String>().to_lowercase();
    let mut found = Vec::new();
    for key in SECRET_KEYS {
        for (at, _) in text.match_indices(key) {
            let rest = &text[at + key.len()..];
            let Some(value) =
                rest.strip_prefix(':').or_else(|| rest.strip_prefix("\":")).map(str::trim_start)
            else {
                continue;
            };
            if value.is_empty() || value.starts_with(['{', '#']) {
                continue;
            }
            let from = text[..text.len() - value.len()].chars().count();
            let end = value.find([',', '}']).unwrap_or_else(|| value.trim_end().len());
            found.push((from, value[..end].chars().count()));
        }
    }
    found
}

/// Passwords in URLs, between the colon after the user name and the `@`.
fn passwords_in_urls(line: &[char]) -> Vec<(usize, usize)> {
    let text: String = line.iter().collect();
    let mut found = Vec::new();
    for (at, _) in text.match_indices("://") {
        let rest = &text[at + 3..];
        let authority = &rest[..rest.find(['/', ' ', '"', '\'', ',', '}', ']']).unwrap_or(rest.len())];
        if let Some((login, _)) = authority.rsplit_once('@')
            && let Some((user, password)) = login.split_once(':')
        {
            let colon = at + 3 + user.len();
            let from = text[..colon].chars().count() + 1;
            found.push((from, password.chars().count()));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use ichor_values::source::Source;

    use super::*;

    fn quote(line: &str, column: u32, length: u16, hidden: &[Location]) -> (String, String) {
        let sources = Sources(vec![Source::new("f".to_owned(), line.to_owned())]);
        let place = Location { file: 0, line: 1, column, length };
        let excerpt = excerpt(&sources, place, hidden).unwrap();
        (excerpt.line, excerpt.marks)
    }

    #[test]
    fn the_location_is_marked_below_the_line() {
        assert_eq!(quote("rol: worker", 1, 3, &[]), ("rol: worker".to_owned(), "^^^".to_owned()));
        assert_eq!(quote("\trol: worker", 2, 3, &[]), (" rol: worker".to_owned(), " ^^^".to_owned()));
        assert_eq!(quote("名前: x", 5, 1, &[]), ("名前: x".to_owned(), "      ^".to_owned()));
    }

    #[test]
    fn a_secret_is_never_quoted() {
        let hidden = Location { file: 0, line: 1, column: 8, length: 7 };

        assert_eq!(
            quote("  key: hunter2", 8, 7, &[hidden]),
            ("  key: ***".to_owned(), "       ^^^".to_owned())
        );
        assert_eq!(quote("{password: hunter2, rol: x}", 21, 3, &[]).0, "{password: ***, rol: x}");
        assert_eq!(quote("{password: {env: X}, rol: x}", 22, 3, &[]).0, "{password: {env: X}, rol: x}");
        assert_eq!(
            quote("url: https://root:hunter2@pve:8006/x", 6, 31, &[]).0,
            "url: https://root:***@pve:8006/x"
        );
    }

    #[test]
    fn a_very_long_line_is_cut_around_the_location() {
        let line = format!("{}X{}", "a".repeat(5000), "b".repeat(5000));
        let (shown, marks) = quote(&line, 5001, 1, &[]);

        assert!(shown.chars().count() < 150);
        assert_eq!(shown.chars().nth(marks.len() - 1), Some('X'));
    }
}
