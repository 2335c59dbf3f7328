//! The names that ECMA-119 knows: capital letters, digits and `_`, one dot, and a version.

use std::collections::BTreeSet;

/// How long name and extension may be together (ECMA-119 10.1, level 2).
const LONGEST: usize = 30;

/// An identifier for each name, no two of them the same.
pub(super) fn identifiers(names: &[&str]) -> Vec<String> {
    let mut taken = BTreeSet::new();
    names.iter().map(|name| identifier(name, &mut taken)).collect()
}

fn identifier(name: &str, taken: &mut BTreeSet<String>) -> String {
    let (stem, extension) = split(name);
    let letters = |text: &str| -> String {
        let plain =
            |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_uppercase() } else { '_' };
        text.chars().map(plain).collect()
    };
    let mut extension = letters(extension);
    extension.truncate(LONGEST / 2);
    let mut stem = letters(stem);
    stem.truncate(LONGEST - extension.len());
    let mut chosen = format!("{stem}.{extension}");
    for nth in 1.. {
        if taken.insert(chosen.clone()) {
            break;
        }
        let number = format!("_{nth}");
        let room = LONGEST - extension.len() - number.len();
        chosen = format!("{}{number}.{extension}", &stem[..stem.len().min(room)]);
    }
    chosen + ";1"
}

/// What is before and after the last dot. A name that starts with its only dot has no extension.
pub(super) fn split(name: &str) -> (&str, &str) {
    match name.rsplit_once('.') {
        Some(("", _)) | None => (name, ""),
        Some(parts) => parts,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_plain_and_stay_different() {
        let long = "a".repeat(40);
        let names =
            ["user-data", "user_data", "config.yaml", "a.b.c", ".hidden", &long, &(long.clone() + "b")];

        let plain = identifiers(&names);

        let thirty = "A".repeat(30);
        let numbered = "A".repeat(28) + "_1";
        let expected = ["USER_DATA.", "USER_DATA_1.", "CONFIG.YAML", "A_B.C", "_HIDDEN."].map(str::to_owned);
        let expected = expected.into_iter().chain([thirty + ".", numbered + "."]);
        assert_eq!(plain, expected.map(|name| name + ";1").collect::<Vec<_>>());
    }
}
