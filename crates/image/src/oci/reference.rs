//! The name of an image in a registry.

use std::fmt;

use super::digest::Digest;

/// The registry that names without one are in.
const HUB: &str = "docker.io";

/// The longest name that registries take.
const LONGEST: usize = 255;

/// An image in a registry: `HOST[:PORT]/NAME[:TAG][@DIGEST]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The registry, with its port.
    pub host: String,
    /// The repository in it.
    pub repository: String,
    /// The tag. [default: `latest`]
    pub tag: Option<String>,
    /// The image it has to be.
    pub digest: Option<Digest>,
}

/// A text that names no image.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not an image reference: {reason}; want one such as ghcr.io/me/frr:10.5.1")]
pub struct ReferenceError {
    text: String,
    reason: &'static str,
}

impl Reference {
    /// Reads a reference. As everywhere, a name without a registry is in Docker's.
    pub fn parse(text: &str) -> Result<Self, ReferenceError> {
        let wrong = |reason| ReferenceError { text: text.escape_debug().to_string(), reason };
        if text.contains("://") {
            return Err(wrong("a reference has no scheme"));
        }
        let (rest, digest) = match text.split_once('@') {
            None => (text, None),
            Some((rest, digest)) => {
                let digest = Digest::parse(digest)
                    .ok_or_else(|| wrong("the text after `@` is not a SHA-256 digest"))?;
                (rest, Some(digest))
            }
        };
        let is_host = |word: &str| word.contains(['.', ':']) || word == "localhost" || word.starts_with('[');
        let (host, path) = match rest.split_once('/') {
            Some((host, path)) if is_host(host) => (host, path.to_owned()),
            Some(_) => (HUB, rest.to_owned()),
            None => (HUB, format!("library/{rest}")),
        };
        let (repository, tag) = match path.rsplit_once(':') {
            Some((repository, tag)) => (repository.to_owned(), Some(tag.to_owned())),
            None => (path, None),
        };
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        let is_host_byte = |byte: u8| byte.is_ascii_alphanumeric() || b".-:[]".contains(&byte);
        if host.is_empty() || !host.bytes().all(is_host_byte) {
            return Err(wrong("the registry is not a hostname"));
        }
        let is_part = |part: &str| {
            let edges = [part.bytes().next(), part.bytes().next_back()];
            edges
                .iter()
                .all(|edge| edge.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit()))
                && part.bytes().all(|byte| is_word(byte) && !byte.is_ascii_uppercase())
        };
        if repository.len() > LONGEST || !repository.split('/').all(is_part) {
            return Err(wrong("the repository has characters other than a to z, 0 to 9, `.`, `_` and `-`"));
        }
        let is_tag = |tag: &String| {
            (1..=128).contains(&tag.len()) && tag.bytes().all(is_word) && !tag.starts_with(['.', '-'])
        };
        if tag.as_ref().is_some_and(|tag| !is_tag(tag)) {
            return Err(wrong("the tag has invalid characters"));
        }
        let tag = tag.or_else(|| digest.is_none().then(|| "latest".to_owned()));
        Ok(Self { host: host.to_owned(), repository, tag, digest })
    }

    /// The host name of the registry's server: Docker Hub's differs from its name.
    pub fn server(&self) -> &str {
        if self.host == HUB { "registry-1.docker.io" } else { &self.host }
    }

    /// Whether the registry is on this machine, where traffic cannot be intercepted.
    pub fn is_loopback(&self) -> bool {
        let name = match self.host.strip_prefix('[') {
            Some(rest) => rest.split(']').next().unwrap_or_default(),
            None => self.host.split(':').next().unwrap_or_default(),
        };
        name == "localhost" || name.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback())
    }

    /// The version to request: the digest if there is one, else the tag.
    pub fn version(&self) -> String {
        match (&self.digest, &self.tag) {
            (Some(digest), _) => digest.to_string(),
            (None, Some(tag)) => tag.clone(),
            (None, None) => "latest".to_owned(),
        }
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.host, self.repository)?;
        self.tag.iter().try_for_each(|tag| write!(f, ":{tag}"))?;
        self.digest.iter().try_for_each(|digest| write!(f, "@{digest}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_default_to_docker_hub_and_latest() {
        for (text, whole) in [
            ("quay.io/frrouting/frr:10.5.1", "quay.io/frrouting/frr:10.5.1"),
            ("frr", "docker.io/library/frr:latest"),
            ("frrouting/frr:9", "docker.io/frrouting/frr:9"),
            ("localhost/a", "localhost/a:latest"),
            ("[::1]:5000/a:1", "[::1]:5000/a:1"),
            ("127.0.0.1:5000/a/b_c:v1.0-rc.1", "127.0.0.1:5000/a/b_c:v1.0-rc.1"),
        ] {
            assert_eq!(Reference::parse(text).unwrap().to_string(), whole);
        }
        let pinned = format!("ghcr.io/me/frr@{}", Digest::of_bytes(b""));
        let reference = Reference::parse(&pinned).unwrap();
        assert_eq!((reference.to_string(), reference.version()), (pinned, Digest::of_bytes(b"").to_string()));
    }

    #[test]
    fn invalid_references_are_rejected() {
        for text in [
            "",
            "https://ghcr.io/a",
            "ghcr.io/",
            "ghcr.io/A",
            "ghcr.io/a:",
            "ghcr.io/a:b/c",
            "ghcr.io/../a",
            "ghcr.io/a@sha256:12",
            "me:hunter2@ghcr.io/a",
            "gh cr.io/a",
        ] {
            assert!(Reference::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn loopback_registries_are_detected() {
        for (text, is_loopback) in [
            ("localhost:5000/a", true),
            ("127.0.0.9:1/a", true),
            ("[::1]:5000/a", true),
            ("10.0.0.1:1/a", false),
        ] {
            assert_eq!(Reference::parse(text).unwrap().is_loopback(), is_loopback, "{text}");
        }
    }
}
