//! Authentication challenges of registries (RFC 9110, section 11.6.1).

use std::collections::BTreeMap;

/// An authentication challenge.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Challenge {
    /// Authenticate with user name and password.
    Basic,
    /// Authenticate with a token of the server at `realm`.
    Bearer { realm: String, service: Option<String>, scope: Option<String> },
}

impl Challenge {
    /// Parses a `www-authenticate` header.
    pub(super) fn parse(header: &str) -> Option<Self> {
        let (scheme, rest) = header.trim().split_once(' ').unwrap_or((header.trim(), ""));
        if scheme.eq_ignore_ascii_case("basic") {
            return Some(Self::Basic);
        }
        if !scheme.eq_ignore_ascii_case("bearer") {
            return None;
        }
        let mut words = parameters(rest);
        Some(Self::Bearer {
            realm: words.remove("realm")?,
            service: words.remove("service"),
            scope: words.remove("scope"),
        })
    }
}

/// Parses comma-separated `name="value"` pairs; quoted values may contain commas.
fn parameters(text: &str) -> BTreeMap<String, String> {
    let mut pairs = BTreeMap::new();
    let mut rest = text;
    while let Some((name, after)) = rest.split_once('=') {
        let (value, next) = match after.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
            None => after.split_once(',').unwrap_or((after, "")),
        };
        pairs.insert(name.trim_matches([' ', ',']).to_lowercase(), value.trim().to_owned());
        rest = next;
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn basic_and_bearer_challenges_are_parsed() {
        let text = r#"Bearer realm="https://a/token",service="r.io",scope="repository:a/b:pull,push""#;
        let bearer = Challenge::Bearer {
            realm: "https://a/token".to_owned(),
            service: Some("r.io".to_owned()),
            scope: Some("repository:a/b:pull,push".to_owned()),
        };
        assert_eq!(Challenge::parse(text), Some(bearer));
        assert_eq!(Challenge::parse("Basic realm=\"x\""), Some(Challenge::Basic));
        for unsupported in ["", "Digest realm=\"x\"", "Bearer", "Bearer service=x"] {
            assert_eq!(Challenge::parse(unsupported), None, "{unsupported}");
        }
    }
}
