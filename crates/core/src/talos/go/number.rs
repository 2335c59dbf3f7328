//! What a plain word of YAML is to go-yaml, and numbers as Go's `strconv` reads them.

/// What a plain word is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Word {
    /// Nothing: `~`, `null` or no word at all.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number that fits into 64 bits.
    Int(i64),
    /// A whole number beyond those.
    Large(u64),
    /// Another number.
    Float(f64),
    /// A date, with or without a time.
    Time,
    /// Text.
    Text,
}

/// What go-yaml takes a plain word for.
pub fn resolve(word: &str) -> Word {
    match word {
        "" | "~" | "null" | "Null" | "NULL" => return Word::Null,
        "true" | "True" | "TRUE" => return Word::Bool(true),
        "false" | "False" | "FALSE" => return Word::Bool(false),
        ".nan" | ".NaN" | ".NAN" => return Word::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => return Word::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => return Word::Float(f64::NEG_INFINITY),
        _ => {}
    }
    if !word.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.')) {
        return Word::Text;
    }
    if is_time(word) {
        return Word::Time;
    }
    let digits = word.replace('_', "");
    if let Some(number) = int(&digits) {
        return Word::Int(number);
    }
    if let Some(number) = uint(&digits) {
        return Word::Large(number);
    }
    if is_float(&digits) {
        return digits.parse().map_or(Word::Text, Word::Float);
    }
    Word::Text
}

/// A whole number as `strconv.ParseInt` reads it with base 0, and `0o17` besides.
fn int(text: &str) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let number = i128::from(uint(digits)?);
    i64::try_from(if negative { -number } else { number }).ok()
}

/// A whole number without a sign, its base told by its beginning.
pub fn uint(text: &str) -> Option<u64> {
    let lower = text.get(..2).map(str::to_ascii_lowercase);
    let (digits, base) = match lower.as_deref() {
        Some("0x") => (&text[2..], 16),
        Some("0o") => (&text[2..], 8),
        Some("0b") => (&text[2..], 2),
        Some(two) if two.starts_with('0') => (&text[1..], 8),
        _ => (text, 10),
    };
    if digits.starts_with(['+', '-']) {
        return None;
    }
    u64::from_str_radix(digits, base).ok()
}

fn is_float(text: &str) -> bool {
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    };
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let has_digits = !whole.is_empty() || !part.is_empty();
    let exponent_fits = exponent.is_none_or(|exponent| {
        let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        !digits.is_empty() && all_digits(digits)
    });
    has_digits && all_digits(whole) && all_digits(part) && exponent_fits
}

/// Whether it starts as `2006-1-2` and goes on as a date or a time does.
fn is_time(text: &str) -> bool {
    let mut parts = text.splitn(3, '-');
    let (Some(year), Some(month), Some(rest)) = (parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    let number = |text: &str, most: u32| {
        (1..=2).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_digit())
            && text.parse::<u32>().is_ok_and(|number| number <= most)
    };
    if year.len() != 4
        || !year.bytes().all(|byte| byte.is_ascii_digit())
        || !number(month, 12)
        || month == "0"
    {
        return false;
    }
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (day, time) = rest.split_at(end);
    if !number(day, 31) || day == "0" {
        return false;
    }
    if time.is_empty() {
        return true;
    }
    let Some(clock) = time.strip_prefix(['T', 't', ' ']) else { return false };
    let with_zone = !time.starts_with(' ');
    let zone_at = clock.find(['Z', '+', '-']).unwrap_or(clock.len());
    let (clock, zone) = clock.split_at(zone_at);
    let fields: Vec<&str> = clock.split(':').collect();
    let [hour, minute, second] = fields[..] else { return false };
    let second = second.split_once('.').map_or(second, |(second, _)| second);
    let zone_fits = if with_zone {
        zone == "Z"
            || zone
                .get(1..)
                .and_then(|zone| zone.split_once(':'))
                .is_some_and(|(h, m)| number(h, 23) && number(m, 59))
    } else {
        zone.is_empty()
    };
    number(hour, 23) && number(minute, 59) && number(second, 59) && zone_fits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_what_go_takes_them_for() {
        for (word, want) in [
            ("0644", Word::Int(420)),
            ("0o644", Word::Int(420)),
            ("0x1F", Word::Int(31)),
            ("-0b11", Word::Int(-3)),
            ("1_000", Word::Int(1000)),
            ("+7", Word::Int(7)),
            ("09", Word::Float(9.0)),
            ("18446744073709551615", Word::Large(u64::MAX)),
            ("1.10", Word::Float(1.1)),
            ("1e3", Word::Float(1000.0)),
            (".5", Word::Float(0.5)),
            ("12:34:56", Word::Text),
            ("10.0.0.1", Word::Text),
            ("2001-01-01", Word::Time),
            ("2001-01-01T10:00:00Z", Word::Time),
            ("2001-01-01 10:00:00.5", Word::Time),
            ("2001-13-01", Word::Text),
            ("on", Word::Text),
            ("~", Word::Null),
            ("True", Word::Bool(true)),
            ("-", Word::Text),
            (".", Word::Text),
        ] {
            assert_eq!(resolve(word), want, "{word}");
        }
    }
}
