//! Files of ichor for sops, and files of sops for ichor.

use std::fs;
use std::io::Read as _;
use std::ops::Range;
use std::path::Path;
use std::process::Command;

use age::armor::ArmoredReader;
use age::{Decryptor, Identity, x25519};
use ichor_talos::document;
use ichor_talos::sops::{EncryptedDataKey, KeyProvider, SopsDocument, seal};
use ichor_testbed::parts;
use ichor_values::Moment;
use ichor_values::go_yaml::emit::emit_all;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{RngCore as _, SeedableRng as _};
use serde_json::{Map, Value, json};
use tempfile::TempDir;

/// Two identities that are used nowhere else.
const KEYS: [&str; 2] = [
    "AGE-SECRET-KEY-12Z3AY3W4TVEEY6PM3AMVS97NLN7PPML7U24VRKDN3AVQ4YUD877SY6TYF8",
    "AGE-SECRET-KEY-1VRWNRJWWNTGXTR68UK8KYDTQCRRGLMHMVA79248S52YA3NPMXK6QV6AC4H",
];

/// What sops encrypts of a file: a rule of `.sops.yaml`.
const RULES: [&str; 7] = [
    "",
    "encrypted_regex: ^(token|a)",
    "unencrypted_regex: ^(list|b)",
    "encrypted_suffix: n",
    "unencrypted_suffix: t",
    "encrypted_regex: ^token$, mac_only_encrypted: true",
    "unencrypted_suffix: t, mac_only_encrypted: true",
];

/// An identity that opens data keys.
struct Ring(x25519::Identity);

impl Ring {
    fn new(key: usize) -> Self {
        Self(KEYS[key].parse().expect("an identity"))
    }

    fn recipient(&self) -> x25519::Recipient {
        self.0.to_public()
    }
}

impl KeyProvider for Ring {
    fn open(&self, armored: &str) -> Option<Vec<u8>> {
        let decryptor = Decryptor::new_buffered(ArmoredReader::new(armored.as_bytes())).ok()?;
        let mut plain = Vec::new();
        decryptor.decrypt([&self.0 as &dyn Identity].into_iter()).ok()?.read_to_end(&mut plain).ok()?;
        Some(plain)
    }
}

/// A folder in which sops runs.
struct Workplace(TempDir);

impl Workplace {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path().join(name), text).expect("a file");
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).expect("a file")
    }

    /// The output of sops with one of the identities.
    fn sops(&self, key: usize, args: &[&str]) -> Result<String, String> {
        let mut command = Command::new(parts::path("sops/sops"));
        command.args(args).current_dir(self.path()).env_clear();
        command.env("HOME", self.path()).env("SOPS_AGE_KEY", KEYS[key]);
        let output = command.output().expect("sops runs");
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
    }

    fn must(&self, args: &[&str]) -> String {
        self.sops(0, args).unwrap_or_else(|error| panic!("sops {args:?}: {error}"))
    }
}

fn recipients() -> String {
    [0, 1].map(|key| Ring::new(key).recipient().to_string()).join(",")
}

/// Opens a file with one of the identities.
fn open(text: &str, key: usize) -> Result<Vec<Value>, String> {
    SopsDocument::read(text)
        .and_then(|sealed| sealed.open(&Ring::new(key)))
        .map_err(|error| error.to_string())
}

/// Encrypts a document as ichor does.
fn encrypt(document: &Value, random: &mut ChaCha20Rng) -> String {
    let mut data_key = [0; 32];
    random.fill_bytes(&mut data_key);
    let sealed = [0, 1].map(|key| Ring::new(key).recipient()).map(|recipient| {
        let armored = age::encrypt_and_armor(&recipient, &data_key).expect("memory is written");
        (recipient.to_string(), armored)
    });
    let envelope = EncryptedDataKey { data_key, recipients: sealed.to_vec() };
    let now = Moment::parse("2026-01-01T00:00:00Z").expect("a time");
    seal(document.as_object().expect("a map"), &envelope, random, now).expect("an encrypted file")
}

fn below(random: &mut ChaCha20Rng, end: usize) -> usize {
    usize::try_from(random.next_u64()).expect("64 bits") % end
}

/// A random map of everything that YAML and JSON have.
fn document(random: &mut ChaCha20Rng) -> Value {
    let mut document = map(random, 0);
    // Neither ichor nor sops takes an empty map for a file.
    document.insert("token".to_owned(), json!("hunter2"));
    Value::Object(document)
}

fn map(random: &mut ChaCha20Rng, depth: usize) -> Map<String, Value> {
    let keys = [
        "a", "b", "token", "list", "x y", "a:b", "né", "1", "true", "main", "text", "#", "~", "0x1F", "a\"b",
    ];
    let count = below(random, 6);
    (0..count).map(|_| (keys[below(random, keys.len())].to_owned(), value(random, depth + 1))).collect()
}

fn value(random: &mut ChaCha20Rng, depth: usize) -> Value {
    let texts = [
        "",
        "x",
        "true",
        "0644",
        "1.0",
        "~",
        "a: b",
        " x ",
        "x\n",
        "x\ny\n",
        "\n",
        "\t",
        "é🦀",
        "ENC[AES256_GCM,data:x]",
        "2001-01-01",
        "#",
        "a\\b",
        "a\"b'c",
        "yes",
        "\u{7f}",
        "---",
        "x\r\ny",
        "-----BEGIN X-----\nYQ==\n-----END X-----\n",
    ];
    match below(random, if depth < 4 { 11 } else { 8 }) {
        0 => json!(below(random, 100_000)),
        1 => json!([-1, 0, i64::MAX][below(random, 3)]),
        2 => json!([0.5, -2.25, 1e-7, 123_456.75][below(random, 4)]),
        3 => json!(below(random, 2) == 0),
        4 => Value::Null,
        5..8 => json!(texts[below(random, texts.len())]),
        8 => Value::Array((0..below(random, 4)).map(|_| value(random, depth + 1)).collect()),
        _ => Value::Object(map(random, depth)),
    }
}

/// The random files of a test: `ICHOR_JUDGE_CASES`, from number `ICHOR_JUDGE_FIRST` on.
fn cases(count: u64) -> Range<u64> {
    let number = |name: &str| {
        let text = std::env::var(name).ok().filter(|text| !text.is_empty())?;
        Some(text.parse().unwrap_or_else(|_| panic!("{name} is not a number: {text}")))
    };
    let first = number("ICHOR_JUDGE_FIRST").unwrap_or(0);
    first..first + number("ICHOR_JUDGE_CASES").unwrap_or(count)
}

#[test]
fn random_files_of_ichor_are_decrypted_by_sops() {
    let folder = Workplace::new();
    for case in cases(60) {
        let mut random = ChaCha20Rng::seed_from_u64(case);
        let document = document(&mut random);
        let text = encrypt(&document, &mut random);
        folder.write("file.yaml", &text);

        for key in [0, 1] {
            let yaml = folder.sops(key, &["decrypt", "file.yaml"]);
            let yaml = yaml.unwrap_or_else(|error| panic!("case {case}: {error}\n{document:#}\n{text}"));
            let read = document::read(&yaml).expect("YAML");
            assert_eq!(read, std::slice::from_ref(&document), "case {case}\n{yaml}");
        }
        let json = folder.must(&["decrypt", "--output-type", "json", "file.yaml"]);
        assert_eq!(serde_json::from_str::<Value>(&json).expect("JSON"), document, "case {case}\n{json}");
    }
}

#[test]
fn random_files_of_sops_are_read_by_ichor() {
    let recipients = recipients();
    let folder = Workplace::new();
    for case in cases(60) {
        let mut random = ChaCha20Rng::seed_from_u64(1_000_000 + case);
        let is_json = below(&mut random, 2) == 0;
        let count = if is_json { 1 } else { 1 + below(&mut random, 2) };
        let documents: Vec<_> = (0..count).map(|_| document(&mut random)).collect();
        let (name, text) = if is_json {
            ("file.json", documents[0].to_string())
        } else {
            ("file.yaml", emit_all(&documents))
        };
        folder.write(name, &text);
        let rule = RULES[below(&mut random, RULES.len())];
        folder.write(".sops.yaml", &format!("creation_rules: [{{age: '{recipients}', {rule}}}]\n"));
        folder.must(&["encrypt", "--in-place", name]);
        check(&folder, name, &documents, case);

        folder.must(&["rotate", "--in-place", name]);
        check(&folder, name, &documents, case);

        // sops sets values of the first document only, no lists, and large numbers as floats.
        if let [document] = &documents[..] {
            let new = [
                json!("x\ny\n"),
                json!(""),
                json!(-1),
                json!(40_000),
                json!(0.5),
                json!(true),
                json!({"b": 7}),
            ];
            let new = new[below(&mut random, new.len())].clone();
            folder.must(&["set", name, "[\"a\"]", &new.to_string()]);
            let mut changed = document.clone();
            changed["a"] = new;
            check(&folder, name, &[changed], case);
        }
    }
}

/// Checks that ichor reads what sops decrypts, with each identity.
fn check(folder: &Workplace, name: &str, documents: &[Value], case: u64) {
    let text = folder.read(name);
    for key in [0, 1] {
        let opened =
            open(&text, key).unwrap_or_else(|error| panic!("case {case}: {error}\n{documents:#?}\n{text}"));
        assert_eq!(opened, documents, "case {case}\n{}\n{text}", folder.must(&["decrypt", name]));
    }
}

/// The type of a value is left alone: SOPS does not authenticate it.
#[test]
fn tampered_files_are_refused_by_sops_and_ichor() {
    let folder = Workplace::new();
    let mut random = ChaCha20Rng::seed_from_u64(1);
    let document =
        json!({"a": "first", "b": "second", "c": {"d": 5, "e": true}, "list": ["x", "y"], "text": "x\n"});
    let text = encrypt(&document, &mut random);
    let lines: Vec<_> = text.lines().collect();
    let encrypted = |line: &&str| line.contains("ENC[AES256_GCM,data:");
    let values: Vec<_> = (0..lines.len()).filter(|nth| encrypted(&lines[*nth])).collect();
    assert_eq!(values.len(), 8, "seven values and the MAC\n{text}");
    let mut tampered = vec![text.replace("2026-01-01", "2026-01-02"), text.replace("    a:", "    aa:")];
    for &nth in &values {
        let without = |nth: usize| [&lines[..nth], &lines[nth + 1..]].concat().join("\n");
        tampered.push(without(nth));
        let change =
            |line: String| [&lines[..nth], &[line.as_str()][..], &lines[nth + 1..]].concat().join("\n");
        for part in ["data:", "iv:", "tag:"] {
            let (before, after) = lines[nth].split_once(part).expect("a part");
            let other = if after.starts_with('A') { "B" } else { "A" };
            tampered.push(change(format!("{before}{part}{other}{}", &after[1..])));
        }
    }
    let mut swapped = lines.clone();
    swapped.swap(values[4], values[5]);
    tampered.push(swapped.join("\n"));

    folder.write("file.yaml", &text);
    assert!(folder.sops(0, &["decrypt", "file.yaml"]).is_ok() && open(&text, 0).is_ok());
    for text in tampered
        .into_iter()
        .filter(|changed| *changed != lines.join("\n") && *changed != lines.join("\n") + "\n")
    {
        folder.write("file.yaml", &text);
        let (sops, ichor) = (folder.sops(0, &["decrypt", "file.yaml"]), open(&text, 0));
        assert!(sops.is_err() && ichor.is_err(), "sops {sops:?}\nichor {ichor:?}\n{text}");
    }
}
