//! Settings of the container runtime.

use crate::label;
use crate::validate::DocumentIssues;
use crate::validate::field::Field;

/// The name of the customisation that `machine.files` sets.
const RESERVED: &str = "customization";

/// Judges a piece of containerd's settings.
pub(crate) fn customization(document: &Field<'_>, issues: &mut DocumentIssues) {
    let name = document.get("name");
    if let Err(error) = label::name(name.text()) {
        issues.error(&name, error.to_string());
    }
    if name.text() == RESERVED {
        issues.error(&name, format!("{RESERVED:?} is Talos' own: choose another name"));
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;

    #[test]
    fn a_cri_customization_has_a_free_name() {
        check(
            "CRICustomizationConfig",
            &[
                ("name: a.b_c", &[]),
                ("name: customization", &["!name"]),
                ("name: a b", &["!name"]),
                ("content: a", &["!name"]),
            ],
        );
        check(
            "CRIBaseRuntimeSpecConfig",
            &[
                ("overrides: {process: {noNewPrivileges: true}}", &[]),
                ("overrides: {process: {noNewPrivileges: 1}}", &["!overrides.process.noNewPrivileges"]),
            ],
        );
    }
}
