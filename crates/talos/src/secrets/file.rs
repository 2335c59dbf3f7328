//! A file of secrets, before validation.
//!
//! Read as Talos reads it: any scalar is text, an empty value is the same as a missing key, and unknown keys are
//! ignored.
//!
//! Not here: required keys and validation ([`Bundle`](super::Bundle)).

use super::bundle::{BundleError, BundleErrors};
use crate::schema_reader::SchemaReader;
use ichor_values::go_yaml::reader as yaml;
use ichor_values::go_yaml::reader::YamlNode;
use ichor_values::go_yaml::scalar::Leniency;

/// A bundle.
#[derive(Default)]
pub(super) struct File {
    pub(super) cluster: Option<Cluster>,
    pub(super) secrets: Option<Secrets>,
    pub(super) trustdinfo: Option<Trustd>,
    pub(super) certs: Option<Certs>,
}

#[derive(Default)]
pub(super) struct Cluster {
    pub(super) id: Option<String>,
    pub(super) secret: Option<String>,
}

#[derive(Default)]
pub(super) struct Secrets {
    pub(super) bootstraptoken: Option<String>,
    pub(super) secretboxencryptionsecret: Option<String>,
    pub(super) aescbcencryptionsecret: Option<String>,
}

#[derive(Default)]
pub(super) struct Trustd {
    pub(super) token: Option<String>,
}

#[derive(Default)]
pub(super) struct Certs {
    pub(super) etcd: Option<CertificateEntry>,
    pub(super) k8s: Option<CertificateEntry>,
    pub(super) k8saggregator: Option<CertificateEntry>,
    pub(super) k8sserviceaccount: Option<CertificateEntry>,
    pub(super) os: Option<CertificateEntry>,
}

/// A certificate and its key, each in base64.
#[derive(Default)]
pub(super) struct CertificateEntry {
    pub(super) crt: Option<String>,
    pub(super) key: Option<String>,
}

impl File {
    /// Reads a bundle.
    pub(super) fn read(text: &str) -> Result<Self, BundleErrors> {
        read(text, |root, typed| File {
            cluster: root.section(typed, "cluster").map(|cluster| Cluster {
                id: cluster.text(typed, "id"),
                secret: cluster.text(typed, "secret"),
            }),
            secrets: root.section(typed, "secrets").map(|secrets| Secrets {
                bootstraptoken: secrets.text(typed, "bootstraptoken"),
                secretboxencryptionsecret: secrets.text(typed, "secretboxencryptionsecret"),
                aescbcencryptionsecret: secrets.text(typed, "aescbcencryptionsecret"),
            }),
            trustdinfo: root
                .section(typed, "trustdinfo")
                .map(|trustd| Trustd { token: trustd.text(typed, "token") }),
            certs: root.section(typed, "certs").map(|certs| Certs {
                etcd: certs.entry(typed, "etcd"),
                k8s: certs.entry(typed, "k8s"),
                k8saggregator: certs.entry(typed, "k8saggregator"),
                k8sserviceaccount: certs.entry(typed, "k8sserviceaccount"),
                os: certs.entry(typed, "os"),
            }),
        })
    }
}

impl CertificateEntry {
    /// Reads the administrator's file, which has one key.
    pub(super) fn read_admin(text: &str) -> Result<Option<Self>, BundleErrors> {
        read(text, |root, typed| root.entry(typed, "admin"))
    }
}

/// Reads the first document, the only one that Talos reads.
fn read<T>(text: &str, take: impl FnOnce(&Section, &mut SchemaReader) -> T) -> Result<T, BundleErrors> {
    let shape =
        |line: u32, reason: String| BundleError::Shape { line: (line > 0).then_some(line.into()), reason };
    let root = yaml::first(text)
        .map_err(|error| BundleErrors(vec![shape(error.line, error.reason)]))?
        .ok_or_else(|| BundleErrors(vec![shape(0, "the file is empty".to_owned())]))?;
    // Any release may have written the file, and may read it.
    let mut typed = SchemaReader::new(Leniency::FULL);
    let root = Section::from_node(&mut typed, &root, String::new());
    let taken = take(&root.unwrap_or_default(), &mut typed);
    typed
        .finish(taken)
        .map_err(|faults| BundleErrors(faults.into_iter().map(|it| shape(it.line, it.reason)).collect()))
}

/// A map of the file, with the keys that lead to it.
#[derive(Default)]
struct Section<'n> {
    path: String,
    entries: Vec<(String, &'n YamlNode)>,
}

impl<'n> Section<'n> {
    fn from_node(typed: &mut SchemaReader, node: &'n YamlNode, path: String) -> Option<Self> {
        let entries = typed.entries(node, &path)?;
        Some(Section { path, entries })
    }

    fn get(&self, key: &str) -> Option<(&'n YamlNode, String)> {
        let (_, node) = self.entries.iter().find(|(name, _)| name == key)?;
        Some((node, if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }))
    }

    fn section(&self, typed: &mut SchemaReader, key: &str) -> Option<Section<'n>> {
        let (node, path) = self.get(key)?;
        Section::from_node(typed, node, path)
    }

    fn text(&self, typed: &mut SchemaReader, key: &str) -> Option<String> {
        let (node, path) = self.get(key)?;
        typed.text(node, &path)
    }

    fn entry(&self, typed: &mut SchemaReader, key: &str) -> Option<CertificateEntry> {
        let entry = self.section(typed, key)?;
        Some(CertificateEntry { crt: entry.text(typed, "crt"), key: entry.text(typed, "key") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_are_text_and_unknown_keys_are_ignored() {
        let file =
            File::read("cluster: {id: 007, secret: 2001-01-01, x: {a: 1, a: 2}}\nsecrets: ~\n").unwrap();

        let cluster = file.cluster.unwrap();
        assert_eq!((cluster.id.as_deref(), cluster.secret.as_deref()), (Some("007"), Some("2001-01-01")));
        assert!(file.secrets.is_none() && file.certs.is_none());
    }

    #[test]
    fn every_misplaced_key_is_named() {
        let Err(problems) = File::read("cluster: hunter2\nsecrets: {bootstraptoken: [hunter2]}\n") else {
            panic!("it was read");
        };

        let message = problems.to_string();
        assert!(
            message.contains("line 1: not a secrets bundle: `cluster` takes a map, not a word"),
            "{message}"
        );
        assert!(
            message.contains("line 2: not a secrets bundle: `secrets.bootstraptoken` takes text"),
            "{message}"
        );
        assert!(!message.contains("hunter2"), "{message}");
    }
}
