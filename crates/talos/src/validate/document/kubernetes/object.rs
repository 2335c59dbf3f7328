//! Manifests and static pods.

use super::super::required;
use crate::go::url;
use crate::label;
use crate::validate::Flaws;
use crate::validate::field::Field;

/// Judges the name of an object.
pub fn name(document: &Field<'_>, flaws: &mut Flaws) {
    let name = document.get("name");
    if required(&name, flaws) && !label::is_subdomain(name.text()) {
        flaws.error(
            &name,
            format!("{:?} is no name of an object: want a DNS name in lower case", name.text()),
        );
    }
}

/// Judges a manifest that is fetched.
pub fn manifest(document: &Field<'_>, flaws: &mut Flaws) {
    name(document, flaws);
    let field = document.get("url");
    if required(&field, flaws) {
        let scheme = url::parse(field.text()).unwrap_or_default().scheme;
        if !["http", "https"].contains(&scheme.as_str()) {
            flaws.error(&field, "want a URL that begins with http:// or https://");
        }
    }
}

/// Judges a static pod.
pub fn pod(document: &Field<'_>, flaws: &mut Flaws) {
    name(document, flaws);
    required(&document.get("pod"), flaws);
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::check;

    #[test]
    fn objects_have_names() {
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
