//! The Talos releases that an extension declares compatible.

use crate::go::semver::Range;
use ichor_values::TalosVersion;

/// Why a release does not meet a constraint, and the fix.
pub(super) fn refusal(constraint: &str, talos: &TalosVersion) -> Option<(String, String)> {
    if constraint.is_empty() {
        return None;
    }
    let range = match Range::parse(&without_v(constraint)) {
        Ok(range) => range,
        Err(reason) => {
            let fix = "write versions with three numbers, such as `>= v1.12.0 < v1.15.0`, and `||` between alternatives";
            return Some((format!("not a range of versions: {reason}"), fix.to_owned()));
        }
    };
    let (major, minor) = talos.minor();
    // Talos leaves its own pre-release out of the comparison.
    match range.takes([major.into(), minor.into(), talos.patch().unwrap_or(0).into()]) {
        Some(true) => None,
        Some(false) => Some((
            format!("`{constraint}` leaves out Talos {talos}"),
            "widen the range, or check for another release with --talos".to_owned(),
        )),
        None => Some(("nothing between two `||`".to_owned(), "take one of them away".to_owned())),
    }
}

/// Talos removes every `v` before a digit.
fn without_v(constraint: &str) -> String {
    let followed = constraint.chars().skip(1).map(Some).chain([None]);
    let kept = constraint.chars().zip(followed).filter(|(c, next)| {
        let is_prefix = *c == 'v' && next.is_some_and(|next| next.is_ascii_digit());
        !is_prefix
    });
    kept.map(|(c, _)| c).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_v_before_a_digit_does_not_count() {
        assert_eq!(without_v(">= v1.11.0 < v2.0.0"), ">= 1.11.0 < 2.0.0");
        assert_eq!(without_v("vv1.0.0 v"), "v1.0.0 v");
    }

    #[test]
    fn a_pre_release_of_talos_counts_as_the_release() {
        let talos = TalosVersion::parse("v1.14.0-rc.1").unwrap();

        assert_eq!(refusal(">= v1.14.0", &talos), None);
        assert!(refusal("< v1.14.0", &talos).unwrap().0.contains("leaves out"));
        assert!(refusal("< v1.0.0 || || > v1.0.0", &talos).unwrap().0.contains("nothing between"));
    }
}
