//! Which images may run.

use super::required;
use crate::validate::DocumentIssues;
use crate::validate::field::Field;

/// Judges the verification of images.
pub(crate) fn verification(document: &Field<'_>, issues: &mut DocumentIssues) {
    for rule in document.get("rules").items() {
        pattern(&rule.get("image"), issues);
        verdict(&rule, issues);
        let keyless = rule.get("keyless");
        if keyless.is_set() {
            required(&keyless.get("issuer"), issues);
            let subject = keyless.get("subject");
            if subject.is_empty() && keyless.get("subjectRegex").is_empty() {
                issues.error(&subject, "the signer is missing: set subject or subjectRegex");
            }
        }
        if rule.get("publicKey").is_set() {
            required(&rule.at(["publicKey", "certificate"]), issues);
        }
    }
}

fn pattern(image: &Field<'_>, issues: &mut DocumentIssues) {
    if !required(image, issues) {
        return;
    }
    let text = image.text();
    if text.contains('@') {
        issues.warning(
            image,
            "only registry and repository are compared, never a digest: remove the part from '@' on",
        );
    }
    if text.split_once('/').is_some_and(|(_, repository)| repository.contains(':')) {
        issues.warning(
            image,
            "only registry and repository are compared, never a tag: remove the part from ':' on",
        );
    }
    if !text.contains('/') && text != "*" {
        issues.warning(
            image,
            format!("{text:?} has no registry: an image `nginx` is compared as `docker.io/nginx`"),
        );
    }
}

fn verdict(rule: &Field<'_>, issues: &mut DocumentIssues) {
    let (skip, deny) = (rule.get("skip"), rule.get("deny"));
    let (keyless, key) = (rule.get("keyless"), rule.get("publicKey"));
    let verified = keyless.is_set() || key.is_set();
    if skip.flag() && deny.flag() {
        issues.error(&deny, "an image is either let through or refused: remove skip or deny");
    }
    if (skip.flag() || deny.flag()) && verified {
        issues.error(rule, "with skip or deny nothing is verified: remove one of the two");
    }
    if !(skip.flag() || deny.flag() || verified) {
        issues.error(rule, "the rule is empty: set keyless, publicKey, skip or deny");
    }
    if keyless.is_set() && key.is_set() {
        issues.error(&key, "an image is verified in one way: remove keyless or publicKey");
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;

    #[test]
    fn an_image_rule_has_one_action() {
        check(
            "ImageVerificationConfig",
            &[
                (
                    "rules: [{image: '*', skip: true}, {image: ghcr.io/*, keyless: {issuer: a, subjectRegex: b}}]",
                    &[],
                ),
                ("rules: [{image: 'localhost:5000/a', publicKey: {certificate: x}}]", &[]),
                ("rules: [{image: a/*}]", &["!rules[0]"]),
                ("rules: [{deny: true}]", &["!rules[0].image"]),
                ("rules: [{image: a/b, skip: true, deny: true}]", &["!rules[0].deny"]),
                ("rules: [{image: a/b, skip: true, publicKey: {certificate: x}}]", &["!rules[0]"]),
                (
                    "rules: [{image: a/b, keyless: {}, publicKey: {}}]",
                    &[
                        "!rules[0].publicKey",
                        "!rules[0].keyless.issuer",
                        "!rules[0].keyless.subject",
                        "!rules[0].publicKey.certificate",
                    ],
                ),
                (
                    "rules: [{image: nginx, skip: true}, {image: 'a/b:c', skip: true}, {image: a/b@c, skip: true}]",
                    &["?rules[0].image", "?rules[1].image", "?rules[2].image"],
                ),
            ],
        );
    }
}
