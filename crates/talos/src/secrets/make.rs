//! Making a bundle, as `talosctl gen secrets` does for a contract.
//!
//! Not here: chance and the time of day, which come in as arguments.

use rand_core::CryptoRngCore;

use super::bundle::{Bundle, Hidden};
use super::certificate::{IssueError, authority};
use super::key::{KeyError, KeyKind, PrivateKey};
use crate::go::base64;
use crate::release::at_least;
use ichor_values::Moment;
use ichor_values::TalosVersion;

/// The characters of tokens.
const LETTERS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";

impl Bundle {
    /// Makes all secrets of a new cluster.
    ///
    /// From contract 1.7 on that includes an RSA key of 4096 bits, which takes seconds to find.
    pub fn new(
        contract: &TalosVersion,
        rng: &mut impl CryptoRngCore,
        now: Moment,
    ) -> Result<Self, IssueError> {
        Self::generate_with(service_account(contract), contract, rng, now)
    }

    /// Makes all secrets of a cluster that is only tried: without an RSA key, which Talos does not need, at once.
    pub fn quick(
        contract: &TalosVersion,
        rng: &mut impl CryptoRngCore,
        now: Moment,
    ) -> Result<Self, IssueError> {
        Self::generate_with(KeyKind::P256, contract, rng, now)
    }

    fn generate_with(
        service_account: KeyKind,
        contract: &TalosVersion,
        rng: &mut impl CryptoRngCore,
        now: Moment,
    ) -> Result<Self, IssueError> {
        let encryption = Hidden::new(base64::encode(random(rng)));
        let (secretbox, aescbc) =
            if at_least(contract, 3) { (Some(encryption), None) } else { (None, Some(encryption)) };
        Ok(Self {
            cluster_id: cluster_id(contract, rng),
            cluster_secret: Hidden::new(base64::encode(random(rng))),
            bootstrap_token: token(rng),
            secretbox,
            aescbc,
            trustd_token: token(rng),
            etcd: authority(KeyKind::P256, Some("etcd"), rng, now)?,
            k8s: authority(KeyKind::P256, Some("kubernetes"), rng, now)?,
            aggregator: authority(KeyKind::P256, None, rng, now)?,
            service_account: PrivateKey::new(service_account, rng).pem().ok_or(KeyError::CannotSign)?,
            os: authority(KeyKind::Ed25519, Some("talos"), rng, now)?,
        })
    }
}

fn service_account(contract: &TalosVersion) -> KeyKind {
    if at_least(contract, 7) { KeyKind::Rsa } else { KeyKind::P256 }
}

/// Talos 1.14 wants the standard alphabet here; those before it wrote the one for URLs.
fn cluster_id(contract: &TalosVersion, rng: &mut impl CryptoRngCore) -> Hidden {
    let bytes = random(rng);
    Hidden::new(if at_least(contract, 14) { base64::encode(bytes) } else { base64::encode_for_url(bytes) })
}

fn random(rng: &mut impl CryptoRngCore) -> [u8; 32] {
    let mut bytes = [0; 32];
    rng.fill_bytes(&mut bytes);
    bytes
}

fn token(rng: &mut impl CryptoRngCore) -> Hidden {
    let (id, secret) = (word(6, rng), word(16, rng));
    Hidden::new(format!("{id}.{secret}"))
}

fn word(length: usize, rng: &mut impl CryptoRngCore) -> String {
    (0..length).map(|_| char::from(letter(rng))).collect()
}

/// A letter, each as likely as the other: 252 is the largest multiple of 36 in a byte.
fn letter(rng: &mut impl CryptoRngCore) -> u8 {
    loop {
        let mut byte = [0];
        rng.fill_bytes(&mut byte);
        if byte[0] < 252 {
            return LETTERS[usize::from(byte[0]) % LETTERS.len()];
        }
    }
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha20Rng;
    use rand_core::SeedableRng as _;
    use std::time::Duration;
    use x509_parser::prelude::{FromDer as _, X509Certificate};

    use super::super::pem::Pem;
    use super::super::{admin_certificate, client_certificate};
    use super::*;

    fn made(contract: &str) -> Bundle {
        let now = Moment::parse("2026-01-01T00:00:00Z").unwrap();
        Bundle::new(&TalosVersion::parse(contract).unwrap(), &mut ChaCha20Rng::seed_from_u64(7), now).unwrap()
    }

    fn der(pem: &Pem) -> Vec<u8> {
        pem.block().unwrap().1
    }

    const GOLDEN: &str = include_str!("../../tests/data/secrets-check/001-ok.yaml");

    #[test]
    fn authorities_match_talos() {
        let (made, golden) = (made("v1.6.0"), Bundle::read(GOLDEN).unwrap());

        let pairs = made.entries().into_iter().zip(golden.entries());
        for ((name, ours, _), (_, theirs, _)) in pairs.filter(|((_, crt, _), _)| crt.is_some()) {
            let (ours, theirs) = (der(ours.unwrap()), der(theirs.unwrap()));
            let (_, ours) = X509Certificate::from_der(&ours).unwrap();
            let (_, theirs) = X509Certificate::from_der(&theirs).unwrap();
            assert_eq!(ours.subject().as_raw(), theirs.subject().as_raw(), "{name}");
            assert_eq!(ours.issuer().as_raw(), theirs.issuer().as_raw(), "{name}");
            assert_eq!(ours.validity(), theirs.validity(), "{name}");
            assert_eq!(ours.signature_algorithm, theirs.signature_algorithm, "{name}");
            assert_eq!(ours.public_key().algorithm, theirs.public_key().algorithm, "{name}");
            ours.verify_signature(None).unwrap();
            for (ours, theirs) in ours.extensions().iter().zip(theirs.extensions()) {
                assert_eq!((&ours.oid, ours.critical), (&theirs.oid, theirs.critical), "{name}");
                assert_eq!(ours.value.len(), theirs.value.len(), "{name} {}", ours.oid);
                if ours.oid.to_id_string() != "2.5.29.14" {
                    assert_eq!(ours.value, theirs.value, "{name} {}", ours.oid);
                }
            }
            assert_eq!(ours.extensions().len(), theirs.extensions().len(), "{name}");
        }
    }

    #[test]
    fn keys_have_the_labels_of_their_kinds() {
        let bundle = made("v1.6.0");

        let labels: Vec<_> = bundle.entries().iter().map(|(_, _, key)| key.block().unwrap().0).collect();

        let ec = "EC PRIVATE KEY";
        assert_eq!(labels, [ec, ec, ec, ec, "ED25519 PRIVATE KEY"]);
        assert_eq!(der(&bundle.os.key).len(), 48);
        assert_eq!(Bundle::read(&bundle.write()).unwrap(), bundle);
    }

    #[test]
    fn the_etcd_encryption_key_and_the_id_follow_the_contract() {
        let old = made("v1.2.0");

        assert!(old.secretbox.is_none() && old.aescbc.is_some());
        assert!(old.write().contains("aescbcencryptionsecret: "));
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        for (contract, foreign) in [("v1.13", ['+', '/']), ("v1.14.0-rc.1", ['-', '_'])] {
            let contract = TalosVersion::parse(contract).unwrap();
            for _ in 0..100 {
                assert!(!cluster_id(&contract, &mut rng).as_str().contains(foreign));
            }
        }
    }

    #[test]
    fn the_service_account_key_is_rsa_from_contract_1_7_on() {
        let kind = |contract| service_account(&TalosVersion::parse(contract).unwrap());

        assert_eq!((kind("v1.6.9"), kind("v1.7.0-alpha.1")), (KeyKind::P256, KeyKind::Rsa));
    }

    #[test]
    fn keys_are_written_as_talos_writes_them() {
        let golden = Bundle::read(GOLDEN).unwrap();

        for (name, _, key) in golden.entries() {
            assert!(PrivateKey::read(key).unwrap().pem().as_ref() == Some(key), "{name}");
        }
        assert_eq!(PrivateKey::read(&golden.service_account).unwrap().rsa_bits(), Some(4096));
    }

    #[test]
    fn tokens_have_six_and_sixteen_characters_of_the_full_alphabet() {
        let mut rng = ChaCha20Rng::seed_from_u64(2);
        let mut seen = std::collections::BTreeSet::new();

        for _ in 0..100 {
            let token = token(&mut rng);
            let (id, secret) = token.as_str().split_once('.').unwrap();
            assert_eq!((id.len(), secret.len()), (6, 16));
            seen.extend(id.bytes().chain(secret.bytes()));
        }

        assert!(seen.iter().eq(LETTERS));
    }

    #[test]
    fn the_administrator_is_signed_by_the_authority() {
        let os = made("v1.6").os;
        let now = Moment::parse("2026-02-03T04:05:06Z").unwrap();
        let mut rng = ChaCha20Rng::seed_from_u64(3);

        let admin = admin_certificate(&os, &mut rng, now, Duration::from_hours(8760)).unwrap();

        let (crt, authority) = (der(&admin.crt), der(&os.crt));
        let (_, crt) = X509Certificate::from_der(&crt).unwrap();
        let (_, authority) = X509Certificate::from_der(&authority).unwrap();
        crt.verify_signature(Some(authority.public_key())).unwrap();
        assert_eq!(crt.subject().to_string(), "O=os:admin");
        assert_eq!(crt.issuer(), authority.subject());
        assert_eq!(crt.validity().not_after.timestamp() - crt.validity().not_before.timestamp(), 8760 * 3600);
        let ids: Vec<_> = crt.extensions().iter().map(|extension| extension.oid.to_id_string()).collect();
        assert_eq!(ids, ["2.5.29.15", "2.5.29.37", "2.5.29.35"]);
        assert_eq!(admin.key.block().unwrap().0, "ED25519 PRIVATE KEY");
    }

    #[test]
    fn roles_are_unique_and_sorted() {
        let os = made("v1.6").os;
        let now = Moment::parse("2026-01-01T00:00:00Z").unwrap();
        let roles = ["os:reader", "os:admin", "os:reader"];

        let pair =
            client_certificate(&os, &roles, &mut ChaCha20Rng::seed_from_u64(4), now, Duration::from_hours(1))
                .unwrap();

        let crt = der(&pair.crt);
        let (_, crt) = X509Certificate::from_der(&crt).unwrap();
        assert_eq!(crt.subject().to_string(), "O=os:admin + O=os:reader");
    }

    #[test]
    fn a_key_of_another_cluster_signs_nothing() {
        let (one, mut other) = (made("v1.6").os, Bundle::read(GOLDEN).unwrap().os);
        other.key = one.key;
        let now = Moment::parse("2026-01-01T00:00:00Z").unwrap();

        let refused =
            admin_certificate(&other, &mut ChaCha20Rng::seed_from_u64(5), now, Duration::from_hours(1));

        assert!(matches!(refused, Err(IssueError::Foreign)));
    }
}
