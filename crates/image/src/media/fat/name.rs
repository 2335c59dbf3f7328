//! Labels, and short names, which every file has in addition to its long name.

use std::collections::BTreeSet;

use super::FatError;

/// Eight letters, and three after the dot, padded with spaces.
pub(super) type ShortName = [u8; 11];

/// A short name for each name, no two of them the same.
pub(super) fn short_names(names: &[&str]) -> Vec<ShortName> {
    let mut taken = BTreeSet::new();
    // Short names are kept; the others get free ones.
    for name in names.iter().filter(|name| is_short_name(name)) {
        taken.insert(whole_short_name(name));
    }
    names
        .iter()
        .map(
            |name| if is_short_name(name) { whole_short_name(name) } else { numbered_name(name, &mut taken) },
        )
        .collect()
}

/// Whether a name is a short one, but for small letters.
fn is_short_name(name: &str) -> bool {
    let (stem, extension) = name.split_once('.').unwrap_or((name, ""));
    let letters = name.bytes().all(|byte| byte == b'.' || is_letter(byte));
    (1..=8).contains(&stem.len()) && extension.len() <= 3 && !extension.contains('.') && letters
}

/// Whether a short name may have it.
fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'()-@^_`{}~".contains(&byte)
}

fn whole_short_name(name: &str) -> ShortName {
    let (stem, extension) = name.split_once('.').unwrap_or((name, ""));
    join_short_name(stem, extension)
}

/// A name such as `USER-D~1`.
fn numbered_name(name: &str, taken: &mut BTreeSet<ShortName>) -> ShortName {
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    let stem = short_characters(stem);
    let extension = short_characters(extension);
    for nth in 1_u32.. {
        let tail = format!("~{nth}");
        let stem = &stem[..stem.len().min(8 - tail.len())];
        let short = join_short_name(&format!("{stem}{tail}"), &extension[..extension.len().min(3)]);
        if taken.insert(short) {
            return short;
        }
    }
    unreachable!("a folder has at most 65534 records")
}

/// The characters of a name that a short name may have.
fn short_characters(part: &str) -> String {
    let kept = part.bytes().filter(|byte| !b". ".contains(byte));
    kept.map(|byte| if is_letter(byte) { char::from(byte) } else { '_' }).collect()
}

fn join_short_name(stem: &str, extension: &str) -> ShortName {
    let mut short = [b' '; 11];
    short[..stem.len()].copy_from_slice(stem.as_bytes());
    short[8..8 + extension.len()].copy_from_slice(extension.as_bytes());
    short.make_ascii_uppercase();
    short
}

/// A text that fits, with spaces up to its end.
pub(super) fn pad(text: &str) -> ShortName {
    let mut pad = [b' '; 11];
    pad[..text.len()].copy_from_slice(text.as_bytes());
    pad
}

/// A label in the letters that every firmware reads.
pub(super) fn label(label: &str) -> Result<ShortName, FatError> {
    let letter = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || b"-_ ".contains(&byte);
    let fits = (1..=11).contains(&label.len()) && label.bytes().all(letter);
    if fits { Ok(pad(label)) } else { Err(FatError::Label(label.to_owned())) }
}

/// The sum by which the parts of a long name say whose they are.
pub(super) fn sum(short: ShortName) -> u8 {
    short.iter().fold(0_u8, |sum, byte| sum.rotate_right(1).wrapping_add(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_names_are_unique() {
        let names = ["user-data", "user-date", "config.yaml", "boot.img", "BOOT", ".hidden", "a.b.c", "a+b"];

        let short = short_names(&names);

        let texts: Vec<&str> = short.iter().map(|short| str::from_utf8(short).unwrap()).collect();
        let stems = ["USER-D~1   ", "USER-D~2   ", "CONFIG~1YAM", "BOOT    IMG", "BOOT       "];
        assert_eq!(texts, [&stems[..], &["~1      HID", "AB~1    C  ", "A_B~1      "]].concat());
    }
}
