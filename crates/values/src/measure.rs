//! Sizes and durations.

use std::fmt;

use crate::ValueError;
use crate::scalar::scalar;

/// Reads `8GiB` as a number and a unit.
fn split(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, &text[end..]))
}

/// An amount of memory or disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Size {
    number: u64,
    unit: Unit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Unit(&'static str, u64);

const UNITS: [Unit; 8] = [
    Unit("KB", 1_000),
    Unit("MB", 1_000_000),
    Unit("GB", 1_000_000_000),
    Unit("TB", 1_000_000_000_000),
    Unit("KiB", 1 << 10),
    Unit("MiB", 1 << 20),
    Unit("GiB", 1 << 30),
    Unit("TiB", 1 << 40),
];

impl Size {
    /// Reads a number and its unit: `8GiB`, `64GB`.
    pub fn parse(text: &str) -> Result<Self, ValueError> {
        let wrong = || ValueError::new("not a size");
        let (number, name) = split(text).ok_or_else(wrong)?;
        let unit = UNITS.into_iter().find(|unit| unit.0 == name.trim_start()).ok_or_else(wrong)?;
        number.checked_mul(unit.1).filter(|&bytes| bytes > 0).ok_or_else(wrong)?;
        Ok(Self { number, unit })
    }

    /// The same in bytes.
    pub fn bytes(self) -> u64 {
        self.number * self.unit.1
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}{}", self.number, self.unit.0))
    }
}

scalar!(Size, "size", "a number and a unit, such as 8GiB or 64GB", {"type": "string", "pattern": "^[0-9]+ ?[KMGT]i?B$"});

/// A span of time, to the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(pub u64);

impl Duration {
    /// Reads numbers with units: `90s`, `30m`, `1h30m`, `7d`.
    pub fn parse(text: &str) -> Result<Self, ValueError> {
        let wrong = || ValueError::new("not a duration");
        let mut seconds = 0_u64;
        let mut rest = text;
        if rest.is_empty() {
            return Err(wrong());
        }
        while !rest.is_empty() {
            let (number, tail) = split(rest).ok_or_else(wrong)?;
            let factor = match tail.chars().next() {
                Some('s') => 1,
                Some('m') => 60,
                Some('h') => 3_600,
                Some('d') => 86_400,
                _ => return Err(wrong()),
            };
            seconds =
                number.checked_mul(factor).and_then(|more| seconds.checked_add(more)).ok_or_else(wrong)?;
            rest = &tail[1..];
        }
        Ok(Self(seconds))
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut left = self.0;
        let mut out = String::new();
        for (unit, size) in [('d', 86_400), ('h', 3_600), ('m', 60), ('s', 1)] {
            if left >= size {
                out += &format!("{}{unit}", left / size);
                left %= size;
            }
        }
        f.pad(if out.is_empty() { "0s" } else { &out })
    }
}

scalar!(Duration, "duration", "numbers with units, such as 90s, 30m or 1h", {"type": "string", "pattern": "^([0-9]+[smhd])+$"});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_keep_their_unit() {
        let size = Size::parse("8GiB").unwrap();

        assert_eq!((size.bytes(), size.to_string().as_str()), (8 << 30, "8GiB"));
        for text in ["", "8", "GiB", "0GiB", "8gib", "-1GB", "99999999999999999999GB"] {
            assert!(Size::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn durations_add_up() {
        assert_eq!(Duration::parse("1h30m").unwrap(), Duration(5_400));
        assert_eq!(Duration(90_061).to_string(), "1d1h1m1s");
        for text in ["", "5", "m", "1h 30m", "1w"] {
            assert!(Duration::parse(text).is_err(), "{text}");
        }
    }
}
