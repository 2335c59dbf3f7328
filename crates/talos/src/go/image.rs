//! References to container images as go-containerregistry parses them, with their optional parts.

use super::url;

/// A reference that could be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Image {
    /// By tag, which may be omitted; its target can change.
    Tag,
    /// By digest.
    Digest,
}

/// Parses a reference; none if it is invalid.
pub(crate) fn parse(text: &str) -> Option<Image> {
    if repository_of_tag(text).is_some() {
        return Some(Image::Tag);
    }
    let (base, digest) = text.split_once('@').filter(|(_, digest)| !digest.contains('@'))?;
    let hex = digest.strip_prefix("sha256:")?;
    if hex.len() != 64 || !hex.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b)) {
        return None;
    }
    let named = repository_of_tag(base).is_some() || is_repository(base);
    named.then_some(Image::Digest)
}

/// The repository before the tag, if both are valid.
fn repository_of_tag(text: &str) -> Option<&str> {
    let (base, tag) = match text.rsplit_once(':').filter(|(_, tag)| !tag.contains('/')) {
        Some((base, tag)) => (base, Some(tag)),
        None => (text, None),
    };
    let allowed = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    let fits = tag.is_none_or(|tag| (1..=128).contains(&tag.len()) && tag.chars().all(allowed));
    (fits && is_repository(base)).then_some(base)
}

fn is_repository(text: &str) -> bool {
    let (registry, repository) = match text.split_once('/') {
        Some((first, rest)) if first.contains(['.', ':']) || first == "localhost" => (first, rest),
        _ => ("", text),
    };
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-./".contains(c);
    (2..=255).contains(&repository.chars().count())
        && repository.chars().all(allowed)
        && is_registry(registry)
}

fn is_registry(text: &str) -> bool {
    text.is_empty() || url::parse(&format!("//{text}")).is_ok_and(|url| url.host == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_read_as_go_reads_them() {
        let digest = "a".repeat(64);
        let pinned = format!("ghcr.io/a/b:v1@sha256:{digest}");

        for text in ["nginx", "docker.io/nginx:1.2", "localhost:5000/a/b", "a/b:T_1", "[fd00::1]:5000/ab"] {
            assert_eq!(parse(text), Some(Image::Tag), "{text}");
        }
        assert_eq!(parse(&pinned), Some(Image::Digest));
        for text in ["", "a", "Nginx", "nginx:", "nginx:a b", "a/b@sha256:abc", "host.x:port/ab", "a b"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
