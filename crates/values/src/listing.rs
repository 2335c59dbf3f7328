//! Lists and numbers as a person reads them.

/// The first of `count` names, and how many more there are: `a, b and 3 more`.
pub fn join_names(names: &[&str], count: usize) -> String {
    let rest = count - names.len().min(count);
    match names {
        _ if rest > 0 => format!("{} and {} more", names.join(", "), thousands(rest)),
        [start @ .., last] if !start.is_empty() => format!("{} and {last}", start.join(", ")),
        _ => names.join(", "),
    }
}

/// A number with its thousands set apart: `99,997`.
pub fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let mut spelled = String::with_capacity(digits.len() + digits.len() / 3);
    for (nth, digit) in digits.chars().enumerate() {
        if nth > 0 && (digits.len() - nth).is_multiple_of(3) {
            spelled.push(',');
        }
        spelled.push(digit);
    }
    spelled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_names_are_listed_and_the_others_counted() {
        assert_eq!(join_names(&["a"], 1), "a");
        assert_eq!(join_names(&["a", "b"], 2), "a and b");
        assert_eq!(join_names(&["a", "b", "c"], 3), "a, b and c");
        assert_eq!(join_names(&["a", "b", "c"], 100_000), "a, b, c and 99,997 more");
    }

    #[test]
    fn thousands_are_separated() {
        let spelled = [0, 12, 123, 1234, 100_000, 1_234_567].map(thousands);

        assert_eq!(spelled, ["0", "12", "123", "1,234", "100,000", "1,234,567"]);
    }
}
