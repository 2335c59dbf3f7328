//! The file that keeps the administrator's certificate, beside the bundle.
//!
//! It is made once and kept, so that a build is reproducible; [`admin_faults`] reports when it cannot be used.

use serde_json::json;

use super::bundle::{BundleErrors, Pair, Sieve};
use super::certificate::Certificate;
use super::file::CertificateEntry;
use super::key::PrivateKey;
use ichor_values::Moment;
use ichor_values::go_yaml::emit;

/// The role of an administrator's certificate.
pub const ADMIN_ROLE: &str = "os:admin";
/// How many days before its end a certificate causes a warning.
const SOON_DAYS: u64 = 30;
const DAY: u64 = 24 * 60 * 60;

/// Why an administrator's certificate does not open a cluster.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AdminFault {
    /// Another authority signed it.
    #[error("is of another cluster: the authority certs.os of the bundle did not sign it")]
    Foreign,
    /// The key is another's.
    #[error("does not belong to the key beside it")]
    Key,
    /// It is over.
    #[error("expired on {0}")]
    Expired(Moment),
}

/// A caveat about a valid administrator's certificate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AdminCaution {
    /// It ends soon.
    #[error("ends on {0}, in {1} days")]
    EndsSoon(Moment, u64),
    /// It allows less than an administrator needs.
    #[error("allows {} and not {ADMIN_ROLE}", if .0.is_empty() { "nothing".to_owned() } else { .0.join(", ") })]
    Roles(Vec<String>),
}

/// Why an administrator's certificate does not open the cluster of the authority `os`.
pub fn admin_faults(admin: &Pair, os: &Pair, now: Moment) -> Vec<AdminFault> {
    let mut faults = Vec::new();
    let Ok(certificate) = Certificate::read(&admin.crt) else { return faults };
    if let (Ok(authority), Ok(key)) = (Certificate::read(&os.crt), PrivateKey::read(&os.key))
        && !certificate.is_signed_by(&authority, &key)
    {
        faults.push(AdminFault::Foreign);
    }
    if PrivateKey::read(&admin.key).is_ok_and(|key| !certificate.belongs_to(&key)) {
        faults.push(AdminFault::Key);
    }
    let (_, end) = certificate.validity();
    if end < now {
        faults.push(AdminFault::Expired(end));
    }
    faults
}

/// The caveats of a valid administrator's certificate.
pub fn admin_cautions(admin: &Pair, now: Moment) -> Vec<AdminCaution> {
    let mut cautions = Vec::new();
    let Ok(certificate) = Certificate::read(&admin.crt) else { return cautions };
    let (_, end) = certificate.validity();
    let days = end.unix().saturating_sub(now.unix()) / DAY;
    if days < SOON_DAYS {
        cautions.push(AdminCaution::EndsSoon(end, days));
    }
    let roles = certificate.roles();
    if !roles.iter().any(|role| role == ADMIN_ROLE) {
        cautions.push(AdminCaution::Roles(roles));
    }
    cautions
}

/// Reads the administrator's certificate and key.
pub fn read_admin(text: &str) -> Result<Pair, BundleErrors> {
    let mut sieve = Sieve::default();
    let pair = sieve.pair("admin", CertificateEntry::read_admin(text)?);
    pair.ok_or(BundleErrors(sieve.problems))
}

/// Writes the administrator's certificate and key in the clear.
pub fn write_admin(pair: &Pair) -> String {
    emit::emit(&json!({"admin": {"crt": pair.crt.base64(), "key": pair.key.base64()}}))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rand_core::SeedableRng as _;

    use super::super::Bundle;
    use super::super::certificate::{authority, client_certificate};
    use super::super::key::KeyKind;
    use super::*;

    #[test]
    fn a_written_pair_reads_back() {
        let pair = Bundle::read(include_str!("../../tests/data/secrets-check/001-ok.yaml")).unwrap().os;

        assert_eq!(read_admin(&write_admin(&pair)), Ok(pair));
        assert_eq!(read_admin("{}").unwrap_err().to_string(), "admin is missing");
    }

    #[test]
    fn a_certificate_is_checked_against_authority_key_and_clock() {
        let mut rng = rand_chacha::ChaCha20Rng::from_seed([3; 32]);
        let now = Moment::parse("2026-01-01T00:00:00Z").unwrap();
        let later = |days: u64| now.after(Duration::from_secs(days * DAY)).unwrap();
        for kind in [KeyKind::Ed25519, KeyKind::P256] {
            let [os, other] = [(); 2].map(|()| authority(kind, Some("talos"), &mut rng, now).unwrap());
            let life = Duration::from_secs(100 * DAY);
            let admin = client_certificate(&os, &["os:reader"], &mut rng, now, life).unwrap();

            assert_eq!(admin_faults(&admin, &os, later(1)), []);
            assert_eq!(admin_faults(&admin, &other, later(1)), [AdminFault::Foreign]);
            assert_eq!(admin_faults(&admin, &os, later(101)), [AdminFault::Expired(later(100))]);
            let mixed = Pair { crt: admin.crt.clone(), key: os.key.clone() };
            assert_eq!(admin_faults(&mixed, &os, now), [AdminFault::Key]);
            let roles = AdminCaution::Roles(vec!["os:reader".to_owned()]);
            assert_eq!(admin_cautions(&admin, now), std::slice::from_ref(&roles));
            assert_eq!(admin_cautions(&admin, later(80)), [AdminCaution::EndsSoon(later(100), 20), roles]);
        }
    }
}
