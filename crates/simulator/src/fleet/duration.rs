//! Durations as users write them: `500ms`, `3s`, `2m`.

use std::time::Duration;

/// Parses a duration; none if it is invalid.
pub fn parse(text: &str) -> Option<Duration> {
    let split = text.find(|letter: char| !letter.is_ascii_digit())?;
    let (number, unit) = text.split_at(split);
    let number: u64 = number.parse().ok()?;
    match unit {
        "ms" => Some(Duration::from_millis(number)),
        "s" => Some(Duration::from_secs(number)),
        "m" => number.checked_mul(60).map(Duration::from_secs),
        "h" => number.checked_mul(3600).map(Duration::from_secs),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_a_number_and_a_unit() {
        assert_eq!(parse("500ms"), Some(Duration::from_millis(500)));
        assert_eq!(parse("2m"), Some(Duration::from_mins(2)));
        for wrong in ["", "5", "s", "1.5s", "-1s", "3 s", "99999999999999999999s", "18446744073709551615h"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
