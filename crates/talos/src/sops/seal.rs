//! Writing a file: every value encrypted, then the MAC, then the section `sops`.

use rand_core::CryptoRngCore;
use serde_json::{Map, Value, json};

use super::SopsError;
use super::mac::Mac;
use super::rule::DEFAULT_SUFFIX;
use super::scalar::{self, DataKey};
use super::write::write;
use ichor_values::Moment;

/// The release of SOPS whose format this is; its readers ask for one.
const VERSION: &str = "3.9.0";

/// A data key, and its encrypted form for each recipient.
#[derive(Clone)]
pub struct EncryptedDataKey {
    /// The key, drawn by the caller that encrypted it for the recipients.
    pub data_key: DataKey,
    /// Recipients, each with the data key as an armored age file.
    pub recipients: Vec<(String, String)>,
}

/// Encrypts a map as a YAML file; every value but empty texts.
pub fn seal(
    document: &Map<String, Value>,
    envelope: &EncryptedDataKey,
    rng: &mut impl CryptoRngCore,
    now: Moment,
) -> Result<String, SopsError> {
    let mut walk = Encryption { key: &envelope.data_key, mac: Mac::new(false), path: Vec::new(), rng };
    let mut sealed = walk.map(document)?;
    let mac = walk.mac.finish();
    let mut nonce = [0; 32];
    rng.fill_bytes(&mut nonce);
    let moment = now.to_string();
    let mac = scalar::seal(&Value::from(mac), &envelope.data_key, &moment, &nonce);
    sealed.insert("sops".to_owned(), section(envelope, &moment, &mac));
    Ok(write(&sealed))
}

/// The SOPS metadata of the file.
fn section(envelope: &EncryptedDataKey, moment: &str, mac: &str) -> Value {
    let age = envelope.recipients.iter().map(|(recipient, enc)| json!({"recipient": recipient, "enc": enc}));
    json!({
        "age": age.collect::<Vec<_>>(),
        "lastmodified": moment,
        "mac": mac,
        "unencrypted_suffix": DEFAULT_SUFFIX,
        "version": VERSION,
    })
}

/// Visits a tree, in its order.
struct Encryption<'w, R> {
    key: &'w DataKey,
    mac: Mac,
    path: Vec<String>,
    rng: &'w mut R,
}

impl<R: CryptoRngCore> Encryption<'_, R> {
    fn map(&mut self, entries: &Map<String, Value>) -> Result<Map<String, Value>, SopsError> {
        let entries = entries.iter().map(|(key, value)| {
            if key.ends_with(DEFAULT_SUFFIX) || (self.path.is_empty() && key == "sops") {
                return Err(SopsError::Reserved(key.clone()));
            }
            self.path.push(key.clone());
            let value = self.value(value);
            self.path.pop();
            Ok((key.clone(), value?))
        });
        entries.collect()
    }

    fn value(&mut self, value: &Value) -> Result<Value, SopsError> {
        match value {
            Value::Object(entries) => self.map(entries).map(Value::Object),
            Value::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            Value::Null => Ok(Value::Null),
            leaf => Ok(self.leaf(leaf)),
        }
    }

    fn leaf(&mut self, leaf: &Value) -> Value {
        self.mac.add(leaf);
        let mut nonce = [0; 32];
        self.rng.fill_bytes(&mut nonce);
        Value::from(scalar::seal(leaf, self.key, &(self.path.join(":") + ":"), &nonce))
    }
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha20Rng;
    use rand_core::SeedableRng as _;

    use super::super::{KeyProvider, SopsDocument};
    use super::*;

    /// Decrypts only the key of one recipient.
    struct FixedKey(&'static str, DataKey);

    impl KeyProvider for FixedKey {
        fn open(&self, armored: &str) -> Option<Vec<u8>> {
            (armored == self.0).then(|| self.1.to_vec())
        }
    }

    const MINE: FixedKey = FixedKey("sealed\nfor me\n", [9; 32]);

    fn sealed(document: &Value) -> String {
        let recipients = vec![("age1me".to_owned(), MINE.0.to_owned())];
        let envelope = EncryptedDataKey { data_key: MINE.1, recipients };
        let now = Moment::parse("2026-01-01T00:00:00Z").unwrap();
        seal(document.as_object().unwrap(), &envelope, &mut ChaCha20Rng::seed_from_u64(1), now).unwrap()
    }

    fn document() -> Value {
        json!({
            "a": {"text": "uncovered", "empty": "", "lines": "x\ny\n", "odd key: #": "z"},
            "list": [1, -2.5, true, null, [], {}, {"deep": ["x"]}],
            "none": null,
        })
    }

    #[test]
    fn an_encrypted_file_decrypts_to_its_contents() {
        let text = sealed(&document());

        assert_eq!(SopsDocument::read(&text).unwrap().open(&MINE), Ok(vec![document()]));
        assert!(!text.contains("uncovered"), "{text}");
    }

    #[test]
    fn the_same_file_as_json_opens_too() {
        let yaml = sealed(&document());
        let json = crate::document::read(&yaml).unwrap()[0].to_string();

        assert_eq!(SopsDocument::read(&json).unwrap().open(&MINE), Ok(vec![document()]));
    }

    #[test]
    fn a_wrong_key_and_a_tampered_file_are_distinguished() {
        let text = sealed(&document());
        let open = |text: &str, ring: &FixedKey| {
            SopsDocument::read(text).and_then(|sealed| sealed.open(ring)).unwrap_err()
        };

        assert_eq!(
            open(&text, &FixedKey("another", [9; 32])),
            SopsError::WrongKey(vec!["age1me".to_owned()])
        );
        assert_eq!(open(&text, &FixedKey(MINE.0, [8; 32])), SopsError::Tampered("a.text".to_owned()));
        let moved = text.replace("    text:", "    test:");
        assert_eq!(open(&moved, &MINE), SopsError::Tampered("a.test".to_owned()));
        let later = text.replace("2026-01-01", "2026-01-02");
        assert_eq!(open(&later, &MINE), SopsError::TamperedMac);
        let clear = text.replace("    empty: \"\"", "    empty: \"hello\"");
        assert_eq!(open(&clear, &MINE), SopsError::InTheClear("a.empty".to_owned()));
    }

    #[test]
    fn a_removed_value_is_detected() {
        let text = sealed(&document());
        let gone: Vec<_> = text.lines().filter(|line| !line.starts_with("    lines:")).collect();

        let opened = SopsDocument::read(&gone.join("\n")).unwrap().open(&MINE);

        assert_eq!(opened, Err(SopsError::WrongMac));
    }

    #[test]
    fn missing_sops_metadata_is_named() {
        let text = sealed(&document());
        let without = |key: &str| {
            let left: Vec<_> = text.lines().filter(|line| !line.trim_start().starts_with(key)).collect();
            SopsDocument::read(&left.join("\n"))
                .and_then(|sealed| sealed.open(&MINE))
                .unwrap_err()
                .to_string()
        };

        assert_eq!(without("mac:"), "sops.mac is missing");
        assert_eq!(without("lastmodified:"), "sops.lastmodified is missing");
        assert_eq!(SopsDocument::read("a: b\n").unwrap_err(), SopsError::NotSealed);
    }

    #[test]
    fn keys_reserved_by_sops_are_rejected() {
        let now = Moment::parse("2026-01-01T00:00:00Z").unwrap();
        for document in [json!({"sops": 1}), json!({"a": {"b_unencrypted": 1}})] {
            let envelope = EncryptedDataKey { data_key: [0; 32], recipients: Vec::new() };
            let refused =
                seal(document.as_object().unwrap(), &envelope, &mut ChaCha20Rng::seed_from_u64(1), now)
                    .unwrap_err();
            assert!(matches!(refused, SopsError::Reserved(_)), "{refused}");
        }
    }
}
