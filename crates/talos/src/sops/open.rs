//! Reading a file: taken apart, opened, verified, and only then given out.

use serde_json::Value;

use super::mac::Mac;
use super::metadata::{Group, SopsMetadata};
use super::scalar::{self, DataKey};
use super::{KeyProvider, SopsError, shamir};
use crate::document;

/// An encrypted file, taken apart.
#[derive(Clone, Debug)]
pub struct SopsDocument {
    documents: Vec<Value>,
    metadata: SopsMetadata,
}

/// Whether a text is in this format, valid or not.
pub fn is_sealed(text: &str) -> bool {
    !matches!(SopsDocument::read(text), Err(SopsError::NotSealed | SopsError::NotYaml(_)))
}

impl SopsDocument {
    /// Takes a YAML or JSON file apart.
    pub fn read(text: &str) -> Result<Self, SopsError> {
        let mut documents = document::read(text)?;
        let sections = documents.iter_mut().filter_map(|it| it.as_object_mut()?.shift_remove("sops"));
        let sections: Vec<_> = sections.collect();
        let Some(section) = sections.first() else {
            let encrypted = documents.iter().any(holds_encrypted);
            return Err(if encrypted { SopsError::NoSection } else { SopsError::NotSealed });
        };
        let metadata = SopsMetadata::read(section)?;
        Ok(Self { documents, metadata })
    }

    /// The age recipients it is encrypted for.
    pub fn recipients(&self) -> Vec<String> {
        self.metadata.recipients()
    }

    /// Decrypts and verifies it: all documents, or nothing.
    pub fn open(&self, ring: &dyn KeyProvider) -> Result<Vec<Value>, SopsError> {
        let key = self.data_key(ring)?;
        let mac = Mac::new(self.metadata.mac_only_encrypted);
        let mut walk =
            Decryption { metadata: &self.metadata, key: &key, mac, path: Vec::new(), shown: Vec::new() };
        let opened =
            self.documents.iter().map(|document| walk.value(document)).collect::<Result<Vec<_>, _>>()?;
        let (written, moment) = (&self.metadata.mac, &self.metadata.last_modified);
        let written = scalar::open(written, &key, moment, "sops.mac").map_err(|_| SopsError::TamperedMac)?;
        if written == walk.mac.finish() { Ok(opened) } else { Err(SopsError::WrongMac) }
    }

    fn data_key(&self, ring: &dyn KeyProvider) -> Result<DataKey, SopsError> {
        let groups = &self.metadata.groups;
        if groups.iter().all(|group| group.age.is_empty()) {
            let others: Vec<_> = groups.iter().flat_map(|group| group.others.clone()).collect();
            return Err(if others.is_empty() {
                SopsError::NoRecipients
            } else {
                SopsError::NoAge(others.join(", "))
            });
        }
        let parts: Vec<_> = groups.iter().filter_map(|group| part(group, ring)).collect();
        let mut members = groups.iter().flat_map(|group| &group.age);
        if parts.len() < self.needed()
            && let Some((recipient, _)) =
                members.find(|(name, armored)| ring.open(armored).is_none() && ring.is_damaged(name, armored))
        {
            return Err(SopsError::DamagedKey(recipient.clone()));
        }
        let key = match parts.as_slice() {
            [] => return Err(SopsError::WrongKey(self.recipients())),
            [only] if groups.len() == 1 => Some(only.clone()),
            parts if parts.len() < self.needed() => {
                return Err(SopsError::TooFewGroups { needed: self.needed(), opened: parts.len() });
            }
            parts => shamir::combine(parts),
        };
        key.and_then(|key| key.try_into().ok()).ok_or(SopsError::BadDataKey)
    }

    /// How many groups are needed: of several at least two, as each has a share of the key.
    fn needed(&self) -> usize {
        if self.metadata.groups.len() == 1 { 1 } else { self.metadata.threshold.max(2) }
    }
}

/// Whether a value of this format is somewhere in a tree.
fn holds_encrypted(value: &Value) -> bool {
    match value {
        Value::Object(entries) => entries.values().any(holds_encrypted),
        Value::Array(items) => items.iter().any(holds_encrypted),
        Value::String(text) => scalar::is_encrypted(text),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn part(group: &Group, ring: &dyn KeyProvider) -> Option<Vec<u8>> {
    group.age.iter().find_map(|(_, armored)| ring.open(armored))
}

/// Visits a tree, in the order of the file.
struct Decryption<'m> {
    metadata: &'m SopsMetadata,
    key: &'m DataKey,
    mac: Mac,
    /// The keys only: list indices are not part of a value's additional data.
    path: Vec<String>,
    /// The same for people.
    shown: Vec<String>,
}

impl Decryption<'_> {
    fn value(&mut self, value: &Value) -> Result<Value, SopsError> {
        match value {
            Value::Object(entries) => {
                let entries = entries.iter().map(|(key, value)| {
                    self.path.push(key.clone());
                    self.shown.push(key.clone());
                    let value = self.value(value);
                    self.path.pop();
                    self.shown.pop();
                    Ok((key.clone(), value?))
                });
                entries.collect::<Result<_, _>>().map(Value::Object)
            }
            Value::Array(items) => {
                let items = items.iter().enumerate().map(|(nth, item)| {
                    self.shown.push(nth.to_string());
                    let item = self.value(item);
                    self.shown.pop();
                    item
                });
                items.collect::<Result<_, _>>().map(Value::Array)
            }
            Value::Null => Ok(Value::Null),
            leaf => self.leaf(leaf),
        }
    }

    fn leaf(&mut self, leaf: &Value) -> Result<Value, SopsError> {
        let looks_it = leaf.as_str().is_some_and(scalar::is_encrypted);
        let encrypted = self.metadata.rule.encrypts(&self.path, looks_it);
        let value = if encrypted { self.decrypt(leaf)? } else { leaf.clone() };
        if encrypted || !self.metadata.mac_only_encrypted {
            self.mac.add(&value);
        }
        Ok(value)
    }

    fn decrypt(&self, leaf: &Value) -> Result<Value, SopsError> {
        let shown = self.shown.join(".");
        let text = leaf.as_str().ok_or_else(|| SopsError::InTheClear(shown.clone()))?;
        scalar::open(text, self.key, &(self.path.join(":") + ":"), &shown)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::super::rule::Rule;
    use super::*;

    const KEY: DataKey = [5; 32];

    /// Opens `mine`, whatever it is, to the key.
    struct Mine(Vec<(&'static str, Vec<u8>)>);

    impl KeyProvider for Mine {
        fn open(&self, armored: &str) -> Option<Vec<u8>> {
            self.0.iter().find(|(text, _)| *text == armored).map(|(_, key)| key.clone())
        }
    }

    fn mine() -> Mine {
        Mine(vec![("mine", KEY.to_vec())])
    }

    /// A file of flat entries under a rule.
    fn file(entries: &Value, rule: (&str, &str), only_encrypted: bool, more: &Value) -> Value {
        let mut section = json!({
            rule.0: rule.1,
            "age": [{"recipient": "age1me", "enc": "mine"}],
            "lastmodified": "2026-01-01T00:00:00Z",
            "mac": "ENC[AES256_GCM,]",
            "version": "3.9.0",
        });
        section["mac_only_encrypted"] = json!(only_encrypted);
        let metadata = SopsMetadata::read(&section).unwrap();
        let mut mac = Mac::new(only_encrypted);
        let mut sealed = Map::new();
        for (key, value) in entries.as_object().unwrap() {
            let looks_it = matches!(metadata.rule, Rule::Comments) && key == "hidden";
            let encrypted = metadata.rule.encrypts(std::slice::from_ref(key), looks_it);
            if encrypted || !only_encrypted {
                mac.add(value);
            }
            let text = scalar::seal(value, &KEY, &format!("{key}:"), &[1; 32]);
            sealed.insert(key.clone(), if encrypted { Value::from(text) } else { value.clone() });
        }
        section["mac"] = json!(scalar::seal(&json!(mac.finish()), &KEY, "2026-01-01T00:00:00Z", &[2; 32]));
        section.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        sealed.insert("sops".to_owned(), section);
        Value::Object(sealed)
    }

    fn open(file: &Value, ring: &Mine) -> Result<Value, SopsError> {
        SopsDocument::read(&file.to_string())?.open(ring).map(|mut documents| documents.remove(0))
    }

    const RULES: [(&str, &str); 6] = [
        ("unencrypted_suffix", "_unencrypted"),
        ("encrypted_suffix", "hidden"),
        ("unencrypted_regex", "^plain"),
        ("encrypted_regex", "^hid"),
        ("unencrypted_comment_regex", "x"),
        ("encrypted_comment_regex", "x"),
    ];

    #[test]
    fn a_file_opens_under_each_rule() {
        let entries = json!({"hidden": "secret", "plain": 7, "plain_unencrypted": 2.5});
        for rule in RULES {
            for only_encrypted in [false, true] {
                let file = file(&entries, rule, only_encrypted, &json!({}));

                assert_eq!(open(&file, &mine()), Ok(entries.clone()), "{rule:?} {only_encrypted}");
                assert!(!file.to_string().contains("secret"), "{rule:?}");
            }
        }
    }

    #[test]
    fn a_plain_value_is_authenticated_unless_the_file_says_otherwise() {
        let entries = json!({"hidden": "secret", "plain": "old"});
        let changed = |only_encrypted| {
            let mut file = file(&entries, RULES[3], only_encrypted, &json!({}));
            file["plain"] = json!("new");
            open(&file, &mine())
        };

        assert_eq!(changed(false), Err(SopsError::WrongMac));
        assert_eq!(changed(true), Ok(json!({"hidden": "secret", "plain": "new"})));
    }

    #[test]
    fn a_plain_value_cannot_replace_an_encrypted_one() {
        for rule in RULES {
            let mut file = file(&json!({"hidden": "secret", "plain": "x"}), rule, true, &json!({}));
            file["hidden"] = json!("forged");

            assert!(open(&file, &mine()).is_err(), "{rule:?}");
        }
    }

    #[test]
    fn other_key_providers_are_ignored_beside_age_and_reported_alone() {
        let entries = json!({"hidden": "secret"});
        let pgp = json!({"pgp": [{"fp": "85D77543B3D624B63CEA9E6DBC17301B491B3F21", "enc": "…"}]});
        let mut file = file(&entries, RULES[0], false, &pgp);

        assert_eq!(open(&file, &mine()), Ok(entries));
        file["sops"]["age"] = json!([]);
        assert_eq!(open(&file, &mine()), Err(SopsError::NoAge("PGP".to_owned())));
        file["sops"]["pgp"] = json!([]);
        assert_eq!(open(&file, &mine()), Err(SopsError::NoRecipients));
    }

    #[test]
    fn encrypted_values_without_metadata_are_rejected() {
        let mut file = file(&json!({"hidden": "secret"}), RULES[0], false, &json!({}));
        file.as_object_mut().unwrap().remove("sops");

        assert_eq!(open(&file, &mine()), Err(SopsError::NoSection));
        assert!(is_sealed(&file.to_string()));
        assert!(!is_sealed("a: b\n"));
    }

    #[test]
    fn a_shared_key_needs_the_threshold_of_groups() {
        // Points at 1, 2 and 3 of a line through the key: its slope is 1 everywhere.
        let part = |place: u8| KEY.iter().map(|byte| byte ^ place).chain([place]).collect::<Vec<_>>();
        let group = |enc: &str| json!({"age": [{"recipient": format!("age1{enc}"), "enc": enc}]});
        let groups =
            json!({"key_groups": [group("a"), group("b"), group("c")], "shamir_threshold": 2, "age": null});
        let entries = json!({"hidden": "secret"});
        let file = file(&entries, RULES[0], false, &groups);

        assert_eq!(open(&file, &Mine(vec![("a", part(1)), ("c", part(3))])), Ok(entries));
        let one = open(&file, &Mine(vec![("b", part(2))]));
        assert_eq!(one, Err(SopsError::TooFewGroups { needed: 2, opened: 1 }));
        assert!(matches!(open(&file, &mine()), Err(SopsError::WrongKey(names)) if names.len() == 3));
    }

    #[test]
    fn a_second_rule_is_rejected() {
        let more = json!({"encrypted_regex": "a"});
        let file = file(&json!({"hidden": "x"}), RULES[0], false, &more);

        let message = open(&file, &mine()).unwrap_err().to_string();

        assert_eq!(message, "sops.encrypted_regex is a second rule; a file has one");
    }
}
