//! Secrets in configurations: their places, and configurations without them.
//!
//! A secret is detected by its key, as in Talos' own types, or by its form. [`paths`] returns the places and never
//! the value, [`redact`] is for output, and [`in_kernel_arg`] and [`in_url`] do the same for command lines and addresses.

use serde_json::Value;

use super::document;

/// The endings of secrets' names, in lower case and without dashes.
const ENDINGS: [&str; 11] = [
    "password",
    "passphrase",
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

/// The keys whose texts are files.
const FILES: [&str; 2] = ["content", "contents"];

/// The replacement of a secret, as in Talos' own output.
const REDACTED: &str = "******";

/// The keys under which a document holds a secret.
pub fn paths(document: &Value) -> Vec<String> {
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
                if is_under_its_name(value, key, last) {
                    keys.push(path);
                } else {
                    walk(value, &path, key, keys);
                }
            }
        }
        Value::Array(items) => {
            for (nth, item) in items.iter().enumerate() {
                walk(item, &format!("{path}[{nth}]"), last, keys);
            }
        }
        Value::String(text) if in_text(text) => keys.push(path.to_owned()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Whether a value is a secret by its key, inside of the map `last`.
fn is_under_its_name(value: &Value, key: &str, last: &str) -> bool {
    let named = is_secret_name(key)
        || key == "auth" && value.is_string()
        || key == "key" && KEY_PAIRS.contains(&last);
    match value {
        Value::String(text) => named && is_literal(text),
        Value::Number(_) => named,
        _ => false,
    }
}

/// The document with every secret redacted, and every file in it: a file may contain anything.
pub fn redact(document: &Value) -> Value {
    let mut redacted = document.clone();
    redact_in_place(&mut redacted, "");
    redacted
}

fn redact_in_place(value: &mut Value, last: &str) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                if is_under_its_name(value, key, last) || FILES.contains(&key.as_str()) && value.is_string() {
                    *value = REDACTED.into();
                } else {
                    redact_in_place(value, key);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| redact_in_place(item, last)),
        Value::String(text) if in_text(text) || in_url(text) => *value = REDACTED.into(),
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

/// Whether a text contains a secret, whatever its key.
pub(crate) fn in_text(text: &str) -> bool {
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

/// Whether a text contains a secret: as plain text, or in documents.
pub(crate) fn in_config(text: &str) -> bool {
    let inside = |documents: Vec<Value>| documents.iter().any(|document| !paths(document).is_empty());
    in_text(text) || document::read(text).is_ok_and(inside)
}

/// The name of a kernel argument that gives a secret away.
pub fn in_kernel_arg(arg: &str) -> Option<&str> {
    let (name, value) = arg.split_once('=')?;
    let secret = match name {
        "talos.config.inline" | "talos.config.early" | "talos.config.oauth.client_secret" => true,
        "talos.environment" => value.split_once('=').is_some_and(is_assignment),
        "siderolink.api" | "talos.config" => in_query(value),
        _ => is_secret_name(name) && is_literal(value),
    };
    (secret || value.contains("tskey-") || names_password(value)).then_some(name)
}

/// Whether a URL gives a secret away, by its query or by a password before its host.
pub fn in_url(text: &str) -> bool {
    in_query(text) || names_password(text)
}

fn in_query(url: &str) -> bool {
    let query = url.split_once('?').map_or("", |(_, query)| query);
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.any(|(key, value)| is_secret_name(key) && is_literal(value))
}

/// `https://user:password@host/`, which is a secret in any argument.
fn names_password(value: &str) -> bool {
    let Some((_, rest)) = value.split_once("://") else { return false };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let user = authority.rsplit_once('@').map(|(user, _)| user);
    user.and_then(|user| user.split_once(':')).is_some_and(|(_, password)| is_literal(password))
}

/// The keys under which a schematic contains a secret: the input of a factory is public.
pub fn in_schematic(schematic: &Value) -> Vec<String> {
    let mut keys = Vec::new();
    let embedded = document::value_at(schematic, "/customization/embeddedMachineConfiguration");
    if embedded.and_then(Value::as_str).is_some_and(in_config) {
        keys.push("customization.embeddedMachineConfiguration".to_owned());
    }
    for (nth, meta) in document::items(schematic, "/customization/meta") {
        if document::value_at(meta, "/value").and_then(Value::as_str).is_some_and(in_config) {
            keys.push(format!("customization.meta[{nth}].value"));
        }
    }
    for arg in document::texts(schematic, "/customization/extraKernelArgs") {
        keys.extend(in_kernel_arg(arg).map(|name| format!("customization.extraKernelArgs: {name}")));
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        document::read(text).unwrap().iter().flat_map(paths).collect()
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
    fn values_without_secrets_are_kept() {
        let text = "machine: {token: '', ca: {key: '******'}, env: {TS_AUTHKEY: '${TS_AUTHKEY}'}, kubelet: {extraConfig: \
                    {automountServiceAccountToken: true}}, files: [{content: 'A=b', path: /var/x}]}\ncluster: {secret: \
                    {$patch: delete}, ca: {crt: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0t}}";

        assert_eq!(found(text), Vec::<String>::new());
    }

    #[test]
    fn secrets_in_kernel_arguments_are_found() {
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

    #[test]
    fn secrets_are_redacted_and_the_rest_is_kept() {
        let text = "machine: {type: worker, token: abcdef.0123456789abcdef, ca: {crt: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0t, key: a}, \
                    files: [{path: /var/x, content: 'a: b'}], systemDiskEncryption: {state: {keys: [{static: {passphrase: b}}]}}}\n---\n\
                    {apiVersion: v1alpha1, kind: SideroLinkConfig, apiUrl: 'https://omni.sol/?jointoken=c', other: 'http://u:p@h/'}";

        let shown: Vec<Value> = document::read(text).unwrap().iter().map(redact).collect();

        let machine = &shown[0]["machine"];
        for pointer in
            ["/token", "/ca/key", "/files/0/content", "/systemDiskEncryption/state/keys/0/static/passphrase"]
        {
            assert_eq!(machine.pointer(pointer).unwrap(), REDACTED, "{pointer}");
        }
        assert_eq!((&machine["type"], &machine["files"][0]["path"]), (&"worker".into(), &"/var/x".into()));
        assert_eq!(machine["ca"]["crt"], "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0t");
        assert_eq!((&shown[1]["apiUrl"], &shown[1]["other"]), (&REDACTED.into(), &REDACTED.into()));
    }
}
