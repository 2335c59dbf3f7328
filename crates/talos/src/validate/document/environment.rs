//! Settings that are names and values: environment variables, kernel parameters.

use crate::validate::DocumentIssues;
use crate::validate::field::Field;

/// Judges environment variables.
pub(crate) fn variables(document: &Field<'_>, issues: &mut DocumentIssues) {
    for (name, field) in document.get("variables").entries() {
        let inside = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        if !inside || name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
            issues.error(&field, format!("{name:?} is not a variable name: want letters, digits and '_'"));
        }
    }
}

/// Judges kernel parameters.
pub fn parameters(document: &Field<'_>, issues: &mut DocumentIssues) {
    for (_, field) in document.get("params").entries().filter(|(name, _)| name.is_empty()) {
        issues.error(&field, "a parameter needs a name");
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;

    #[test]
    fn environment_and_parameter_names_are_checked() {
        check(
            "EnvironmentConfig",
            &[
                ("variables: {HTTP_PROXY: a, _x1: b}", &[]),
                ("variables: {1a: a, a-b: b}", &["!variables.1a", "!variables.a-b"]),
            ],
        );
        for kind in ["SysctlConfig", "SysfsConfig"] {
            check(kind, &[("params: {net.x: '1'}", &[]), ("params: {'': '1'}", &["!params."])]);
        }
    }
}
