//! With which quotes go-yaml writes a text, if with any.
//!
//! Not here: the layout of quotes and blocks.

use crate::go_yaml::scalar as word;
use crate::go_yaml::scalar::ScalarValue;

/// The quoting style of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QuoteStyle {
    Plain,
    Single,
    Double,
    Literal,
}

impl QuoteStyle {
    /// `older`: the style of go-yaml before 4.0.0-rc.5.
    pub(super) fn choose(text: &str, traits: &ScalarTraits, older: bool) -> QuoteStyle {
        if text.contains('\n') {
            let filled = text.chars().any(|c| !c.is_whitespace());
            let block = filled && !traits.ends_in_space && !traits.space_before_break && !traits.special;
            return if block { QuoteStyle::Literal } else { QuoteStyle::Double };
        }
        // The booleans of YAML 1.1, which go-yaml does not parse as booleans.
        if ScalarValue::Text.flag(text).is_some() || is_base_60(text) || text == "<<" {
            return if older { QuoteStyle::Double } else { QuoteStyle::Single };
        }
        if word::read(text) != ScalarValue::Text {
            return QuoteStyle::Double;
        }
        let fragile = traits.space_after_break || traits.space_before_break || traits.tab || traits.special;
        let plain = !fragile
            && !traits.breaks
            && !traits.indicators
            && !traits.starts_in_space
            && !traits.ends_in_space;
        match (plain, fragile) {
            (true, _) => QuoteStyle::Plain,
            (false, true) => QuoteStyle::Double,
            (false, false) => QuoteStyle::Single,
        }
    }
}

/// A number of YAML 1.1 with parts of sixty, such as `12:34:56`.
fn is_base_60(text: &str) -> bool {
    let text = text.strip_prefix(['-', '+']).unwrap_or(text);
    let mut parts = text.split(':');
    let first = parts.next().unwrap_or_default();
    if !first.starts_with(|c: char| c.is_ascii_digit()) || !text.contains(':') {
        return false;
    }
    let is_tail = |byte: u8| byte.is_ascii_digit() || byte == b'_';
    let mut parts: Vec<&str> = parts.collect();
    if let Some((last, tail)) = parts.last().and_then(|last| last.split_once('.')) {
        if !tail.bytes().all(is_tail) {
            return false;
        }
        parts.pop();
        parts.push(last);
    }
    first.bytes().all(is_tail)
        && parts.iter().all(|part| matches!(part.as_bytes(), [b'0'..=b'9'] | [b'0'..=b'5', b'0'..=b'9']))
}

/// The properties of a text that require quotes or rule out a block scalar.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a reason of its own")]
pub(super) struct ScalarTraits {
    /// Whether it has more than one line.
    pub(super) breaks: bool,
    special: bool,
    tab: bool,
    indicators: bool,
    starts_in_space: bool,
    ends_in_space: bool,
    space_before_break: bool,
    space_after_break: bool,
}

impl ScalarTraits {
    pub(super) fn analyze(text: &str) -> ScalarTraits {
        let mut traits = ScalarTraits {
            indicators: text.starts_with("---") || text.starts_with("..."),
            starts_in_space: text.starts_with(' ') || text.starts_with(is_break),
            ends_in_space: text.ends_with(' '),
            ..ScalarTraits::default()
        };
        let mut before = None;
        let mut rest = text.chars();
        while let Some(c) = rest.next() {
            let blank_after = rest.as_str().is_empty() || rest.as_str().starts_with([' ', '\t']);
            traits.indicators |= match c {
                '#' | ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@'
                | '`'
                    if before.is_none() =>
                {
                    true
                }
                '?' | '-' if before.is_none() => blank_after,
                ':' => blank_after,
                '#' => before.is_some_and(|c| matches!(c, ' ' | '\t' | '\0') || is_break(c)),
                _ => false,
            };
            if c == '\t' {
                traits.tab = true;
            } else {
                traits.special |= !is_printable(c);
            }
            traits.breaks |= is_break(c);
            traits.space_after_break |= c == ' ' && before.is_some_and(is_break);
            traits.space_before_break |= is_break(c) && before == Some(' ');
            before = Some(c);
        }
        traits
    }
}

/// Whether a letter ends a line.
pub(super) fn is_break(c: char) -> bool {
    matches!(c, '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Whether go-yaml writes a character unescaped: only characters of the basic plane.
pub(super) fn is_printable(c: char) -> bool {
    matches!(c, '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}') && c != '\u{feff}'
}
