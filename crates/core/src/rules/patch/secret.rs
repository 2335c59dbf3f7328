//! Secrets that are written out: in patches, those named as encrypted too, in schematics and on the kernel command line.
//!
//! Findings name the key and never the value.

use serde_json::Value;

use crate::cluster::value::Either;
use crate::rules::{Context, Found, Rule, Severity, rung};
use crate::sops;
use crate::talos::document;

pub(super) const RULES: &[Rule] = &[SECRET_IN_PATCH, PATCH_NOT_ENCRYPTED];

const SECRET_IN_PATCH: Rule = Rule {
    id: "secret-in-patch",
    severity: Severity::Error,
    summary: "a secret is written out in a patch",
    story: "The Tailscale key went into a patch \"for now\", and the folder into a public repository. Keys in a history are \
            found by machines within minutes, and every node that ever had it must be given a new one.",
    fix: "encrypt the patch with SOPS and name it as `{sops: FILE}`, or use the key of the cluster file that takes a \
          reference, such as `overlay.tailscale.key`",
    look: secret_in_patch,
};

const PATCH_NOT_ENCRYPTED: Rule = Rule {
    id: "patch-not-encrypted",
    severity: Severity::Error,
    summary: "a patch that is named as encrypted is in the clear",
    story: "Somebody decrypts the patch in place to change a key, and commits it so. The cluster file still says \
            `{sops: …}`, which every reader takes for a promise, and nobody looks inside again.",
    fix: "encrypt it in place with `sops encrypt -i FILE`, and give new values to secrets that were written out; a patch \
          without secrets is named as FILE alone",
    look: patch_not_encrypted,
};

fn patch_not_encrypted(context: &Context<'_>, found: &mut Found) {
    for step in rung::all(context.cluster) {
        for (nth, patch) in step.rung.patches.items().enumerate() {
            let Either::Record(source) = &patch.value else { continue };
            let Some(file) = source.sops.at() else { continue };
            let text = context.attachments.texts.get(file.value.as_str());
            if matches!(text, Some(Ok(text)) if !sops::is_sealed(text)) {
                let key = step.path(&format!("patches[{nth}].sops"));
                found.at(key, file.place, format!("{} is not in the SOPS format", file.value));
            }
        }
    }
}

fn secret_in_patch(context: &Context<'_>, found: &mut Found) {
    for patch in context.attachments.patches.iter() {
        for key in patch.documents().iter().flat_map(secrets) {
            found.at(&patch.key, patch.place, patch.says(format!("{key} is a secret, and written out")));
        }
    }
}

/// How names of secrets end, in lower case and without dashes.
const ENDINGS: [&str; 10] = [
    "password",
    "passwd",
    "token",
    "secret",
    "authkey",
    "privatekey",
    "presharedkey",
    "apikey",
    "secretkey",
    "accesskey",
];

/// The maps whose `key` is a private key.
const KEY_PAIRS: [&str; 5] = ["ca", "aggregatorCA", "serviceAccount", "issuingCA", "clientIdentity"];

/// The keys under which a document holds a secret.
fn secrets(document: &Value) -> Vec<String> {
    let mut keys = Vec::new();
    let start = document::kind(document).unwrap_or_default().to_owned();
    walk(document, &start, "", &mut keys);
    keys
}

fn walk(value: &Value, path: &str, last: &str, keys: &mut Vec<String>) {
    match value {
        Value::Object(map) if document::deletes(map) => {}
        Value::Object(map) => {
            for (key, value) in map {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                let named = is_secret_name(key)
                    || key == "auth" && value.is_string()
                    || key == "key" && KEY_PAIRS.contains(&last);
                match value {
                    Value::String(text) if named && is_literal(text) => keys.push(path),
                    Value::Number(_) if named => keys.push(path),
                    _ => walk(value, &path, key, keys),
                }
            }
        }
        Value::Array(items) => {
            for (nth, item) in items.iter().enumerate() {
                walk(item, &format!("{path}[{nth}]"), last, keys);
            }
        }
        Value::String(text) if holds_secret(text) => keys.push(path.to_owned()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn is_secret_name(name: &str) -> bool {
    let plain: String = name.chars().filter(|c| !matches!(c, '-' | '_')).collect();
    let plain = plain.to_ascii_lowercase();
    ENDINGS.iter().any(|ending| plain.ends_with(ending))
}

/// Whether a text is the secret itself: not empty, redacted, encrypted or left to be filled in.
fn is_literal(text: &str) -> bool {
    let text = text.trim();
    !text.is_empty()
        && !text.chars().all(|c| c == '*')
        && !["ENC[", "${", "{{", "<"].iter().any(|start| text.starts_with(start))
}

/// Whether a text gives a secret away, whatever key it stands under.
fn holds_secret(text: &str) -> bool {
    text.contains("PRIVATE KEY-----")
        || text.contains("tskey-")
        || is_encoded_key(text)
        || text.lines().any(|line| line.trim() == "kind: Secret")
        || text.lines().any(|line| line.trim().split_once('=').is_some_and(is_assignment))
}

/// `TS_AUTHKEY=…`, as a line of an environment.
fn is_assignment((name, value): (&str, &str)) -> bool {
    let is_variable = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_';
    name.bytes().all(is_variable) && is_secret_name(name) && is_literal(value)
}

/// A PEM in base64 that is neither a certificate nor a public key.
fn is_encoded_key(text: &str) -> bool {
    let rest = text.trim().strip_prefix("LS0tLS1CRUdJTi");
    rest.is_some_and(|rest| !rest.starts_with("BDRVJUSUZJQ0FURS") && !rest.starts_with("BQVUJMSUMg"))
}

/// The keys under which a schematic, which anybody can read, holds a secret.
pub(in crate::rules) fn published(schematic: &Value) -> Vec<String> {
    let mut keys = Vec::new();
    let embedded = document::at(schematic, "/customization/embeddedMachineConfiguration");
    if embedded.and_then(Value::as_str).is_some_and(config_holds_secret) {
        keys.push("customization.embeddedMachineConfiguration".to_owned());
    }
    for (nth, meta) in document::items(schematic, "/customization/meta") {
        if document::at(meta, "/value").and_then(Value::as_str).is_some_and(config_holds_secret) {
            keys.push(format!("customization.meta[{nth}].value"));
        }
    }
    for arg in document::texts(schematic, "/customization/extraKernelArgs") {
        keys.extend(in_kernel_arg(arg).map(|name| format!("customization.extraKernelArgs: {name}")));
    }
    keys
}

fn config_holds_secret(text: &str) -> bool {
    let inside = |documents: Vec<Value>| documents.iter().any(|document| !secrets(document).is_empty());
    holds_secret(text) || document::read(text).is_ok_and(inside)
}

/// The name of a kernel argument that gives a secret away.
pub(in crate::rules) fn in_kernel_arg(arg: &str) -> Option<&str> {
    let (name, value) = arg.split_once('=')?;
    let secret = match name {
        "talos.config.inline" | "talos.config.early" | "talos.config.oauth.client_secret" => true,
        "talos.environment" => value.split_once('=').is_some_and(is_assignment),
        "siderolink.api" | "talos.config" => {
            let query = value.split_once('?').map_or("", |(_, query)| query);
            let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            pairs.any(|(key, value)| is_secret_name(key) && is_literal(value))
        }
        _ => is_secret_name(name) && is_literal(value),
    };
    (secret || value.contains("tskey-") || names_password(value)).then_some(name)
}

/// `https://user:password@host/`, which is a secret in any argument.
fn names_password(value: &str) -> bool {
    let Some((_, rest)) = value.split_once("://") else { return false };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let user = authority.rsplit_once('@').map(|(user, _)| user);
    user.and_then(|user| user.split_once(':')).is_some_and(|(_, password)| is_literal(password))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        document::read(text).unwrap().iter().flat_map(secrets).collect()
    }

    #[test]
    fn secrets_are_found_by_key_and_by_what_they_look_like() {
        let text = "machine: {token: abcdef.0123456789abcdef, ca: {crt: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0t, key: LS0tLS1C}, \
                    registries: {config: {ghcr.io: {auth: {username: x, password: 12345}}}}}\n---\n{apiVersion: v1alpha1, \
                    kind: ExtensionServiceConfig, name: tailscale, environment: [TS_AUTHKEY=abc, TS_ROUTES=10.0.0.0/8]}";

        let want = [
            "machine.token",
            "machine.ca.key",
            "machine.registries.config.ghcr.io.auth.password",
            "ExtensionServiceConfig.environment[0]",
        ];
        assert_eq!(found(text), want);
    }

    #[test]
    fn what_is_no_secret_is_left_alone() {
        let text = "machine: {token: '', ca: {key: '******'}, env: {TS_AUTHKEY: '${TS_AUTHKEY}'}, kubelet: {extraConfig: \
                    {automountServiceAccountToken: true}}, files: [{content: 'A=b', path: /var/x}]}\ncluster: {secret: \
                    {$patch: delete}, ca: {crt: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0t}}";

        assert_eq!(found(text), Vec::<String>::new());
    }

    #[test]
    fn kernel_arguments_give_secrets_away() {
        for arg in [
            "talos.environment=TS_AUTHKEY=tskey-1",
            "siderolink.api=https://omni.sol/?jointoken=abc",
            "talos.config=https://boot.sol/config?token=abc",
            "talos.config.inline=KLUv",
            "talos.config=https://u:pw@boot.sol/",
            "tailscale.key=tskey-auth-1",
            "ts.authkey=abc",
            "ipmi_password=abc",
        ] {
            assert!(in_kernel_arg(arg).is_some(), "{arg}");
        }
        for arg in [
            "talos.config=https://boot.sol/config?uuid=${uuid}",
            "talos.config=https://u@boot.sol:8080/a:b@c",
            "console=ttyS0",
            "quiet",
        ] {
            assert_eq!(in_kernel_arg(arg), None, "{arg}");
        }
    }
}
