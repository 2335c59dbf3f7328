//! Settings of extension services.

use super::required;
use crate::validate::DocumentIssues;
use crate::validate::field::Field;

/// Judges them.
pub(crate) fn validate(document: &Field<'_>, issues: &mut DocumentIssues) {
    required(&document.get("name"), issues);
    let files = document.get("configFiles");
    if files.is_empty() && document.get("environment").is_empty() {
        issues.error(&files, "this gives the service nothing: set configFiles or environment");
    }
    for file in files.items() {
        required(&file.get("content"), issues);
        required(&file.get("mountPath"), issues);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;

    #[test]
    fn an_extension_service_has_files_or_environment() {
        check(
            "ExtensionServiceConfig",
            &[
                ("name: a\nconfigFiles: [{content: a, mountPath: /a}]", &[]),
                ("name: a\nenvironment: [anything]", &[]),
                ("name: a", &["!configFiles"]),
                (
                    "configFiles: [{content: a}, {mountPath: /a}]",
                    &["!name", "!configFiles[0].mountPath", "!configFiles[1].content"],
                ),
            ],
        );
    }
}
