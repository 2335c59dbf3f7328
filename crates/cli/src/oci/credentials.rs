//! Credentials of registries, from the files of docker, podman and skopeo and from the credential helpers these files
//! name. They are never shown.

use std::env;
use std::fs;
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ichor_image::oci::Reference;
use serde_json::Value;

use super::credential_helper::{CredentialHelper, CredentialHelperError};

/// User name that a helper returns with an identity token.
const TOKEN: &str = "<token>";

/// Errors of reading a credentials file. Messages contain no text of the file.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CredentialsError {
    #[error("{} is not JSON; run `skopeo login` or `docker login` to write it again", file.display())]
    NotJson { file: PathBuf },
    #[error("cannot use the credential helper of {}", file.display())]
    Helper { file: PathBuf, source: CredentialHelperError },
}

/// Credentials for a registry or its token server.
pub(super) enum Credentials {
    /// User name and password, encoded for basic authentication.
    Password(String),
    /// An identity token, which is exchanged for registry tokens.
    Identity(String),
}

impl Credentials {
    fn from_password(name: &str, password: &str) -> Self {
        Self::Password(STANDARD.encode(format!("{name}:{password}")))
    }

    /// The `authorization` header; none for an identity token, which is sent in the request body.
    pub(super) fn header(&self) -> Option<String> {
        match self {
            Self::Password(encoded) => Some(format!("Basic {encoded}")),
            Self::Identity(_) => None,
        }
    }
}

/// Credentials files in the order of their precedence.
fn credential_files() -> Vec<PathBuf> {
    let folder = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    // A file set explicitly replaces all others.
    if let Some(file) = folder("REGISTRY_AUTH_FILE") {
        return vec![file];
    }
    let docker = folder("DOCKER_CONFIG").or_else(|| Some(folder("HOME")?.join(".docker")));
    [
        folder("XDG_RUNTIME_DIR").map(|it| it.join("containers/auth.json")),
        folder("XDG_CONFIG_HOME")
            .or_else(|| Some(folder("HOME")?.join(".config")))
            .map(|it| it.join("containers/auth.json")),
        docker.map(|it| it.join("config.json")),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Finds the credentials for an image, if any.
pub(super) fn find(reference: &Reference) -> Result<Option<Credentials>, CredentialsError> {
    for file in credential_files() {
        let Ok(text) = fs::read(&file) else { continue };
        let Ok(value) = serde_json::from_slice::<Value>(&text) else {
            return Err(CredentialsError::NotJson { file });
        };
        match find_in_file(&value, reference) {
            Ok(None) => {}
            Ok(found) => return Ok(found),
            Err(source) => return Err(CredentialsError::Helper { file, source }),
        }
    }
    Ok(None)
}

/// Finds credentials in a file: the helper of the registry first, then the file's entries, then the default helper.
fn find_in_file(value: &Value, reference: &Reference) -> Result<Option<Credentials>, CredentialHelperError> {
    let helpers = value.get("credHelpers");
    let own = entry_keys(reference).iter().find_map(|key| helpers?.get(key)?.as_str());
    if let Some(found) = own.map(|name| query_helper(name, reference)).transpose()?.flatten() {
        return Ok(Some(found));
    }
    if let Some(found) = best_entry(value, reference) {
        return Ok(Some(found));
    }
    let store = value.get("credsStore").and_then(Value::as_str).filter(|name| !name.is_empty());
    Ok(store.map(|name| query_helper(name, reference)).transpose()?.flatten())
}

/// Queries a helper for a registry. Helpers store Docker Hub under another name.
fn query_helper(name: &str, reference: &Reference) -> Result<Option<Credentials>, CredentialHelperError> {
    let helper = CredentialHelper::named(name)?;
    let other = (reference.host == DOCKER.0).then_some(DOCKER.1);
    for server in other.into_iter().chain([reference.host.as_str()]) {
        if let Some(stored) = helper.get(server)? {
            let is_token = stored.username == TOKEN;
            return Ok(Some(if is_token {
                Credentials::Identity(stored.secret)
            } else {
                Credentials::from_password(&stored.username, &stored.secret)
            }));
        }
    }
    Ok(None)
}

/// Docker Hub, and its name in docker's credentials.
const DOCKER: (&str, &str) = ("docker.io", "https://index.docker.io/v1/");

/// Keys of a file that match an image, the most specific first: the repository, its prefixes, the registry.
fn entry_keys(reference: &Reference) -> Vec<String> {
    let full = format!("{}/{}", reference.host, reference.repository);
    let prefixes = full.match_indices('/').map(|(at, _)| &full[..at]).chain([full.as_str()]);
    let mut keys: Vec<String> = prefixes.map(str::to_owned).collect();
    keys.reverse();
    keys.push(format!("https://{}", reference.host));
    keys.push(format!("https://{}/v2/", reference.host));
    if reference.host == DOCKER.0 {
        keys.push(DOCKER.1.to_owned());
    }
    keys
}

/// The most specific entry of a file for an image.
fn best_entry(value: &Value, reference: &Reference) -> Option<Credentials> {
    let auths = value.get("auths")?;
    let entry = entry_keys(reference).iter().find_map(|key| auths.get(key))?;
    let text = |key: &str| entry.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    match (text("identitytoken"), text("auth"), text("username").zip(text("password"))) {
        (Some(token), ..) => Some(Credentials::Identity(token.to_owned())),
        (None, Some(auth), _) => Some(Credentials::Password(auth.to_owned())),
        (None, None, Some((name, password))) => Some(Credentials::from_password(name, password)),
        (None, None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_most_specific_entry_is_used() {
        let value = json!({"auths": {
            "ghcr.io": {"auth": "cmVnaXN0cnk="},
            "ghcr.io/me": {"auth": "bWU="},
            "https://index.docker.io/v1/": {"username": "a", "password": "b"},
            "quay.io": {},
        }});
        let header = |text: &str| {
            let reference = Reference::parse(text).unwrap();
            best_entry(&value, &reference).and_then(|entry| entry.header())
        };

        assert_eq!(header("ghcr.io/me/frr:1").as_deref(), Some("Basic bWU="));
        assert_eq!(header("ghcr.io/mean/frr:1").as_deref(), Some("Basic cmVnaXN0cnk="));
        assert_eq!(header("frr").as_deref(), Some("Basic YTpi"));
        assert_eq!(header("quay.io/a/b"), None);
        assert_eq!(header("r.io/a"), None);
    }
}
