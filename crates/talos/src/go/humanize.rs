//! Sizes as people write them: `10GB`, `5 GiB`.

const UNITS: [(&str, u64); 26] = [
    ("", 1),
    ("b", 1),
    ("kib", 1 << 10),
    ("kb", 1_000),
    ("mib", 1 << 20),
    ("mb", 1_000_000),
    ("gib", 1 << 30),
    ("gb", 1_000_000_000),
    ("tib", 1 << 40),
    ("tb", 1_000_000_000_000),
    ("pib", 1 << 50),
    ("pb", 1_000_000_000_000_000),
    ("eib", 1 << 60),
    ("eb", 1_000_000_000_000_000_000),
    ("ki", 1 << 10),
    ("k", 1_000),
    ("mi", 1 << 20),
    ("m", 1_000_000),
    ("gi", 1 << 30),
    ("g", 1_000_000_000),
    ("ti", 1 << 40),
    ("t", 1_000_000_000_000),
    ("pi", 1 << 50),
    ("p", 1_000_000_000_000_000),
    ("ei", 1 << 60),
    ("e", 1_000_000_000_000_000_000),
];

/// Bytes, as go-humanize reads them: a number with commas and at most one point, blanks, a unit in either case.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "as Go does it"
)]
pub fn parse_bytes(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ',').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let number: f64 = number.replace(',', "").parse().ok()?;
    let unit = unit.trim().to_lowercase();
    let (_, unit) = UNITS.iter().find(|(name, _)| *name == unit)?;
    let bytes = number * *unit as f64;
    (bytes < u64::MAX as f64).then_some(bytes as u64)
}

/// The form in which go-humanize writes a multiple of 1000, where that loses nothing.
#[expect(clippy::cast_precision_loss, reason = "as Go does it")]
pub(crate) fn print_bytes(bytes: u64) -> Option<String> {
    if !bytes.is_multiple_of(1000) {
        return None;
    }
    let units = ["B", "kB", "MB", "GB", "TB", "PB", "EB"];
    let steps = if bytes < 10 { 0 } else { bytes.ilog(1000) as usize };
    let value = (bytes as f64 / 1000_f64.powi(i32::try_from(steps).ok()?) * 10.0 + 0.5).floor() / 10.0;
    let text = if bytes < 10 {
        format!("{bytes} B")
    } else if value < 10.0 {
        format!("{value:.1} {}", units[steps])
    } else {
        format!("{value:.0} {}", units[steps])
    };
    (parse_bytes(&text) == Some(bytes)).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_their_units() {
        for (text, want) in
            [("10GB", 10_000_000_000), ("5 GiB", 5 << 30), ("1,000", 1000), ("1.5k", 1500), ("7", 7)]
        {
            assert_eq!(parse_bytes(text), Some(want), "{text}");
        }
        for bad in ["", "GB", "10XB", "-5", "1.2.3", "10byte"] {
            assert_eq!(parse_bytes(bad), None, "{bad}");
        }
    }

    #[test]
    fn sizes_are_written_without_loss() {
        assert_eq!(print_bytes(100_000_000).as_deref(), Some("100 MB"));
        assert_eq!(print_bytes(1_500_000).as_deref(), Some("1.5 MB"));
        assert_eq!(print_bytes(1 << 30), None);
        assert_eq!(print_bytes(123_456_789_000), None);
    }
}
