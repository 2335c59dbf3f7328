//! A bundle from the configuration of a control plane.
//!
//! The configuration has everything in a bundle: in the fields of one document until Talos 1.13, in documents of their own from
//! 1.14 on. [`from_config`] reads either, and reports every missing secret.

use serde_json::Value;

use super::bundle::{Bundle, BundleErrors};
use super::file::{CertificateEntry, Certs, Cluster, File, Secrets, Trustd};
use super::pem::Pem;
use crate::document;
use ichor_values::go_yaml::reader::SyntaxError;

/// Why a configuration yields no bundle.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// It is not YAML.
    #[error("not a machine configuration")]
    NotYaml(#[from] SyntaxError),
    /// It has no document with `machine` and `cluster`.
    #[error("not a machine configuration: it has no document with `machine` and `cluster`")]
    NotConfig,
    /// It is that of a worker.
    #[error("the configuration of a worker: only a control plane's holds all secrets")]
    Worker,
    /// Secrets are missing or invalid.
    #[error("the configuration does not hold a whole bundle")]
    Incomplete(#[source] BundleErrors),
}

/// Takes the bundle out of a control plane's configuration.
pub fn from_config(text: &str) -> Result<Bundle, ImportError> {
    let documents = document::read(text)?;
    let main = documents.iter().find(|it| document::kind(it).is_none() && document::is_machine_config(it));
    let main = main.ok_or(ImportError::NotConfig)?;
    let machine = document::value_at(main, "/machine/type").and_then(Value::as_str).unwrap_or("worker");
    if !["controlplane", "init"].contains(&machine) {
        return Err(ImportError::Worker);
    }
    SecretSource { main, documents: &documents }.file().try_into().map_err(ImportError::Incomplete)
}

/// A configuration, as the source of secrets.
struct SecretSource<'d> {
    main: &'d Value,
    documents: &'d [Value],
}

impl SecretSource<'_> {
    /// Its secrets in the form of a bundle. Where old field and new document both exist, Talos decides which counts.
    fn file(&self) -> File {
        let identity = |key| self.secret_at("DiscoveryIdentityConfig", key);
        let cluster = Cluster {
            id: self.field("/cluster/id").or_else(|| identity("/clusterID")),
            secret: self.field("/cluster/secret").or_else(|| identity("/clusterSecret")),
        };
        let secrets = Secrets {
            bootstraptoken: self.field("/cluster/token"),
            secretboxencryptionsecret: self
                .secretbox()
                .or_else(|| self.field("/cluster/secretboxEncryptionSecret")),
            aescbcencryptionsecret: self.field("/cluster/aescbcEncryptionSecret"),
        };
        let certs = Certs {
            etcd: self.old_pair("/cluster/etcd/ca"),
            k8s: self.pair("KubeAPIServerCAConfig").or_else(|| self.old_pair("/cluster/ca")),
            k8saggregator: self
                .pair("KubeAggregatorCAConfig")
                .or_else(|| self.old_pair("/cluster/aggregatorCA")),
            k8sserviceaccount: self.service_account().or_else(|| self.old_pair("/cluster/serviceAccount")),
            os: self.old_pair("/machine/ca"),
        };
        let trustd = Trustd { token: self.field("/machine/token") };
        File { cluster: Some(cluster), secrets: Some(secrets), trustdinfo: Some(trustd), certs: Some(certs) }
    }

    /// A text of the main document.
    fn field(&self, pointer: &str) -> Option<String> {
        text(self.main, pointer)
    }

    /// A text of the first document of a kind.
    fn secret_at(&self, kind: &str, pointer: &str) -> Option<String> {
        let document = self.documents.iter().find(|it| document::kind(it) == Some(kind))?;
        text(document, pointer)
    }

    /// Certificate and key in the main document, where they are in base64 already.
    fn old_pair(&self, pointer: &str) -> Option<CertificateEntry> {
        let (crt, key) = (self.field(&format!("{pointer}/crt")), self.field(&format!("{pointer}/key")));
        (crt.is_some() || key.is_some()).then_some(CertificateEntry { crt, key })
    }

    /// Certificate and key in a document of their own, where they are PEM.
    fn pair(&self, kind: &str) -> Option<CertificateEntry> {
        let packed = |pointer| self.secret_at(kind, pointer).map(|pem| Pem::from_bytes(pem).base64());
        let (crt, key) = (packed("/issuingCA/cert"), packed("/issuingCA/key"));
        (crt.is_some() || key.is_some()).then_some(CertificateEntry { crt, key })
    }

    fn service_account(&self) -> Option<CertificateEntry> {
        let key = self.secret_at("KubeServiceAccountConfig", "/issuer/privateKey")?;
        Some(CertificateEntry { crt: None, key: Some(Pem::from_bytes(key).base64()) })
    }

    /// The first key of the block that encrypts Kubernetes' secrets, if its first provider is a secretbox.
    fn secretbox(&self) -> Option<String> {
        let document =
            self.documents.iter().find(|it| document::kind(it) == Some("KubeEtcdEncryptionConfig"))?;
        let (_, block) = document::items(document, "/config/resources")
            .find(|(_, block)| document::texts(block, "/resources").any(|resource| resource == "secrets"))?;
        let provider = block.pointer("/providers/0/secretbox/keys/0")?;
        text(provider, "/secret")
    }
}

fn text(document: &Value, pointer: &str) -> Option<String> {
    document::value_at(document, pointer)?.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    macro_rules! case {
        ($name:literal) => {
            (
                include_str!(concat!("../../tests/data/secrets-import/", $name, "/controlplane.yaml")),
                include_str!(concat!("../../tests/data/secrets-import/", $name, "/secrets.yaml")),
            )
        };
    }

    #[test]
    fn a_control_plane_config_yields_its_bundle() {
        for (config, secrets) in [case!("v1.9"), case!("v1.12"), case!("v1.14")] {
            assert_eq!(from_config(config).unwrap(), Bundle::read(secrets).unwrap());
        }
    }

    #[test]
    fn missing_secrets_are_named() {
        let (config, _) = case!("v1.12");
        let config = config.replace("aggregatorCA:", "aggregatorCAs:");

        let error = from_config(&config).unwrap_err();

        let ImportError::Incomplete(problems) = error else { panic!("{error}") };
        assert_eq!(problems.to_string(), "certs.k8saggregator is missing");
    }

    #[test]
    fn a_worker_has_no_bundle() {
        let text = "version: v1alpha1\nmachine: {type: worker}\ncluster: {}\n";

        assert!(matches!(from_config(text), Err(ImportError::Worker)));
        assert!(matches!(from_config("kind: HostnameConfig\n"), Err(ImportError::NotConfig)));
        assert!(matches!(from_config(": ["), Err(ImportError::NotYaml(_))));
    }
}
