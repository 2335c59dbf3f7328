//! Ranges of versions such as `>= 1.11.0 < 2.0.0`, as `github.com/blang/semver/v4` reads them.
//!
//! A range is wider and stranger than it looks, and all of that is kept: a part of one character is dropped, `1.12.x` is a
//! range of its own, and the text between two `||` may be empty.

use std::cmp::Ordering;

/// Versions without a pre-release that are taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Range(Vec<Vec<Comparison>>);

/// Major, minor and patch number.
pub(crate) type Core = [u64; 3];

#[derive(Clone, Debug, PartialEq, Eq)]
struct Comparison {
    sign: Sign,
    numbers: Core,
    /// Whether it is a pre-release, which comes before the version with the same numbers.
    is_pre_release: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    Equal,
    NotEqual,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
}

/// Why a range is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RangeError {
    /// The first alternative is empty.
    #[error("it begins with `||`, or there is nothing in it")]
    Beginning,
    /// The last alternative is empty.
    #[error("it ends with `||`")]
    End,
    /// A part is only a sign or a word.
    #[error("`{part}` has no version in it")]
    NoVersion {
        /// The part.
        part: String,
    },
    /// A sign that the library does not know.
    #[error("`{sign}` in `{part}` compares nothing: there are =, !=, <, <=, > and >=")]
    Sign {
        /// The sign.
        sign: String,
        /// The part it is in.
        part: String,
    },
    /// A version that is not one.
    #[error("`{version}` in `{part}` is not a version: {reason}")]
    Version {
        /// The version.
        version: String,
        /// The part it is in.
        part: String,
        /// The problem.
        reason: SemverError,
    },
}

/// Why a text is not a semantic version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SemverError {
    /// It has fewer than three parts.
    #[error("want three numbers, such as 1.12.0")]
    Parts,
    /// A part is not a number.
    #[error("`{0}` is not a number")]
    NoNumber(String),
    /// A number starts with a zero.
    #[error("`{0}` has a zero in front")]
    LeadingZero(String),
    /// A number does not fit.
    #[error("`{0}` is too large")]
    TooLarge(String),
    /// A part of the pre-release or build has other characters.
    #[error("`{0}` is not of letters, digits and dashes")]
    Word(String),
}

impl Range {
    /// Parses a range; the error names the invalid part.
    pub(crate) fn parse(text: &str) -> Result<Range, RangeError> {
        let parts = split(text);
        let groups: Vec<&[String]> = parts.split(|part| part == "||").collect();
        if groups[0].is_empty() {
            return Err(RangeError::Beginning);
        }
        if groups[groups.len() - 1].is_empty() {
            return Err(RangeError::End);
        }
        let group = |group: &&[String]| -> Result<Vec<Comparison>, RangeError> {
            let mut comparisons = Vec::new();
            for part in *group {
                for part in without_wildcard(part)? {
                    comparisons.push(Comparison::parse(&part)?);
                }
            }
            Ok(comparisons)
        };
        groups.iter().map(group).collect::<Result<_, _>>().map(Range)
    }

    /// Whether it contains a version; none if the library itself panics on an empty group.
    pub(crate) fn takes(&self, version: Core) -> Option<bool> {
        for group in &self.0 {
            if group.is_empty() {
                return None;
            }
            if group.iter().all(|comparison| comparison.matches(version)) {
                return Some(true);
            }
        }
        Some(false)
    }
}

impl Comparison {
    fn parse(part: &str) -> Result<Self, RangeError> {
        let (sign, version) = comparator(part)?;
        let sign = match sign {
            "" | "=" | "==" => Sign::Equal,
            "!" | "!=" => Sign::NotEqual,
            ">" => Sign::Greater,
            ">=" => Sign::GreaterOrEqual,
            "<" => Sign::Less,
            "<=" => Sign::LessOrEqual,
            other => return Err(RangeError::Sign { sign: other.to_owned(), part: part.to_owned() }),
        };
        let (numbers, is_pre_release) = read(version).map_err(|reason| RangeError::Version {
            version: version.to_owned(),
            part: part.to_owned(),
            reason,
        })?;
        Ok(Comparison { sign, numbers, is_pre_release })
    }

    fn matches(&self, version: Core) -> bool {
        let order = match version.cmp(&self.numbers) {
            Ordering::Equal if self.is_pre_release => Ordering::Greater,
            order => order,
        };
        match self.sign {
            Sign::Equal => order.is_eq(),
            Sign::NotEqual => order.is_ne(),
            Sign::Greater => order.is_gt(),
            Sign::GreaterOrEqual => order.is_ge(),
            Sign::Less => order.is_lt(),
            Sign::LessOrEqual => order.is_le(),
        }
    }
}

/// The parts between spaces. Spaces after a sign do not part, and a part of one character is lost.
fn split(text: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let (mut start, mut before) = (0, b'\0');
    for (at, byte) in text.bytes().enumerate() {
        if byte == b' ' && !b"<=>".contains(&before) {
            if start + 1 < at {
                parts.push(text[start..at].replace(' ', ""));
            }
            start = at + 1;
        } else if byte != b' ' {
            before = byte;
        }
    }
    if start + 1 < text.len() {
        parts.push(text[start..].replace(' ', ""));
    }
    parts
}

/// Splits a part at its first digit: the operator and the version.
fn comparator(part: &str) -> Result<(&str, &str), RangeError> {
    let at = part.find(char::is_numeric).ok_or_else(|| RangeError::NoVersion { part: part.to_owned() })?;
    Ok((part[..at].trim(), &part[at..]))
}

/// The one or two comparisons that a part with an `x` expands to.
fn without_wildcard(part: &str) -> Result<Vec<String>, RangeError> {
    if !part.contains('x') {
        return Ok(vec![part.to_owned()]);
    }
    let (sign, version) = comparator(part)?;
    let flat = zero_wildcards(version);
    let next = || next(version, &flat).unwrap_or_default();
    Ok(match sign {
        ">" => vec![format!(">={}", next())],
        ">=" | "<" => vec![format!("{sign}{flat}")],
        "<=" => vec![format!("<{}", next())],
        "" | "=" | "==" => vec![format!(">={flat}"), format!("<{}", next())],
        // Both at once, which no version does.
        "!=" | "!" => vec![format!("<{flat}"), format!(">={}", next())],
        _ => vec![flat],
    })
}

/// A version with zeros for `x`.
fn zero_wildcards(version: &str) -> String {
    let flat = version.replacen(".x.x", ".x", 1).replacen(".x", ".0", 1);
    if flat.split('.').count() == 2 { flat + ".0" } else { flat }
}

/// The first version after the range of a wildcard.
fn next(version: &str, flat: &str) -> Option<String> {
    let written: Vec<_> = version.split('.').collect();
    let raised = match (written.len(), written.last()) {
        (3, Some(&"x")) => 1,
        (2, Some(&"x")) => 0,
        _ => return None,
    };
    let mut parts: Vec<_> = flat.split('.').map(str::to_owned).collect();
    let number: i64 = parts.get(raised)?.parse().ok()?;
    parts[raised] = number.checked_add(1)?.to_string();
    Some(parts.join("."))
}

/// The numbers of a version, and whether it is a pre-release.
fn read(version: &str) -> Result<(Core, bool), SemverError> {
    let parts: Vec<_> = version.splitn(3, '.').collect();
    let [major, minor, rest] = parts[..] else {
        return Err(SemverError::Parts);
    };
    let (rest, build) = rest.split_once('+').map_or((rest, None), |(rest, build)| (rest, Some(build)));
    let (patch, pre) = rest.split_once('-').map_or((rest, None), |(patch, pre)| (patch, Some(pre)));
    let numbers = [number(major)?, number(minor)?, number(patch)?];
    for part in pre.into_iter().flat_map(|pre| pre.split('.')) {
        if is_digits(part) {
            number(part)?;
        } else {
            word(part)?;
        }
    }
    build.into_iter().flat_map(|build| build.split('.')).try_for_each(word)?;
    Ok((numbers, pre.is_some()))
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn number(text: &str) -> Result<u64, SemverError> {
    if !is_digits(text) {
        return Err(SemverError::NoNumber(text.to_owned()));
    }
    if text.len() > 1 && text.starts_with('0') {
        return Err(SemverError::LeadingZero(text.to_owned()));
    }
    text.parse().map_err(|_| SemverError::TooLarge(text.to_owned()))
}

fn word(text: &str) -> Result<(), SemverError> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
        return Err(SemverError::Word(text.to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn takes(range: &str, version: Core) -> Option<bool> {
        Range::parse(range).unwrap_or_else(|error| panic!("{range}: {error}")).takes(version)
    }

    #[test]
    fn signs_compare_and_groups_are_alternatives() {
        for range in [
            ">=1.12.0",
            ">= 1.12.0",
            "> = 1.12.0",
            "1.12.4",
            "=1.12.4",
            "==1.12.4",
            "!1.0.0",
            "!= 1.0.0",
            "<2.0.0 >1.0.0",
            "<1.0.0 || >=1.12.0",
            ">=1.12.4-alpha.0",
            ">1.12.4-rc.1",
            "1.12.4+build",
            "\t>=1.0.0",
            ">=1.0.0 7",
        ] {
            assert_eq!(takes(range, [1, 12, 4]), Some(true), "{range}");
        }
        for range in
            ["<1.12.4", ">1.12.4", "!=1.12.4", "1.12.4-rc.1", ">1.0.0 <1.12.0", "<=1.12.4-rc.1", "! 1.0.0"]
        {
            assert_eq!(takes(range, [1, 12, 4]), Some(false), "{range}");
        }
    }

    #[test]
    fn wildcards_are_ranges_of_their_own() {
        for (range, first, last) in [
            ("1.12.x", [1, 12, 0], [1, 12, 9]),
            ("1.x", [1, 0, 0], [1, 99, 0]),
            ("<=1.12.x", [0, 0, 0], [1, 12, 9]),
            (">1.12.x", [1, 13, 0], [2, 0, 0]),
            (">=1.12.x", [1, 12, 0], [2, 0, 0]),
            // A surprise: the library counts three parts.
            ("1.x.x", [1, 0, 0], [1, 0, 9]),
            ("^1.12.x", [1, 12, 0], [1, 12, 0]),
        ] {
            assert_eq!((takes(range, first), takes(range, last)), (Some(true), Some(true)), "{range}");
        }
        assert_eq!(takes("1.x.x", [1, 1, 0]), Some(false));
        assert_eq!(takes("!=1.12.x", [1, 13, 0]), Some(false));
    }

    #[test]
    fn an_invalid_range_is_rejected_with_its_part() {
        for (range, part) in [
            ("^1.11", "`^`"),
            (">=1.11", "three numbers"),
            (">=v1.11.0", "`>=v`"),
            (">=1.11.0,<2.0.0", "`0,<2.0.0`"),
            (">= 01.1.0", "zero"),
            ("1.2.3-", "letters"),
            ("1.2.3-01", "zero"),
            ("latest", "no version"),
            ("1.1.0 ||", "ends"),
            ("|| 1.1.0", "begins"),
            (">", "nothing"),
            ("1.1.99999999999999999999", "too large"),
            ("1.11.0\n", "` is not a number"),
            (">1.2.3.x", "no version"),
        ] {
            let error = Range::parse(range).unwrap_err().to_string();
            assert!(error.contains(part), "{range}: {error}");
        }
    }

    #[test]
    fn an_empty_group_is_an_error_only_when_reached() {
        assert_eq!(takes("<1.0.0 || || >1.0.0", [1, 2, 0]), None);
        assert_eq!(takes(">1.0.0 || || <1.0.0", [1, 2, 0]), Some(true));
    }
}
