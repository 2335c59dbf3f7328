//! Names and passwords for registries, from where docker, podman and skopeo keep them. They are never shown.

use std::env;
use std::fs;
use std::path::PathBuf;

use anyhow::Context as _;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ichor_core::oci::Reference;
use serde_json::Value;

/// A name and a password, as they are sent.
pub(super) struct Credentials(String);

impl Credentials {
    /// The value of the header `authorization`.
    pub(super) fn header(&self) -> String {
        format!("Basic {}", self.0)
    }
}

/// Where they may be, in the order they are looked for.
fn files() -> Vec<PathBuf> {
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
pub(super) fn find(reference: &Reference) -> anyhow::Result<Option<Credentials>> {
    for file in files() {
        let Ok(text) = fs::read(&file) else { continue };
        // Nothing of its text is shown: it is full of passwords.
        let value: Value = serde_json::from_slice(&text).ok().with_context(|| {
            format!("{} is not JSON; `skopeo login` or `docker login` writes it anew", file.display())
        })?;
        if let Some(found) = pick(&value, reference) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// The entry of a file that fits best: one for the repository, for a part of it, or for the registry.
fn pick(value: &Value, reference: &Reference) -> Option<Credentials> {
    let whole = format!("{}/{}", reference.host, reference.repository);
    let starts = whole.match_indices('/').map(|(at, _)| &whole[..at]).chain([whole.as_str()]);
    let mut keys: Vec<String> = starts.map(str::to_owned).collect();
    keys.reverse();
    keys.push(format!("https://{}", reference.host));
    keys.push(format!("https://{}/v2/", reference.host));
    if reference.host == "docker.io" {
        keys.push("https://index.docker.io/v1/".to_owned());
    }
    let auths = value.get("auths")?;
    let entry = keys.iter().find_map(|key| auths.get(key))?;
    let text = |key: &str| entry.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    match (text("auth"), text("username").zip(text("password"))) {
        (Some(auth), _) => Some(Credentials(auth.to_owned())),
        (None, Some((name, password))) => Some(Credentials(STANDARD.encode(format!("{name}:{password}")))),
        (None, None) => None,
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
            pick(&value, &reference).map(|found| found.header())
        };

        assert_eq!(found("ghcr.io/me/frr:1").as_deref(), Some("Basic bWU="));
        assert_eq!(found("ghcr.io/mean/frr:1").as_deref(), Some("Basic cmVnaXN0cnk="));
        assert_eq!(found("frr").as_deref(), Some("Basic YTpi"));
        assert_eq!(found("quay.io/a/b"), None);
        assert_eq!(found("r.io/a"), None);
    }
}
