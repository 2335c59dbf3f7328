//! The bundle: its contents, how it is read and written.
//!
//! [`Bundle::read`] accepts and rejects the same files as Talos, and reports every problem at once;
//! [`Bundle::write`] writes it as `talosctl gen secrets` does.
//!
//! Not here: generating a bundle, and mistakes that Talos accepts.

use std::fmt;

use serde_json::{Map, Value, json};

use super::certificate::{Certificate, CertificateError};
use super::file::{CertificateEntry, File};
use super::key::{KeyError, PrivateKey};
use super::pem::Pem;
use ichor_values::go_yaml::emit;

/// A text that does not show itself.
#[derive(Clone, PartialEq, Eq)]
pub struct Hidden(String);

impl Hidden {
    /// Hides a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// A certificate and its private key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The certificate.
    pub crt: Pem,
    /// The private key.
    pub key: Pem,
}

/// The secrets of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bundle {
    /// The id by which members of a cluster discover each other.
    pub(crate) cluster_id: Hidden,
    /// Encrypts the data that members exchange.
    pub(crate) cluster_secret: Hidden,
    /// The token with which a kubelet joins.
    pub(crate) bootstrap_token: Hidden,
    /// The key that encrypts secrets in etcd, from Talos 1.3 on.
    pub(crate) secretbox: Option<Hidden>,
    /// The earlier key.
    pub(crate) aescbc: Option<Hidden>,
    /// The token with which a machine requests a certificate.
    pub trustd_token: Hidden,
    /// The certificate authority of etcd.
    pub etcd: Pair,
    /// The certificate authority of Kubernetes.
    pub k8s: Pair,
    /// The certificate authority of the aggregation layer.
    pub aggregator: Pair,
    /// The key that signs service account tokens.
    pub service_account: Pem,
    /// The certificate authority of Talos' own API.
    pub os: Pair,
}

/// A problem for which Talos rejects a bundle.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BundleError {
    /// It is not YAML, or values are not where a bundle has them. The value is not repeated: it may be a secret.
    #[error("{}not a secrets bundle: {reason}", line.map(|line| format!("line {line}: ")).unwrap_or_default())]
    Shape {
        /// The line, counted from 1.
        line: Option<u64>,
        /// The problem.
        reason: String,
    },
    /// A required secret is missing.
    #[error("{0} is missing")]
    Missing(&'static str),
    /// There is nothing to encrypt etcd with.
    #[error(
        "secrets.secretboxencryptionsecret is missing (or secrets.aescbcencryptionsecret, before Talos 1.3)"
    )]
    NoEncryptionSecret,
    /// There are two secrets to encrypt etcd with.
    #[error(
        "secrets.secretboxencryptionsecret and secrets.aescbcencryptionsecret are both set; keep the one in use"
    )]
    TwoEncryptionSecrets,
    /// A certificate or key is not in the form of bundles.
    #[error("{0} is not base64; want the PEM text in base64")]
    NotBase64(String),
    /// A certificate or key is hidden.
    #[error("{0} is `******`: the file was made to be shown, its secrets are taken out")]
    Redacted(String),
    /// A private key is invalid.
    #[error("{0} {1}")]
    Key(String, KeyError),
    /// A certificate is invalid.
    #[error("{0} {1}")]
    Certificate(String, CertificateError),
}

/// Everything Talos refuses in a bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BundleErrors(pub Vec<BundleError>);

impl fmt::Display for BundleErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<_> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&lines.join("; "))
    }
}

impl std::error::Error for BundleErrors {}

impl TryFrom<File> for Bundle {
    type Error = BundleErrors;

    /// The bundle, or everything that keeps it from being one.
    fn try_from(file: File) -> Result<Self, BundleErrors> {
        let mut sieve = Sieve::default();
        match sieve.bundle(file) {
            Some(bundle) if sieve.problems.is_empty() => Ok(bundle),
            _ => Err(BundleErrors(sieve.problems)),
        }
    }
}

impl Bundle {
    /// Reads a bundle, or returns every problem for which Talos would reject it.
    pub fn read(text: &str) -> Result<Self, BundleErrors> {
        File::read(text)?.try_into()
    }

    /// Writes the bundle in the clear, as `talosctl` does.
    pub fn write(&self) -> String {
        let mut secrets = Map::new();
        secrets.insert("bootstraptoken".to_owned(), self.bootstrap_token.as_str().into());
        for (key, secret) in
            [("aescbcencryptionsecret", &self.aescbc), ("secretboxencryptionsecret", &self.secretbox)]
        {
            secrets.extend(secret.iter().map(|secret| (key.to_owned(), secret.as_str().into())));
        }
        let certs: Map<String, Value> = self
            .entries()
            .map(|(name, crt, key)| {
                let crt = crt.map(|crt| ("crt".to_owned(), crt.base64().into()));
                let entry = crt.into_iter().chain([("key".to_owned(), key.base64().into())]);
                (name.to_owned(), Value::Object(entry.collect()))
            })
            .into_iter()
            .collect();
        emit::emit(&json!({
            "cluster": {"id": self.cluster_id.as_str(), "secret": self.cluster_secret.as_str()},
            "secrets": secrets,
            "trustdinfo": {"token": self.trustd_token.as_str()},
            "certs": certs,
        }))
    }

    /// The certificate authorities by their names in the file, in its order.
    pub(super) fn pairs(&self) -> [(&'static str, &Pair); 4] {
        [("etcd", &self.etcd), ("k8s", &self.k8s), ("k8saggregator", &self.aggregator), ("os", &self.os)]
    }

    /// The certificates and keys by their names in the file, in its order.
    pub fn entries(&self) -> [(&'static str, Option<&Pem>, &Pem); 5] {
        [
            ("etcd", Some(&self.etcd.crt), &self.etcd.key),
            ("k8s", Some(&self.k8s.crt), &self.k8s.key),
            ("k8saggregator", Some(&self.aggregator.crt), &self.aggregator.key),
            ("k8sserviceaccount", None, &self.service_account),
            ("os", Some(&self.os.crt), &self.os.key),
        ]
    }
}

/// Takes the values that exist, and collects the missing ones.
#[derive(Default)]
pub(super) struct Sieve {
    pub(super) problems: Vec<BundleError>,
}

impl Sieve {
    fn bundle(&mut self, file: File) -> Option<Bundle> {
        let (mut id, mut secret) = (None, None);
        if let Some(cluster) = self.some("cluster", file.cluster) {
            id = self.text("cluster.id", cluster.id);
            secret = self.text("cluster.secret", cluster.secret);
        }
        let (mut bootstrap_token, mut secretbox, mut aescbc) = (None, None, None);
        if let Some(secrets) = self.some("secrets", file.secrets) {
            bootstrap_token = self.text("secrets.bootstraptoken", secrets.bootstraptoken);
            secretbox = secrets.secretboxencryptionsecret.filter(|text| !text.is_empty()).map(Hidden);
            aescbc = secrets.aescbcencryptionsecret.filter(|text| !text.is_empty()).map(Hidden);
            match (&secretbox, &aescbc) {
                (None, None) => self.problems.push(BundleError::NoEncryptionSecret),
                (Some(_), Some(_)) => self.problems.push(BundleError::TwoEncryptionSecrets),
                _ => {}
            }
        }
        let trustd = self.some("trustdinfo", file.trustdinfo);
        let trustd_token = trustd.and_then(|trustd| self.text("trustdinfo.token", trustd.token));
        let certs = self.some("certs", file.certs)?;
        let (etcd, k8s) = (self.pair("certs.etcd", certs.etcd), self.pair("certs.k8s", certs.k8s));
        let aggregator = self.pair("certs.k8saggregator", certs.k8saggregator);
        let os = self.pair("certs.os", certs.os);
        let service_account = self.some("certs.k8sserviceaccount", certs.k8sserviceaccount);
        let service_account =
            service_account.and_then(|entry| self.key("certs.k8sserviceaccount", entry.key));
        Some(Bundle {
            cluster_id: id?,
            cluster_secret: secret?,
            bootstrap_token: bootstrap_token?,
            secretbox,
            aescbc,
            trustd_token: trustd_token?,
            etcd: etcd?,
            k8s: k8s?,
            aggregator: aggregator?,
            service_account: service_account?,
            os: os?,
        })
    }

    fn some<T>(&mut self, name: &'static str, value: Option<T>) -> Option<T> {
        if value.is_none() {
            self.problems.push(BundleError::Missing(name));
        }
        value
    }

    fn text(&mut self, name: &'static str, text: Option<String>) -> Option<Hidden> {
        self.some(name, text.filter(|text| !text.is_empty())).map(Hidden)
    }

    pub(super) fn pair(&mut self, name: &'static str, entry: Option<CertificateEntry>) -> Option<Pair> {
        let entry = self.some(name, entry)?;
        let (crt, key) = (self.certificate(&format!("{name}.crt"), entry.crt), self.key(name, entry.key));
        Some(Pair { crt: crt?, key: key? })
    }

    fn certificate(&mut self, path: &str, text: Option<String>) -> Option<Pem> {
        let pem = self.pem(path, text)?;
        let read = Certificate::read(&pem).map_err(|error| BundleError::Certificate(path.to_owned(), error));
        self.keep(pem, read.err())
    }

    fn key(&mut self, name: &'static str, text: Option<String>) -> Option<Pem> {
        let path = format!("{name}.key");
        let pem = self.pem(&path, text)?;
        let read = PrivateKey::read(&pem).map_err(|error| BundleError::Key(path, error));
        self.keep(pem, read.err())
    }

    fn pem(&mut self, path: &str, text: Option<String>) -> Option<Pem> {
        let text = text.unwrap_or_default();
        if text == "******" {
            self.problems.push(BundleError::Redacted(path.to_owned()));
            return None;
        }
        let pem = Pem::from_base64(&text);
        if pem.is_none() {
            self.problems.push(BundleError::NotBase64(path.to_owned()));
        }
        pem
    }

    fn keep(&mut self, pem: Pem, problem: Option<BundleError>) -> Option<Pem> {
        let is_good = problem.is_none();
        self.problems.extend(problem);
        is_good.then_some(pem)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = include_str!("../../tests/data/secrets-check/001-ok.yaml");

    #[test]
    fn a_bundle_is_written_as_it_was_read() {
        let bundle = Bundle::read(GOOD).unwrap();

        let written = bundle.write();

        // The case was indented by two by the program that made it.
        assert_eq!(written.replace("    ", "  "), GOOD);
        assert_eq!(Bundle::read(&written).unwrap(), bundle);
    }

    #[test]
    fn all_missing_secrets_are_reported_at_once() {
        let text = "cluster: {id: a}\nsecrets: {bootstraptoken: b}\ncerts: {os: {crt: '!', key: '******'}}\n";

        let problems = Bundle::read(text).unwrap_err();

        let messages: Vec<_> = problems.0.iter().map(ToString::to_string).collect();
        assert_eq!(
            messages,
            [
                "cluster.secret is missing",
                "secrets.secretboxencryptionsecret is missing (or secrets.aescbcencryptionsecret, before Talos 1.3)",
                "trustdinfo is missing",
                "certs.etcd is missing",
                "certs.k8s is missing",
                "certs.k8saggregator is missing",
                "certs.os.crt is not base64; want the PEM text in base64",
                "certs.os.key is `******`: the file was made to be shown, its secrets are taken out",
                "certs.k8sserviceaccount is missing",
            ]
        );
    }

    #[test]
    fn a_token_of_digits_stays_text() {
        let text = GOOD.replace("z5o9y3.0cspa1wtaqs0tr73", "123456.0123456789012345");

        let bundle = Bundle::read(&text).unwrap();

        assert_eq!(bundle.bootstrap_token.as_str(), "123456.0123456789012345");
        assert!(bundle.write().contains("bootstraptoken: \"123456.0123456789012345\"\n"));
    }

    #[test]
    fn a_second_document_is_ignored() {
        assert!(Bundle::read(&format!("{GOOD}---\ncluster: 1\n")).is_ok());
    }

    #[test]
    fn a_bundle_is_redacted() {
        let shown = format!("{:?}", Bundle::read(GOOD).unwrap());

        assert!(!shown.contains("8Fc2IcXa8o"), "{shown}");
        assert!(!shown.contains("BEGIN"), "{shown}");
        let wrong = Bundle::read("cluster: hunter2\n").unwrap_err();
        assert!(!wrong.to_string().contains("hunter2"), "{wrong}");
    }
}
