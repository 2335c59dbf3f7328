//! BIRD's timestamps: when a state began, and the server time.

/// Seconds of a day.
const DAY: i64 = 24 * 60 * 60;

/// A time on BIRD's clock, with the parts that BIRD prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamp {
    /// Days since 1970; none within the last day, for which BIRD prints the time only.
    day: Option<i64>,
    /// Seconds of the day; none further back, for which BIRD prints the date only.
    second: Option<i64>,
}

impl Timestamp {
    /// The timestamp at the start of these words, and the number of its words: `06:13:19.647`, `2026-11-16`, or both.
    pub fn parse(words: &[&str]) -> Option<(Self, usize)> {
        let first = words.first()?;
        if let Some(second) = parse_time(first) {
            return Some((Self { day: None, second: Some(second) }, 1));
        }
        let day = Some(parse_date(first)?);
        match words.get(1).and_then(|word| parse_time(word)) {
            Some(second) => Some((Self { day, second: Some(second) }, 2)),
            None => Some((Self { day, second: None }, 1)),
        }
    }

    /// Seconds from this timestamp until `now`. A missing time of day counts as midnight.
    pub(crate) fn seconds_until(self, now: Self) -> Option<u64> {
        let (today, second) = (now.day?, now.second?);
        let seconds = match (self.day, self.second) {
            (None, at) => (second - at.unwrap_or(0)).rem_euclid(DAY),
            (Some(day), at) => (today - day) * DAY + second - at.unwrap_or(0),
        };
        u64::try_from(seconds).ok()
    }
}

/// Seconds of `HH:MM:SS`, without the fraction.
fn parse_time(word: &str) -> Option<i64> {
    let without_fraction = word.split('.').next()?;
    let [hour, minute, second] = parse_numbers(without_fraction, ':')?;
    let fits = (0..24).contains(&hour) && (0..60).contains(&minute) && (0..=60).contains(&second);
    fits.then_some(hour * 3600 + minute * 60 + second)
}

/// Days from 1970 to `YYYY-MM-DD`.
fn parse_date(word: &str) -> Option<i64> {
    let [year, month, day] = parse_numbers(word, '-')?;
    let fits = (1970..10_000).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    // Years that start in March have the leap day at their end.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 1;
    fits.then_some(days - 719_468)
}

fn parse_numbers(text: &str, sign: char) -> Option<[i64; 3]> {
    let numbers: Option<Vec<i64>> = text.split(sign).map(|part| part.parse().ok()).collect();
    numbers?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(&text.split(' ').collect::<Vec<_>>()).unwrap().0
    }

    #[test]
    fn a_time_without_a_date_is_within_the_last_day() {
        let now = at("2026-11-16 06:13:24.168");

        assert_eq!(at("06:13:19.647").seconds_until(now), Some(5));
        assert_eq!(at("23:59:59").seconds_until(now), Some(6 * 3600 + 13 * 60 + 25));
    }

    #[test]
    fn a_day_counts_with_or_without_its_time() {
        let now = at("2024-03-01 00:00:10");

        assert_eq!(at("2024-02-28 00:00:00.5").seconds_until(now), Some(2 * 86_400 + 10));
        assert_eq!(at("2024-02-28").seconds_until(now), Some(2 * 86_400 + 10));
        assert_eq!(at("1970-01-01").seconds_until(at("1970-01-02 00:00:00")), Some(86_400));
    }

    #[test]
    fn other_words_are_not_a_timestamp() {
        for word in ["", "up", "25:00:00", "1:2", "2026-13-01", "99999999999999999999-1-1"] {
            assert_eq!(Timestamp::parse(&[word]), None, "{word}");
        }
    }
}
