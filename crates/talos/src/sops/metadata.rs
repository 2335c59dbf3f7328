//! The section `sops` of a file.

use serde_json::{Map, Value};

use super::SopsError;
use super::rule::Rule;
use ichor_values::Moment;
use regex::Regex;

/// Keys beside age that SOPS knows, as people call them.
const OTHERS: [(&str, &str); 6] = [
    ("pgp", "PGP"),
    ("kms", "AWS KMS"),
    ("gcp_kms", "GCP KMS"),
    ("hckms", "Huawei KMS"),
    ("azure_kv", "Azure Key Vault"),
    ("hc_vault", "Vault"),
];
const RULES: [&str; 6] = [
    "unencrypted_suffix",
    "encrypted_suffix",
    "unencrypted_regex",
    "encrypted_regex",
    "unencrypted_comment_regex",
    "encrypted_comment_regex",
];

/// The SOPS metadata of a file.
#[derive(Clone, Debug)]
pub(super) struct SopsMetadata {
    /// The groups of recipients: one group decrypts the data key; with several, each decrypts a share.
    pub(crate) groups: Vec<Group>,
    /// How many shares are needed.
    pub(crate) threshold: usize,
    pub rule: Rule,
    pub(crate) mac_only_encrypted: bool,
    pub mac: String,
    /// Additional data of the MAC.
    pub(crate) last_modified: String,
}

/// Recipients of one and the same key.
#[derive(Clone, Debug, Default)]
pub(super) struct Group {
    /// Recipients with the armored data key.
    pub(crate) age: Vec<(String, String)>,
    /// Other key providers.
    pub(crate) others: Vec<&'static str>,
}

impl SopsMetadata {
    pub(super) fn read(section: &Value) -> Result<Self, SopsError> {
        let section = section.as_object().ok_or(SopsError::NotSealed)?;
        let several = section.get("key_groups").and_then(Value::as_array).filter(|groups| !groups.is_empty());
        let groups = match several {
            Some(groups) => groups.iter().map(group).collect::<Result<Vec<_>, _>>()?,
            None => vec![members(section)?],
        };
        let threshold = section.get("shamir_threshold").and_then(Value::as_u64).unwrap_or(0);
        let threshold = usize::try_from(threshold).ok().filter(|it| *it > 0).unwrap_or(groups.len());
        Ok(Self {
            groups,
            threshold,
            rule: rule(section)?,
            mac_only_encrypted: section.get("mac_only_encrypted").is_some_and(|flag| *flag == true),
            mac: text(section, "mac")?.to_owned(),
            last_modified: last_modified(section)?,
        })
    }

    /// All age recipients.
    pub(super) fn recipients(&self) -> Vec<String> {
        self.groups.iter().flat_map(|group| &group.age).map(|(recipient, _)| recipient.clone()).collect()
    }
}

fn group(value: &Value) -> Result<Group, SopsError> {
    let members_of = value.as_object().map(members);
    members_of.unwrap_or_else(|| Err(wrong("key_groups", "does not hold groups of keys")))
}

fn members(section: &Map<String, Value>) -> Result<Group, SopsError> {
    let list = |key: &str| section.get(key).and_then(Value::as_array).into_iter().flatten();
    let others = OTHERS.iter().filter(|(key, _)| list(key).next().is_some()).map(|(_, name)| *name).collect();
    let age = list("age").map(|entry| {
        let field = |key| entry.get(key).and_then(Value::as_str).map(str::to_owned);
        let both = field("recipient").zip(field("enc"));
        both.ok_or_else(|| wrong("age", "holds an entry without `recipient` and `enc`"))
    });
    Ok(Group { age: age.collect::<Result<_, _>>()?, others })
}

fn rule(section: &Map<String, Value>) -> Result<Rule, SopsError> {
    let set = RULES.iter().filter_map(|key| Some((*key, section.get(*key)?.as_str()?)));
    let set: Vec<_> = set.filter(|(_, text)| !text.is_empty()).collect();
    let (key, text) = match set.as_slice() {
        [] => return Ok(Rule::default()),
        [one] => *one,
        [_, (second, _), ..] => return Err(wrong(second, "is a second rule; a file has one")),
    };
    let regex = || Regex::new(text).map_err(|_| wrong(key, "is not a regular expression"));
    Ok(match key {
        "unencrypted_suffix" => Rule::UnencryptedSuffix(text.to_owned()),
        "encrypted_suffix" => Rule::EncryptedSuffix(text.to_owned()),
        "unencrypted_regex" => Rule::UnencryptedRegex(regex()?),
        "encrypted_regex" => Rule::EncryptedRegex(regex()?),
        _ => Rule::Comments,
    })
}

fn last_modified(section: &Map<String, Value>) -> Result<String, SopsError> {
    let text = text(section, "lastmodified")?;
    Moment::parse(text)
        .ok_or_else(|| wrong("lastmodified", "is not a moment such as 2026-01-31T12:00:00Z"))?;
    Ok(text.to_owned())
}

fn text<'s>(section: &'s Map<String, Value>, key: &'static str) -> Result<&'s str, SopsError> {
    let text = section.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    text.ok_or_else(|| wrong(key, "is missing"))
}

fn wrong(key: &'static str, reason: &str) -> SopsError {
    SopsError::Metadata { key, reason: reason.to_owned() }
}
