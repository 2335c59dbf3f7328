//! The identity of a TLS peer, from its certificate.
//!
//! A machine in maintenance mode has a self-signed certificate. It is recognised by its [`Pin`], which is what
//! talosctl calls the fingerprint; the other fields of the certificate are in a [`Peer`], for messages to people.

use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use sha2::{Digest as _, Sha256};
use x509_cert::Certificate;
use x509_cert::der::oid::ObjectIdentifier;
use x509_cert::der::{Decode as _, Encode as _};
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;
use x509_cert::name::Name;

use super::go::base64;

const COMMON_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.3");
const ORGANIZATION: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.10");

/// The fingerprint of a public key: SHA-256 of its SubjectPublicKeyInfo, as `talosctl --cert-fingerprint` takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pin([u8; 32]);

impl Pin {
    /// Of a public key in DER.
    pub fn of_key(info: &[u8]) -> Self {
        Self(Sha256::digest(info).into())
    }

    /// Reads base64, such as Talos shows on its console.
    pub fn parse(text: &str) -> Option<Self> {
        base64::decode(text.trim()).ok()?.try_into().ok().map(Self)
    }
}

impl fmt::Display for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&base64::encode(self.0))
    }
}

impl Serialize for Pin {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Pin {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        Self::parse(&text).ok_or_else(|| de::Error::custom("not a fingerprint: want 32 bytes in base64"))
    }
}

/// The fields of a peer's certificate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Peer {
    /// By which it is recognised.
    pub pin: Pin,
    /// Its subject; may be empty.
    pub subject: String,
    /// Its issuer, in the same form.
    pub(crate) issuer: String,
    /// The names and addresses it is for.
    pub names: Vec<String>,
}

impl Peer {
    /// Reads a certificate in DER; none if it is invalid.
    pub fn read(der: &[u8]) -> Option<Self> {
        let certificate = Certificate::from_der(der).ok()?.tbs_certificate;
        let pin = Pin::of_key(&certificate.subject_public_key_info.to_der().ok()?);
        let (subject, issuer) = (words(&certificate.subject), words(&certificate.issuer));
        let names = certificate.get::<SubjectAltName>().ok().flatten();
        let names = names.map(|(_, names)| names.0.iter().filter_map(name).collect()).unwrap_or_default();
        Some(Self { pin, subject, issuer, names })
    }
}

/// `the certificate of solcp01, 10.0.0.11, signed by talos`.
impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named: Vec<&str> =
            self.names.iter().map(String::as_str).filter(|name| !is_loopback(name)).collect();
        match named.as_slice() {
            [] if self.subject.is_empty() => write!(f, "a certificate without a name")?,
            [] => write!(f, "a certificate of {}", self.subject)?,
            [first, second, third, _, ..] => write!(f, "a certificate of {first}, {second}, {third}, ...")?,
            few => write!(f, "a certificate of {}", few.join(", "))?,
        }
        if !self.issuer.is_empty() && self.issuer != self.subject {
            write!(f, " signed by {}", self.issuer)?;
        }
        Ok(())
    }
}

fn is_loopback(name: &str) -> bool {
    name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn words(name: &Name) -> String {
    let attributes = name.0.iter().flat_map(|set| set.0.iter());
    let values = attributes.filter(|it| it.oid == COMMON_NAME || it.oid == ORGANIZATION);
    let values: Vec<_> = values.map(|it| String::from_utf8_lossy(it.value.value()).into_owned()).collect();
    values.join(" ")
}

fn name(name: &GeneralName) -> Option<String> {
    match name {
        GeneralName::DnsName(name) => Some(name.to_string()),
        GeneralName::IpAddress(address) => match address.as_bytes() {
            bytes if bytes.len() == 4 => Some(IpAddr::from(<[u8; 4]>::try_from(bytes).ok()?).to_string()),
            bytes => Some(IpAddr::from(<[u8; 16]>::try_from(bytes).ok()?).to_string()),
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha20Rng;
    use rand_core::SeedableRng as _;

    use super::*;
    use crate::secrets::{Bundle, agent_certificate};
    use ichor_values::Moment;
    use ichor_values::TalosVersion;

    fn shown() -> (Vec<u8>, Bundle) {
        let now = Moment::from_unix(1_700_000_000).unwrap();
        let bundle =
            Bundle::new(&TalosVersion::parse("1.6").unwrap(), &mut ChaCha20Rng::seed_from_u64(1), now)
                .unwrap();
        let addresses =
            ["10.0.0.11".parse().unwrap(), "127.0.0.1".parse().unwrap(), "fd00::1".parse().unwrap()];
        let pair = agent_certificate(&bundle.os, "solcp01", &addresses).unwrap();
        (pair.crt.block().unwrap().1, bundle)
    }

    #[test]
    fn a_certificate_has_subject_and_issuer() {
        let (der, _) = shown();

        let peer = Peer::read(&der).unwrap();

        assert_eq!(peer.names, ["solcp01", "10.0.0.11", "127.0.0.1", "fd00::1"]);
        assert_eq!(peer.to_string(), "a certificate of solcp01, 10.0.0.11, fd00::1 signed by talos");
    }

    #[test]
    fn a_pin_is_the_key_and_not_the_certificate() {
        let (_, bundle) = shown();
        let der = bundle.os.crt.block().unwrap().1;

        let peer = Peer::read(&der).unwrap();

        // SHA-256 of the 44 bytes that an Ed25519 key has as SubjectPublicKeyInfo, found by their first bytes.
        let start =
            der.windows(12).position(|it| it == b"\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00").unwrap();
        assert_eq!(peer.pin, Pin::of_key(&der[start..start + 44]));
        assert_eq!(Pin::parse(&peer.pin.to_string()), Some(peer.pin));
        assert_eq!(peer.pin.to_string().len(), 44);
    }

    #[test]
    fn invalid_certificates_and_pins_are_rejected() {
        assert_eq!(Peer::read(b"hello"), None);
        for text in ["", "aGVsbG8=", "not base64 at all", "sha256//abc"] {
            assert_eq!(Pin::parse(text), None, "{text}");
        }
    }
}
