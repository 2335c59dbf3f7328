//! Problems of a bundle that Talos accepts, and certificates that expire soon.
//!
//! Not here: problems for which Talos rejects it ([`Bundle::read`]).

use super::bundle::{Bundle, Pair};
use super::certificate::Certificate;
use super::key::PrivateKey;
use crate::go::base64;
use ichor_values::{Issue, Moment};

/// How many days before its end a certificate is reported.
const SOON_DAYS: u64 = 90;
const DAY: u64 = 24 * 60 * 60;
/// Shorter RSA keys are refused by Go's TLS or soon will be.
const SHORTEST_RSA: usize = 2048;

impl Bundle {
    /// Everything that Talos takes and that will not work, or not for long; the subject is a key path of the bundle.
    pub fn warnings(&self, now: Moment) -> Vec<Issue> {
        let mut found = SecretIssues(Vec::new());
        found.base64("cluster.id", self.cluster_id.as_str());
        found.base64("cluster.secret", self.cluster_secret.as_str());
        found.token("secrets.bootstraptoken", self.bootstrap_token.as_str());
        for (name, secret) in
            [("secretboxencryptionsecret", &self.secretbox), ("aescbcencryptionsecret", &self.aescbc)]
        {
            if let Some(secret) = secret {
                found.base64(&format!("secrets.{name}"), secret.as_str());
            }
        }
        found.token("trustdinfo.token", self.trustd_token.as_str());
        for (name, pair) in self.pairs() {
            found.pair(&format!("certs.{name}"), pair, now);
        }
        found.key("certs.k8sserviceaccount", PrivateKey::read(&self.service_account).ok());
        found.twins(&self.pairs());
        found.0
    }
}

/// The problems of a certificate and its key, such as the administrator's.
pub fn pair_warnings(path: &str, pair: &Pair, now: Moment) -> Vec<Issue> {
    let mut found = SecretIssues(Vec::new());
    found.certificate(path, pair, now);
    found.0
}

struct SecretIssues(Vec<Issue>);

impl SecretIssues {
    fn add(&mut self, path: &str, text: impl Into<String>) {
        self.0.push(Issue::warning(path, text));
    }

    fn base64(&mut self, path: &str, text: &str) {
        let standard = text.replace('-', "+").replace('_', "/");
        if !base64::decode(&standard).is_ok_and(|bytes| bytes.len() == 32) {
            self.add(path, "is not 32 bytes in base64, and Talos will not get far with it");
        }
    }

    fn token(&mut self, path: &str, text: &str) {
        let is_word = |word: &str| word.bytes().all(|b| b.is_ascii_digit() || b.is_ascii_lowercase());
        let parts = text.split_once('.');
        if !parts.is_some_and(|(id, rest)| id.len() == 6 && rest.len() == 16 && is_word(id) && is_word(rest))
        {
            self.add(
                path,
                "is not a token: want 6 and 16 lower case letters or digits with a dot between them",
            );
        }
    }

    fn pair(&mut self, path: &str, pair: &Pair, now: Moment) {
        let Some(certificate) = self.certificate(path, pair, now) else { return };
        if !certificate.is_authority() {
            self.add(
                &format!("{path}.crt"),
                "is not a certificate authority: nothing it signs will be trusted",
            );
        }
    }

    fn certificate(&mut self, path: &str, pair: &Pair, now: Moment) -> Option<Certificate> {
        let certificate = Certificate::read(&pair.crt).ok()?;
        self.life(&format!("{path}.crt"), &certificate, now);
        let key = PrivateKey::read(&pair.key).ok();
        if key.as_ref().is_some_and(|key| !certificate.belongs_to(key)) {
            self.add(&format!("{path}.key"), "does not belong to the certificate beside it");
        }
        self.key(path, key);
        Some(certificate)
    }

    fn key(&mut self, path: &str, key: Option<PrivateKey>) {
        if let Some(bits) = key.and_then(|key| key.rsa_bits()).filter(|bits| *bits < SHORTEST_RSA) {
            self.add(
                &format!("{path}.key"),
                format!("is an RSA key of {bits} bits; want at least {SHORTEST_RSA}"),
            );
        }
    }

    fn life(&mut self, path: &str, certificate: &Certificate, now: Moment) {
        let (start, end) = certificate.validity();
        let days = end.unix().saturating_sub(now.unix()) / DAY;
        if end < now {
            self.add(path, format!("ended on {end}"));
        } else if start > now {
            self.add(path, format!("is not valid before {start}"));
        } else if days < SOON_DAYS {
            self.add(path, format!("ends on {end}, in {days} days"));
        }
    }

    fn twins(&mut self, pairs: &[(&'static str, &Pair)]) {
        for (nth, (name, pair)) in pairs.iter().enumerate() {
            if let Some((other, _)) = pairs[..nth].iter().find(|(_, other)| other.crt == pair.crt) {
                let text =
                    format!("is the same as certs.{other}.crt: a holder of one is trusted as the other");
                self.add(&format!("certs.{name}.crt"), text);
            }
        }
    }
}
