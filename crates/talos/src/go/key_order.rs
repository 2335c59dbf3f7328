//! The order of the keys of a map in Go's YAML.

use std::cmp::Ordering;

/// The order go-yaml writes the keys of a map in: numbers inside them count as numbers, and letters come last.
pub(crate) fn compare(one: &str, other: &str) -> Ordering {
    let (a, b): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let Some(at) = a.iter().zip(&b).position(|(x, y)| x != y) else { return a.len().cmp(&b.len()) };
    let after_digit = at > 0 && a[at - 1].is_ascii_digit();
    match (a[at].is_alphabetic(), b[at].is_alphabetic()) {
        (true, true) => return a[at].cmp(&b[at]),
        (true, false) => return if after_digit { Ordering::Less } else { Ordering::Greater },
        (false, true) => return if after_digit { Ordering::Greater } else { Ordering::Less },
        (false, false) => {}
    }
    let digits_before = a[..at].iter().rev().take_while(|c| c.is_ascii_digit());
    let zero = a[at] == '0' || b[at] == '0';
    let start = u128::from(zero && digits_before.into_iter().any(|c| *c != '0'));
    let number = |text: &[char]| {
        let digits: Vec<u32> = text[at..].iter().map_while(|c| c.to_digit(10)).collect();
        let number =
            digits.iter().fold(start, |sum, digit| sum.saturating_mul(10).saturating_add((*digit).into()));
        (number, digits.len())
    };
    number(&a).cmp(&number(&b)).then(a[at].cmp(&b[at]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_sorted_as_go_sorts_them() {
        let mut keys = ["b10", "", "b9", "a", "B", "_", "net.b", "net.a", "a1b", "a1_"];

        keys.sort_by(|one, other| compare(one, other));

        assert_eq!(keys, ["", "_", "B", "a", "a1b", "a1_", "b9", "b10", "net.a", "net.b"]);
    }
}
