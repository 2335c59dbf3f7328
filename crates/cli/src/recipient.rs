//! Age recipients of encrypted files.

use std::env;
use std::path::{Path, PathBuf};
use std::str::FromStr as _;

use age::x25519;
use ichor_core::cluster::Files as _;
use ichor_talos::document;
use ichor_talos::sops::EncryptedDataKey;
use rand_core::{OsRng, RngCore as _};
use regex::Regex;
use serde_json::Value;

use crate::disk::DiskFiles;

/// Errors of choosing recipients.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RecipientError {
    #[error(
        "{from}: `{text}` is not an age recipient; want a public key of 62 characters that begins with age1, which \
        `age-keygen -y FILE` prints for a key file (ssh keys are not supported)"
    )]
    NotRecipient { from: String, text: String },
    #[error(
        "no age recipient: set one with --age, `secrets_for` in the cluster file, SOPS_AGE_RECIPIENTS \
        or .sops.yaml, or write the file unencrypted with --plain; `age-keygen -y FILE` prints the recipient of a key file"
    )]
    Missing,
    #[error("cannot use {}: {reason}", path.display())]
    Rules { path: PathBuf, reason: String },
}

/// Unsupported rules of `.sops.yaml`.
#[derive(Debug, thiserror::Error)]
enum RuleError {
    #[error("`{0}` is not a regular expression")]
    Pattern(String),
    #[error("the rule for {0} has several key groups, but ichor supports one; use --age")]
    Groups(String),
    #[error("the rule for {path} names `{other}`, but ichor supports only age; use --age")]
    Other { path: String, other: &'static str },
}

/// Key types besides age in a rule or a key group.
const OTHERS: [&str; 8] =
    ["pgp", "kms", "gcp_kms", "hckms", "azure_keyvault", "hc_vault_transit_uri", "hc_vault", "merge"];

/// Age recipients as text.
#[derive(Debug)]
pub(crate) struct Recipients(Vec<String>);

impl Recipients {
    /// The recipients of the command line, else of the cluster file, the environment, or the nearest `.sops.yaml` above `file`.
    pub(crate) fn choose(args: &[String], cluster: &[String], file: &Path) -> Result<Self, RecipientError> {
        let env = env::var("SOPS_AGE_RECIPIENTS").unwrap_or_default();
        let env: Vec<_> = split(&env);
        for (from, named) in [("--age", args), ("secrets_for", cluster), ("SOPS_AGE_RECIPIENTS", &env)] {
            if !named.is_empty() {
                return Self::check(from, named);
            }
        }
        let (path, named) = rules_above(file)?.ok_or(RecipientError::Missing)?;
        Self::check(&path.display().to_string(), &named)
    }

    /// Parses the recipients of an existing file.
    pub(crate) fn check(from: &str, named: &[String]) -> Result<Self, RecipientError> {
        for text in named {
            parse(text)
                .ok_or_else(|| RecipientError::NotRecipient { from: from.to_owned(), text: text.clone() })?;
        }
        if named.is_empty() { Err(RecipientError::Missing) } else { Ok(Self(named.to_vec())) }
    }

    /// Creates a data key encrypted for each recipient.
    pub(crate) fn envelope(&self) -> EncryptedDataKey {
        let mut data_key = [0; 32];
        OsRng.fill_bytes(&mut data_key);
        let sealed = self.0.iter().map(|text| {
            let recipient = parse(text).expect("checked when it was chosen");
            let armored =
                age::encrypt_and_armor(&recipient, &data_key).expect("writing to memory does not fail");
            (text.clone(), armored)
        });
        EncryptedDataKey { recipients: sealed.collect(), data_key }
    }

    pub(crate) fn names(&self) -> &[String] {
        &self.0
    }
}

fn parse(text: &str) -> Option<x25519::Recipient> {
    x25519::Recipient::from_str(text).ok()
}

fn split(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// Recipients for a file in the nearest `.sops.yaml`.
fn rules_above(file: &Path) -> Result<Option<(PathBuf, Vec<String>)>, RecipientError> {
    let Ok(file) = std::path::absolute(file) else { return Ok(None) };
    let Some(path) =
        file.ancestors().skip(1).map(|folder| folder.join(".sops.yaml")).find(|path| path.is_file())
    else {
        return Ok(None);
    };
    let wrong = |reason: &str| RecipientError::Rules { path: path.clone(), reason: reason.to_owned() };
    let name = path.to_str().ok_or_else(|| wrong("the file name is not UTF-8"))?;
    let bytes = DiskFiles.read(name).map_err(|error| wrong(&error.to_string()))?;
    let text = String::from_utf8(bytes).map_err(|_| wrong("the file is not UTF-8 text"))?;
    let documents = document::read(&text).map_err(|error| wrong(&error.to_string()))?;
    let folder = path.parent().unwrap_or(Path::new("/"));
    let relative = file.strip_prefix(folder).unwrap_or(&file).to_string_lossy().into_owned();
    let named = documents.first().map(|rules| recipients_for(rules, &relative));
    let named = named.transpose().map_err(|error| wrong(&error.to_string()))?.unwrap_or_default();
    if named.is_empty() {
        return Err(wrong(&format!("no rule in creation_rules has an age recipient for {relative}")));
    }
    Ok(Some((path, named)))
}

/// Age recipients of the first rule for a path. A rule with other key types is an error: holders of those keys
/// could not read the file.
fn recipients_for(rules: &Value, path: &str) -> Result<Vec<String>, RuleError> {
    for (_, rule) in document::items(rules, "/creation_rules") {
        if let Some(pattern) = rule.get("path_regex").and_then(Value::as_str) {
            let regex = Regex::new(pattern).map_err(|_| RuleError::Pattern(pattern.to_owned()))?;
            if !regex.is_match(path) {
                continue;
            }
        }
        // With key groups, SOPS ignores the keys next to them.
        let keys = match rule.get("key_groups").and_then(Value::as_array).map(Vec::as_slice) {
            None | Some([]) => rule,
            Some([group]) => group,
            Some(_) => {
                return Err(RuleError::Groups(path.to_owned()));
            }
        };
        let is_empty = |value: &Value| value.is_null() || value.as_array().is_some_and(Vec::is_empty);
        if let Some(other) = OTHERS.iter().find(|key| keys.get(**key).is_some_and(|value| !is_empty(value))) {
            return Err(RuleError::Other { path: path.to_owned(), other });
        }
        return Ok(match keys.get("age") {
            Some(Value::String(text)) => split(text),
            Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).flat_map(split).collect(),
            _ => Vec::new(),
        });
    }
    Ok(Vec::new())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_single_key_group_of_age_recipients_is_supported() {
        let named = |groups: Value| {
            recipients_for(&json!({"creation_rules": [{"key_groups": groups}]}), "secrets.sops.yaml")
        };

        assert_eq!(named(json!([{"age": ["age1a", "age1b"], "pgp": []}])).unwrap(), ["age1a", "age1b"]);
        assert!(
            named(json!([{"age": ["age1a"], "pgp": ["85D7"]}]))
                .unwrap_err()
                .to_string()
                .contains("names `pgp`")
        );
        let two = named(json!([{"age": ["age1a"]}, {"age": ["age1b"]}]));
        assert!(two.unwrap_err().to_string().contains("several key groups"));
    }
}
