//! Unquoted YAML scalars as go-yaml resolves them, which Talos and the Image Factory use.
//!
//! [`read`] decides by the scalar alone. It is stricter than YAML 1.1 (`on` is text) and wider than 1.2 (`0644` is octal,
//! `1_000` a number, a date a time).
//!
//! A field with a type may take a scalar of another: [`ScalarValue::flag`] and [`ScalarValue::integer`] say which, and [`Leniency`] what
//! only older releases take.
//!
//! Not here: which scalars go-yaml quotes although they are text ([`emit`](super::emit)).

/// A scalar without quotes, understood.
#[derive(Clone, Debug, PartialEq)]
pub enum ScalarValue {
    /// Null: the empty scalar, `~`, `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A signed integer.
    Int(i64),
    /// An integer beyond the signed range.
    Uint(u64),
    /// A number with a point, infinite ones included.
    Float(f64),
    /// A point in time, formatted as in Go.
    Time(String),
    /// `<<`.
    Merge,
    /// Any other scalar.
    Text,
}

/// Scalars that an older go-yaml accepts and a later one rejects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leniency {
    /// Accept a number with a fraction as an integer: the fraction is cut off.
    pub(crate) fractions: bool,
    /// A date without quotes for a text.
    pub dates: bool,
}

impl Leniency {
    /// Today's, in the Image Factory for one.
    pub const NONE: Self = Leniency { fractions: false, dates: false };

    /// The first one's.
    pub const FULL: Self = Leniency { fractions: true, dates: true };

    /// The leniency of Talos 1.`minor`.
    pub fn for_minor(minor: u16) -> Self {
        Leniency { fractions: minor < 13, dates: minor < 14 }
    }
}

impl ScalarValue {
    /// The boolean for a boolean field: the words of YAML 1.1 count there, quoted or not.
    pub fn flag(&self, text: &str) -> Option<bool> {
        match (self, text) {
            (ScalarValue::Bool(value), _) => Some(*value),
            (ScalarValue::Text, "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON") => Some(true),
            (ScalarValue::Text, "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF") => Some(false),
            _ => None,
        }
    }

    /// The integer that a field takes it for, whatever the field's range.
    pub fn integer(&self, leniency: Leniency) -> Option<i128> {
        match *self {
            ScalarValue::Int(number) => Some(number.into()),
            ScalarValue::Uint(number) => Some(number.into()),
            ScalarValue::Float(number)
                if number.is_finite() && (leniency.fractions || number.fract().abs() == 0.0) =>
            {
                #[expect(clippy::cast_possible_truncation, reason = "beyond 128 bits, no field takes it")]
                Some(number as i128)
            }
            _ => None,
        }
    }
}

/// Understands a scalar without quotes.
pub fn read(text: &str) -> ScalarValue {
    let Some(first) = text.bytes().next() else { return ScalarValue::Null };
    match first {
        b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' | b'~' | b'<' => {
            parse_keyword(text)
        }
        b'.' => match parse_keyword(text) {
            ScalarValue::Text => point_first(text).map_or(ScalarValue::Text, ScalarValue::Float),
            word => word,
        },
        b'+' | b'-' | b'0'..=b'9' => match parse_keyword(text) {
            ScalarValue::Text => {
                time(text).map(ScalarValue::Time).or_else(|| number(text)).unwrap_or(ScalarValue::Text)
            }
            word => word,
        },
        _ => ScalarValue::Text,
    }
}

fn parse_keyword(text: &str) -> ScalarValue {
    match text {
        "true" | "True" | "TRUE" => ScalarValue::Bool(true),
        "false" | "False" | "FALSE" => ScalarValue::Bool(false),
        "~" | "null" | "Null" | "NULL" => ScalarValue::Null,
        ".nan" | ".NaN" | ".NAN" => ScalarValue::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => ScalarValue::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => ScalarValue::Float(f64::NEG_INFINITY),
        "-0" | "-0.0" => ScalarValue::Float(-0.0),
        "<<" => ScalarValue::Merge,
        _ => ScalarValue::Text,
    }
}

/// A number that starts with a digit or sign. Underscores are ignored anywhere.
fn number(text: &str) -> Option<ScalarValue> {
    let plain: String = text.chars().filter(|c| *c != '_').collect();
    let (negative, digits) = match plain.as_bytes().first()? {
        b'-' => (true, &plain[1..]),
        b'+' => (false, &plain[1..]),
        _ => (false, plain.as_str()),
    };
    let signed = plain.len() != digits.len();
    match parse_integer(digits) {
        Some(number) if negative && number <= 1 << 63 => {
            return i64::try_from(-i128::from(number)).ok().map(ScalarValue::Int);
        }
        Some(number) if !negative => match i64::try_from(number) {
            Ok(number) => return Some(ScalarValue::Int(number)),
            // Go accepts a sign only before a number that fits 63 bits.
            Err(_) if !signed => return Some(ScalarValue::Uint(number)),
            Err(_) => {}
        },
        _ => {}
    }
    is_float(digits).then(|| finite(&plain)).flatten().map(ScalarValue::Float)
}

/// An integer of at most 64 bits, in the base of its prefix.
fn parse_integer(digits: &str) -> Option<u64> {
    let bytes = digits.as_bytes();
    let (digits, base) = match bytes {
        [b'0', b'x' | b'X', _, ..] => (&digits[2..], 16),
        [b'0', b'o' | b'O', _, ..] => (&digits[2..], 8),
        [b'0', b'b' | b'B', _, ..] => (&digits[2..], 2),
        [b'0', _, ..] => (&digits[1..], 8),
        _ => (digits, 10),
    };
    // Rust would take a sign here.
    if !digits.starts_with(|c: char| c.is_ascii_hexdigit()) {
        return None;
    }
    u64::from_str_radix(digits, base).ok()
}

/// Digits with a point or an exponent or neither.
fn is_float(digits: &str) -> bool {
    let (mantissa, exponent) = match digits.find(['e', 'E']) {
        Some(at) => (&digits[..at], Some(&digits[at + 1..])),
        None => (digits, None),
    };
    let (before, after) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    all_digits(before)
        && all_digits(after)
        && (!before.is_empty() || !after.is_empty() && mantissa.contains('.'))
        && exponent.is_none_or(|exponent| {
            let exponent = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
            !exponent.is_empty() && all_digits(exponent)
        })
}

/// A number that starts with its point: here an underscore must be between two digits.
fn point_first(text: &str) -> Option<f64> {
    let bytes = text.as_bytes();
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let placed = bytes
        .iter()
        .enumerate()
        .all(|(at, byte)| *byte != b'_' || at > 0 && is_digit(at - 1) && is_digit(at + 1));
    let plain: String = text.chars().filter(|c| *c != '_').collect();
    (placed && is_float(&plain)).then(|| finite(&plain)).flatten()
}

fn finite(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

/// A date, or a date and a time, as Go prints it.
fn time(text: &str) -> Option<String> {
    let mut rest = ScalarTail(text);
    let year = rest.year()?;
    let month = rest.after("-")?.number()?;
    let day = rest.after("-")?.number()?;
    if !(1..=12).contains(&month) || day < 1 || day > days(year, month) {
        return None;
    }
    let date = format!("{year:04}-{month:02}-{day:02}");
    if rest.0.is_empty() {
        return Some(format!("{date}T00:00:00Z"));
    }
    let zoned = rest.0.starts_with(['T', 't']);
    rest.0 = if zoned { &rest.0[1..] } else { rest.0.strip_prefix(' ')?.trim_start_matches(' ') };
    let hour = rest.number().filter(|hour| *hour < 24)?;
    let minute = rest.after(":")?.number().filter(|minute| *minute < 60)?;
    let second = rest.after(":")?.number().filter(|second| *second < 60)?;
    let fraction = rest.fraction();
    let zone = if zoned { rest.zone()? } else { "Z".to_owned() };
    rest.0.is_empty().then(|| format!("{date}T{hour:02}:{minute:02}:{second:02}{fraction}{zone}"))
}

fn days(year: u32, month: u32) -> u32 {
    match month {
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The unparsed rest of a time.
struct ScalarTail<'t>(&'t str);

impl<'t> ScalarTail<'t> {
    fn take_digits(&mut self, count: usize) -> Option<&'t str> {
        let taken = self.0.get(..count).filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))?;
        self.0 = &self.0[count..];
        Some(taken)
    }

    fn year(&mut self) -> Option<u32> {
        self.take_digits(4)?.parse().ok()
    }

    fn after(&mut self, sign: &str) -> Option<&mut Self> {
        self.0 = self.0.strip_prefix(sign)?;
        Some(self)
    }

    /// A number of one or two digits.
    fn number(&mut self) -> Option<u32> {
        self.take_digits(2).or_else(|| self.take_digits(1))?.parse().ok()
    }

    /// Parts of a second, without the zeros at the end; Go keeps nine digits.
    fn fraction(&mut self) -> String {
        let count = self.0.bytes().skip(1).take_while(u8::is_ascii_digit).count();
        if !self.0.starts_with(['.', ',']) || count == 0 {
            return String::new();
        }
        let digits = &self.0[1..=count.min(9)];
        self.0 = &self.0[1 + count..];
        let digits = digits.trim_end_matches('0');
        if digits.is_empty() { String::new() } else { format!(".{digits}") }
    }

    fn zone(&mut self) -> Option<String> {
        if let Some(rest) = self.0.strip_prefix('Z') {
            self.0 = rest;
            return Some("Z".to_owned());
        }
        let sign = self.0.chars().next().filter(|sign| ['+', '-'].contains(sign))?;
        self.0 = &self.0[1..];
        let hours: u32 = self.take_digits(2)?.parse().ok()?;
        let minutes: u32 = self.after(":")?.take_digits(2)?.parse().ok()?;
        if hours > 24 || minutes > 60 {
            return None;
        }
        let offset = hours * 60 + minutes;
        let zone = format!("{sign}{:02}:{:02}", offset / 60, offset % 60);
        Some(if offset == 0 { "Z".to_owned() } else { zone })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_parsed_as_go_parses_them() {
        for (text, want) in [
            ("0", 0),
            ("0644", 420),
            ("0o17", 15),
            ("0O17", 15),
            ("0b101", 5),
            ("0x1F", 31),
            ("-0x1F", -31),
            ("+1", 1),
            ("1_000", 1000),
            ("1__0_", 10),
            ("-9223372036854775808", i64::MIN),
        ] {
            assert_eq!(read(text), ScalarValue::Int(want), "{text}");
        }
        for (text, want) in [
            ("08", 8.0),
            ("1.10", 1.1),
            ("1.", 1.0),
            (".5", 0.5),
            (".1_0", 0.1),
            ("-.5", -0.5),
            ("1e3", 1000.0),
            ("18446744073709551616", 18_446_744_073_709_551_616.0),
        ] {
            assert_eq!(read(text), ScalarValue::Float(want), "{text}");
        }
        assert_eq!(read("18446744073709551615"), ScalarValue::Uint(u64::MAX));
    }

    #[test]
    fn lookalikes_of_numbers_are_text() {
        for text in [
            "on",
            "yes",
            "y",
            "=",
            "0x",
            "0xg",
            "0x1ffffffffffffffff",
            "1e400",
            "_1",
            "-",
            "+",
            "1.2.3",
            "1e",
            "._1",
            ".1_",
            ".",
            ".e1",
            "..",
            "12:34:56",
            "2001-13-01",
            "2001-02-29",
            "2001-1-1x",
            "20011-1-1",
            "nULL",
            "-+1",
            "2001-1-1T1:2:3",
            "2001-1-1 1:2:3Z",
            "0x+1",
            "Infinity",
            "1p3",
        ] {
            assert_eq!(read(text), ScalarValue::Text, "{text}");
        }
    }

    #[test]
    fn a_date_is_a_time() {
        for (text, want) in [
            ("2001-12-14", "2001-12-14T00:00:00Z"),
            ("2004-2-29", "2004-02-29T00:00:00Z"),
            ("2001-12-14T21:59:43.10-05:00", "2001-12-14T21:59:43.1-05:00"),
            ("2001-12-14t1:2:3,5Z", "2001-12-14T01:02:03.5Z"),
            ("2001-12-14T1:2:3+00:00", "2001-12-14T01:02:03Z"),
            ("2001-12-14  21:59:43.1234567890", "2001-12-14T21:59:43.123456789Z"),
        ] {
            assert_eq!(read(text), ScalarValue::Time(want.to_owned()), "{text}");
        }
    }
}
