//! Tokens that kubelets cannot join with. Talos takes any text; Kubernetes wants a form of its own.

use crate::validate::DocumentIssues;
use crate::validate::field::Field;

/// Checks `cluster.token`. It is a secret, and not repeated.
pub(crate) fn advise(cluster: &Field<'_>, issues: &mut DocumentIssues) {
    let token = cluster.get("token");
    if !token.is_empty() && !is_bootstrap_token(token.text()) {
        issues.advice(
            &token,
            "not a bootstrap token of Kubernetes: want six small letters or digits, a dot, and sixteen more",
        );
    }
}

fn is_bootstrap_token(text: &str) -> bool {
    let is_part = |part: &str, length| {
        part.len() == length && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    text.split_once('.').is_some_and(|(id, secret)| is_part(id, 6) && is_part(secret, 16))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::validate::trial::worker;

    #[test]
    fn a_bootstrap_token_has_a_form() {
        let judged = |token: &str| worker("1.13", &[("cluster.token", json!(token))]);

        assert!(judged("abc123.0123456789abcdef").is_empty());
        for wrong in
            ["hunter2", "abc123.0123456789abcde", "ABC123.0123456789abcdef", "abc123.0123456789.bcdef"]
        {
            assert_eq!(judged(wrong), ["advice cluster.token"], "{wrong}");
        }
    }
}
