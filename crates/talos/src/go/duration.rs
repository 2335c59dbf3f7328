//! Go's durations: `1h30m`, `500ms`.

const UNITS: [(&str, u128); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Nanoseconds, as Go reads them.
pub(crate) fn parse(text: &str) -> Option<i64> {
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total: u128 = 0;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, tail) = rest.split_at(end);
        let end = tail.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(end);
        let (_, unit) = UNITS.iter().find(|(name, _)| *name == unit)?;
        total = total.checked_add(nanoseconds(number, *unit)?)?;
        rest = tail;
    }
    let total = i128::try_from(total).ok()?;
    i64::try_from(if negative { -total } else { total }).ok()
}

/// Go parses the fraction as a float, and only as many digits of it as fit 63 bits.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "as Go does it"
)]
fn nanoseconds(number: &str, unit: u128) -> Option<u128> {
    let (integer, part) = number.split_once('.').unwrap_or((number, ""));
    if integer.is_empty() && part.is_empty() || part.contains('.') {
        return None;
    }
    let integer: u128 = if integer.is_empty() { 0 } else { integer.parse().ok()? };
    let (mut fraction, mut scale) = (0_u64, 1.0);
    for digit in part.bytes() {
        let Some(longer) = fraction.checked_mul(10).and_then(|it| it.checked_add(u64::from(digit - b'0')))
        else {
            break;
        };
        if longer > 1 << 63 {
            break;
        }
        (fraction, scale) = (longer, scale * 10.0);
    }
    let fraction = (fraction as f64 * (unit as f64 / scale)) as u128;
    integer.checked_mul(unit)?.checked_add(fraction)
}

/// The form in which Go writes them: `1h30m0s`, `1.5s`, `500ms`.
pub(crate) fn print(nanoseconds: i64) -> String {
    if nanoseconds == 0 {
        return "0s".to_owned();
    }
    let sign = if nanoseconds < 0 { "-" } else { "" };
    let total = nanoseconds.unsigned_abs();
    let (unit, name) = match total {
        0..1_000 => (1, "ns"),
        1_000..1_000_000 => (1_000, "µs"),
        1_000_000..1_000_000_000 => (1_000_000, "ms"),
        _ => (1_000_000_000, "s"),
    };
    let (integer, part) = (total / unit, total % unit);
    let width = unit.ilog10() as usize;
    let part = format!("{part:0width$}");
    let part = part.trim_end_matches('0');
    let dot = if part.is_empty() || width == 0 { String::new() } else { format!(".{part}") };
    if name != "s" {
        return format!("{sign}{integer}{dot}{name}");
    }
    let (hours, minutes, seconds) = (integer / 3600, integer / 60 % 60, integer % 60);
    let hours_text = if hours > 0 { format!("{hours}h") } else { String::new() };
    let minutes_text = if integer >= 60 { format!("{minutes}m") } else { String::new() };
    format!("{sign}{hours_text}{minutes_text}{seconds}{dot}s")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_written_as_go_writes_them() {
        for (text, want) in [
            ("90s", "1m30s"),
            ("1h", "1h0m0s"),
            ("1.5s", "1.5s"),
            ("500ms", "500ms"),
            ("1500us", "1.5ms"),
            ("0", "0s"),
            ("-2m", "-2m0s"),
            ("1h2m3s4ms", "1h2m3.004s"),
            (".5h", "30m0s"),
            ("0.3333333333333333333h", "20m0s"),
            ("0.100000000000000000000h", "6m0s"),
        ] {
            assert_eq!(parse(text).map(print).as_deref(), Some(want), "{text}");
        }
        for text in ["", "5", "1x", "1.2.3s", "s", "9999999999h"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
