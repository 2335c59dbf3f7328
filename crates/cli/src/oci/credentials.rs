//! Names and passwords for registries, from where docker, podman and skopeo keep them, or from the helpers that they name. They are
//! never shown.

use std::env;
use std::fs;
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ichor_image::oci::Reference;
use serde_json::Value;

use super::credential_helper::{CredentialHelper, CredentialHelperError};

/// What a helper gives as the name when it keeps a token.
const TOKEN: &str = "<token>";

/// A file of passwords that cannot be used. Nothing of its text is shown: it is full of passwords.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CredentialsError {
    #[error("{} is not JSON; `skopeo login` or `docker login` writes it anew", file.display())]
    NotJson { file: PathBuf },
    #[error("cannot do what {} says", file.display())]
    Helper { file: PathBuf, source: CredentialHelperError },
}

/// What a registry, or whom it names for tokens, wants to see.
pub(super) enum Credentials {
    /// A name and a password, as they are sent.
    Password(String),
    /// A token of a person, for which tokens of a registry are given out.
    Identity(String),
}

impl Credentials {
    fn of(name: &str, password: &str) -> Self {
        Self::Password(STANDARD.encode(format!("{name}:{password}")))
    }

    /// The value of the header `authorization`; none for a token, which is sent in another way.
    pub(super) fn header(&self) -> Option<String> {
        match self {
            Self::Password(both) => Some(format!("Basic {both}")),
            Self::Identity(_) => None,
        }
    }
}

/// Where they may be, in the order they are looked for.
fn credential_files() -> Vec<PathBuf> {
    let folder = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    // Whoever names a file means that file alone.
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

/// Those for an image; nothing where there are none.
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

/// What a file has, or a helper that it names: the registry's own comes first, and the one for all last.
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

/// What a helper keeps for a registry. docker's own has another name there.
fn query_helper(name: &str, reference: &Reference) -> Result<Option<Credentials>, CredentialHelperError> {
    let helper = CredentialHelper::named(name)?;
    let other = (reference.host == DOCKER.0).then_some(DOCKER.1);
    for server in other.into_iter().chain([reference.host.as_str()]) {
        if let Some(kept) = helper.get(server)? {
            let is_token = kept.username == TOKEN;
            return Ok(Some(if is_token {
                Credentials::Identity(kept.secret)
            } else {
                Credentials::of(&kept.username, &kept.secret)
            }));
        }
    }
    Ok(None)
}

/// docker's registry, and what docker calls it where it keeps passwords.
const DOCKER: (&str, &str) = ("docker.io", "https://index.docker.io/v1/");

/// The names under which a file may have something for an image, the best first: the repository, parts of it, the registry.
fn entry_keys(reference: &Reference) -> Vec<String> {
    let whole = format!("{}/{}", reference.host, reference.repository);
    let starts = whole.match_indices('/').map(|(at, _)| &whole[..at]).chain([whole.as_str()]);
    let mut keys: Vec<String> = starts.map(str::to_owned).collect();
    keys.reverse();
    keys.push(format!("https://{}", reference.host));
    keys.push(format!("https://{}/v2/", reference.host));
    if reference.host == DOCKER.0 {
        keys.push(DOCKER.1.to_owned());
    }
    keys
}

/// The entry of a file that fits best.
fn best_entry(value: &Value, reference: &Reference) -> Option<Credentials> {
    let auths = value.get("auths")?;
    let entry = entry_keys(reference).iter().find_map(|key| auths.get(key))?;
    let text = |key: &str| entry.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    match (text("identitytoken"), text("auth"), text("username").zip(text("password"))) {
        (Some(token), ..) => Some(Credentials::Identity(token.to_owned())),
        (None, Some(auth), _) => Some(Credentials::Password(auth.to_owned())),
        (None, None, Some((name, password))) => Some(Credentials::of(name, password)),
        (None, None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_entry_that_fits_best_is_taken() {
        let value = json!({"auths": {
            "ghcr.io": {"auth": "cmVnaXN0cnk="},
            "ghcr.io/me": {"auth": "bWU="},
            "https://index.docker.io/v1/": {"username": "a", "password": "b"},
            "quay.io": {},
        }});
        let found = |text: &str| {
            let reference = Reference::parse(text).unwrap();
            best_entry(&value, &reference).and_then(|found| found.header())
        };

        assert_eq!(found("ghcr.io/me/frr:1").as_deref(), Some("Basic bWU="));
        assert_eq!(found("ghcr.io/mean/frr:1").as_deref(), Some("Basic cmVnaXN0cnk="));
        assert_eq!(found("frr").as_deref(), Some("Basic YTpi"));
        assert_eq!(found("quay.io/a/b"), None);
        assert_eq!(found("r.io/a"), None);
    }
}
