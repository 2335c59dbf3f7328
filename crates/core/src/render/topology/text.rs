//! Estimated text widths, without font metrics.
//!
//! The estimate is for the widest common fonts (DejaVu Sans and DejaVu Sans Mono), so that text stays inside its box in every
//! viewer.

use std::borrow::Cow;

/// Font faces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FontFace {
    Plain,
    Bold,
    Mono,
}

/// Width of `text` in pixels, rounded up.
pub(crate) fn width(text: &str, face: FontFace, size: i32) -> i32 {
    // No box is wider than this many characters.
    let sum: i32 = text.chars().take(10_000).map(|letter| thousandths(letter, face)).sum();
    (sum * size + 999) / 1000
}

fn thousandths(letter: char, face: FontFace) -> i32 {
    let wide = match letter {
        'm' | 'w' | 'M' | 'W' | '@' | '%' | '…' => 1000,
        'A'..='Z' | '&' | '<' | '>' | '=' | '+' | '·' => 760,
        'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | ' ' => 360,
        ' '..='~' => 640,
        _ => 1050,
    };
    match face {
        FontFace::Plain => wide,
        FontFace::Bold => wide * 11 / 10,
        // Characters beyond ASCII may come from another font.
        FontFace::Mono => {
            if letter.is_ascii() || letter == '…' {
                605
            } else {
                1050
            }
        }
    }
}

/// Truncates `text` with an ellipsis to `room` pixels.
pub(crate) fn truncate(text: &str, face: FontFace, size: i32, room: i32) -> Cow<'_, str> {
    if width(text, face, size) <= room {
        return Cow::Borrowed(text);
    }
    let mut left = room * 1000 - thousandths('…', face) * size;
    let kept: String = text
        .chars()
        .take_while(|letter| {
            left -= thousandths(*letter, face) * size;
            left >= 0
        })
        .collect();
    Cow::Owned(kept + "…")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_truncated_only_if_it_does_not_fit() {
        let room = width("10.101.254.11", FontFace::Mono, 12);

        assert_eq!(truncate("10.101.254.11", FontFace::Mono, 12, room), "10.101.254.11");
        assert_eq!(truncate("10.101.254.112", FontFace::Mono, 12, room), "10.101.254.1…");
    }

    #[test]
    fn truncated_text_fits() {
        for text in ["a-very-long-name-of-a-node", "mmmmmmmmmmmmmmmmmm", "長い名前のノードがここにある"]
        {
            for face in [FontFace::Plain, FontFace::Bold, FontFace::Mono] {
                let cut = truncate(text, face, 13, 100);

                assert!(cut.ends_with('…') && width(&cut, face, 13) <= 100, "{cut}");
            }
        }
    }
}
