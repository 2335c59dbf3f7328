//! Manifests and static pods.

use super::super::required;
use crate::go::url;
use crate::label;
use crate::validate::DocumentIssues;
use crate::validate::field::Field;

/// Judges the name of an object.
pub fn name(document: &Field<'_>, issues: &mut DocumentIssues) {
    let name = document.get("name");
    if required(&name, issues) && !label::is_subdomain(name.text()) {
        issues
            .error(&name, format!("{:?} is not an object name: want a DNS name in lower case", name.text()));
    }
}

/// Judges a manifest that is fetched.
pub fn manifest(document: &Field<'_>, issues: &mut DocumentIssues) {
    name(document, issues);
    let field = document.get("url");
    if required(&field, issues) {
        let scheme = url::parse(field.text()).unwrap_or_default().scheme;
        if !["http", "https"].contains(&scheme.as_str()) {
            issues.error(&field, "want a URL that begins with http:// or https://");
        }
    }
}

/// Judges a static pod.
pub(crate) fn pod(document: &Field<'_>, issues: &mut DocumentIssues) {
    name(document, issues);
    required(&document.get("pod"), issues);
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::check;

    #[test]
    fn kubernetes_objects_have_names() {
        check(
            "KubeInlineManifestConfig",
            &[("name: a.b-c", &[]), ("name: A", &["!name"]), ("manifest: a", &["!name"])],
        );
        check(
            "KubeExternalManifestConfig",
            &[
                ("name: a\nurl: https://a/b.yaml", &[]),
                ("name: a\nurl: ftp://a", &["!url"]),
                ("headers: {}", &["!name", "!url"]),
            ],
        );
        check("KubeStaticPodConfig", &[("name: a\npod: {a: b}", &[]), ("pod: {}", &["!name", "!pod"])]);
    }
}
