//! X.509 certificates: the authorities of a cluster and the administrator's, in the form Talos gives them.
//!
//! Not here: how long one is valid, which the caller decides.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::Duration;

use rand_chacha::ChaCha20Rng;
use rand_core::{CryptoRngCore, SeedableRng as _};
use sha2::{Digest as _, Sha256};
use x509_cert::attr::AttributeTypeAndValue;
use x509_cert::certificate::{CertificateInner, TbsCertificateInner, Version};
use x509_cert::der::asn1::{
    Any, BitString, GeneralizedTime, Ia5String, ObjectIdentifier, OctetString, PrintableStringRef, SetOfVec,
    UtcTime, Utf8StringRef,
};
use x509_cert::der::oid::AssociatedOid;
use x509_cert::der::{DateTime, Decode as _, Encode, Header, Reader as _, SliceReader};
use x509_cert::ext::Extension;
use x509_cert::ext::pkix::name::GeneralName;
use x509_cert::ext::pkix::{
    AuthorityKeyIdentifier, BasicConstraints, ExtendedKeyUsage, KeyUsage, KeyUsages, SubjectAltName,
    SubjectKeyIdentifier,
};
use x509_cert::name::{Name, RdnSequence, RelativeDistinguishedName};
use x509_cert::serial_number::SerialNumber;
use x509_cert::spki::SubjectPublicKeyInfoOwned;
use x509_cert::time::{Time, Validity};

use super::admin::ADMIN_ROLE;
use super::bundle::Pair;
use super::key::{KeyError, KeyKind, PrivateKey};
use super::pem::Pem;
use ichor_values::Moment;

const ORGANIZATION: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.10");
const COMMON_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.3");
const SERVER_AUTH: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.3.1");
const CLIENT_AUTH: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.3.2");
/// The lifetime of a certificate authority: 87600 hours.
const AUTHORITY_LIFE: Duration = Duration::from_hours(87_600);
const FITS: &str = "every part was made here and has a DER form";

/// Why a certificate cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CertificateError {
    /// It has no PEM block.
    #[error("holds no PEM block")]
    NotPem,
    /// The block is not a certificate.
    #[error("is not an X.509 certificate")]
    NotX509,
}

/// Why a certificate cannot be issued.
#[derive(Debug, thiserror::Error)]
pub enum IssueError {
    /// The authority's certificate is invalid.
    #[error("the certificate of the authority")]
    Certificate(#[from] CertificateError),
    /// The authority's key cannot sign.
    #[error("the key of the authority")]
    Key(#[from] KeyError),
    /// The authority's key belongs to another certificate.
    #[error("the key of the authority does not belong to its certificate")]
    Foreign,
    /// A role that a certificate cannot contain.
    #[error("`{0}` is not a role; want one such as os:admin, os:operator or os:reader")]
    Role(String),
    /// It would end after the year 9999.
    #[error("the certificate would outlast the year 9999")]
    TooLong,
}

/// A certificate that was read.
pub(super) struct Certificate {
    inner: CertificateInner,
    /// The part that is signed, byte for byte.
    signed: Vec<u8>,
}

impl Certificate {
    pub(super) fn read(pem: &Pem) -> Result<Self, CertificateError> {
        let (_, der) = pem.block().ok_or(CertificateError::NotPem)?;
        let inner = CertificateInner::from_der(&der).map_err(|_| CertificateError::NotX509)?;
        let signed = signed_part(&der).ok_or(CertificateError::NotX509)?;
        Ok(Self { inner, signed })
    }

    /// From when and until when it is valid.
    pub(super) fn validity(&self) -> (Moment, Moment) {
        let validity = self.inner.tbs_certificate.validity;
        (moment(validity.not_before), moment(validity.not_after))
    }

    /// Whether it may sign other certificates.
    pub(super) fn is_authority(&self) -> bool {
        let found = self.inner.tbs_certificate.get::<BasicConstraints>();
        matches!(found, Ok(Some((_, constraints))) if constraints.ca)
    }

    /// Whether `key` is the private half of its key; true where the public half is not known.
    pub(super) fn belongs_to(&self, key: &PrivateKey) -> bool {
        let bits = self.inner.tbs_certificate.subject_public_key_info.subject_public_key.raw_bytes();
        key.public().is_none_or(|public| public == bits)
    }

    /// Whether the authority with this certificate and key signed it; true if the kind of key is unknown.
    pub(super) fn is_signed_by(&self, authority: &Self, key: &PrivateKey) -> bool {
        let algorithm = self.inner.signature_algorithm.oid;
        self.inner.tbs_certificate.issuer == *authority.subject()
            && key.verifies(algorithm, &self.signed, self.inner.signature.raw_bytes()).unwrap_or(true)
    }

    /// Its roles in Talos' API: the organizations of its name.
    pub(super) fn roles(&self) -> Vec<String> {
        let attributes = self.subject().0.iter().flat_map(|set| set.0.iter());
        let roles = attributes.filter(|it| it.oid == ORGANIZATION);
        roles.map(|it| String::from_utf8_lossy(it.value.value()).into_owned()).collect()
    }

    fn subject(&self) -> &Name {
        &self.inner.tbs_certificate.subject
    }

    /// The authority key identifier for certificates that it signs, if it has an identifier.
    fn signs(&self) -> Option<Extension> {
        let (_, id) = self.inner.tbs_certificate.get::<SubjectKeyIdentifier>().ok()??;
        let issuer =
            AuthorityKeyIdentifier { key_identifier: Some(id.0), ..AuthorityKeyIdentifier::default() };
        Some(extension(false, &issuer))
    }
}

/// The expiry of a certificate; none if it is invalid.
pub fn ends(certificate: &Pem) -> Option<Moment> {
    Some(Certificate::read(certificate).ok()?.validity().1)
}

fn signed_part(der: &[u8]) -> Option<Vec<u8>> {
    let mut reader = SliceReader::new(der).ok()?;
    Header::decode(&mut reader).ok()?;
    reader.tlv_bytes().ok().map(<[u8]>::to_vec)
}

/// Makes a certificate authority of its own; without an organization its name is empty.
pub(super) fn authority(
    kind: KeyKind,
    organization: Option<&str>,
    rng: &mut impl CryptoRngCore,
    now: Moment,
) -> Result<Pair, IssueError> {
    let key = PrivateKey::new(kind, rng);
    let serial = serial(rng);
    let mut id = [0; 20];
    rng.fill_bytes(&mut id);
    let name = name(organization);
    let to_be_signed = Statement {
        serial,
        issuer: name.clone(),
        subject: name,
        validity: validity(now, AUTHORITY_LIFE)?,
        key: key.public_info()?,
        extensions: vec![
            extension(true, &KeyUsage(KeyUsages::DigitalSignature | KeyUsages::KeyCertSign)),
            extension(false, &ExtendedKeyUsage(vec![SERVER_AUTH, CLIENT_AUTH])),
            extension(true, &BasicConstraints { ca: true, path_len_constraint: None }),
            // Talos draws it as well, instead of hashing the key.
            extension(false, &SubjectKeyIdentifier(OctetString::new(id).expect(FITS))),
        ],
    };
    pair(to_be_signed.sign(&key)?, &key)
}

/// Makes a self-signed certificate, for a server whose clients do not verify it.
pub fn self_signed(
    organization: &str,
    rng: &mut impl CryptoRngCore,
    now: Moment,
) -> Result<Pair, IssueError> {
    authority(KeyKind::P256, Some(organization), rng, now)
}

/// Makes a certificate for a user of Talos' API with these roles, signed by the authority `os`.
///
/// The key is of the authority's own kind, which is Ed25519 in every bundle that Talos made.
pub fn client_certificate(
    os: &Pair,
    roles: &[&str],
    rng: &mut impl CryptoRngCore,
    now: Moment,
    life: Duration,
) -> Result<Pair, IssueError> {
    let (authority, signer) = signer(os)?;
    if let Some(role) = roles.iter().find(|role| !is_role(role)) {
        return Err(IssueError::Role((*role).to_owned()));
    }
    let roles: BTreeSet<&str> = roles.iter().copied().collect();
    let key = PrivateKey::new(signer.kind().ok_or(KeyError::CannotSign)?, rng);
    let mut extensions = vec![
        extension(true, &KeyUsage(KeyUsages::DigitalSignature.into())),
        extension(false, &ExtendedKeyUsage(vec![CLIENT_AUTH])),
    ];
    extensions.extend(authority.signs());
    let to_be_signed = Statement {
        serial: serial(rng),
        issuer: authority.subject().clone(),
        subject: name(roles),
        validity: validity(now, life)?,
        key: key.public_info()?,
        extensions,
    };
    pair(to_be_signed.sign(&signer)?, &key)
}

/// Makes the certificate by which the agent of a node proves itself, signed by the authority `os` and good for as long as
/// that is.
///
/// Everything in it follows from the authority and the node, the key too: a build with the same secrets gives the same.
pub fn agent_certificate(os: &Pair, node: &str, addresses: &[IpAddr]) -> Result<Pair, IssueError> {
    let (authority, signer) = signer(os)?;
    let (_, secret) = os.key.block().ok_or(KeyError::CannotSign)?;
    let seed = Sha256::new()
        .chain_update("ichor agent\0")
        .chain_update(node)
        .chain_update("\0")
        .chain_update(secret);
    let mut rng = ChaCha20Rng::from_seed(seed.finalize().into());
    let key = PrivateKey::new(signer.kind().ok_or(KeyError::CannotSign)?, &mut rng);
    let mut extensions = vec![
        extension(true, &KeyUsage(KeyUsages::DigitalSignature.into())),
        extension(false, &ExtendedKeyUsage(vec![SERVER_AUTH])),
        // Its subject is empty, so this is its name (RFC 5280, 4.2.1.6).
        extension(true, &alternatives(&[node], addresses)),
    ];
    extensions.extend(authority.signs());
    let to_be_signed = Statement {
        serial: serial(&mut rng),
        issuer: authority.subject().clone(),
        subject: name(None),
        validity: authority.inner.tbs_certificate.validity,
        key: key.public_info()?,
        extensions,
    };
    pair(to_be_signed.sign(&signer)?, &key)
}

/// The subject of a server's certificate.
#[derive(Clone, Copy, Debug)]
pub struct Server<'a> {
    /// The common name of its subject.
    pub name: &'a str,
    /// Its DNS names.
    pub names: &'a [&'a str],
    /// Its addresses.
    pub addresses: &'a [IpAddr],
}

/// Makes the certificate of a server, signed by an authority; without one it is self-signed.
pub fn server_certificate(
    authority: Option<&Pair>,
    server: Server<'_>,
    rng: &mut impl CryptoRngCore,
    now: Moment,
    life: Duration,
) -> Result<Pair, IssueError> {
    let above = authority.map(signer).transpose()?;
    let kind = above.as_ref().map_or(Some(KeyKind::Ed25519), |(_, signer)| signer.kind());
    let key = PrivateKey::new(kind.ok_or(KeyError::CannotSign)?, rng);
    let subject = name_of_attributes(&[(COMMON_NAME, server.name)]);
    let mut extensions = vec![
        extension(true, &KeyUsage(KeyUsages::DigitalSignature.into())),
        extension(false, &ExtendedKeyUsage(vec![SERVER_AUTH])),
        extension(false, &alternatives(server.names, server.addresses)),
    ];
    extensions.extend(above.as_ref().and_then(|(authority, _)| authority.signs()));
    let to_be_signed = Statement {
        serial: serial(rng),
        issuer: above.as_ref().map_or_else(|| subject.clone(), |(authority, _)| authority.subject().clone()),
        subject,
        validity: validity(now, life)?,
        key: key.public_info()?,
        extensions,
    };
    pair(to_be_signed.sign(above.as_ref().map_or(&key, |(_, signer)| signer))?, &key)
}

/// Makes the certificate of an administrator of Kubernetes, as Talos puts it into a kubeconfig.
pub fn kubernetes_admin_certificate(
    k8s: &Pair,
    rng: &mut impl CryptoRngCore,
    now: Moment,
    life: Duration,
) -> Result<Pair, IssueError> {
    let (authority, signer) = signer(k8s)?;
    let key = PrivateKey::new(signer.kind().ok_or(KeyError::CannotSign)?, rng);
    let mut extensions = vec![
        extension(true, &KeyUsage(KeyUsages::DigitalSignature | KeyUsages::KeyEncipherment)),
        extension(false, &ExtendedKeyUsage(vec![CLIENT_AUTH])),
    ];
    extensions.extend(authority.signs());
    let to_be_signed = Statement {
        serial: serial(rng),
        issuer: authority.subject().clone(),
        subject: name_of_attributes(&[(ORGANIZATION, "system:masters"), (COMMON_NAME, "admin")]),
        validity: validity(now, life)?,
        key: key.public_info()?,
        extensions,
    };
    pair(to_be_signed.sign(&signer)?, &key)
}

/// The roles of a certificate in DER at Talos' API; empty if it cannot be read.
pub fn roles(der: &[u8]) -> Vec<String> {
    Certificate::read(&Pem::new("CERTIFICATE", der)).map_or_else(|_| Vec::new(), |found| found.roles())
}

/// Certificate and key of an authority that can sign.
fn signer(authority: &Pair) -> Result<(Certificate, PrivateKey), IssueError> {
    let (certificate, key) = (Certificate::read(&authority.crt)?, PrivateKey::read(&authority.key)?);
    if !certificate.belongs_to(&key) {
        return Err(IssueError::Foreign);
    }
    Ok((certificate, key))
}

/// The names and addresses of a server. Invalid DNS names are dropped.
fn alternatives(names: &[&str], addresses: &[IpAddr]) -> SubjectAltName {
    let names = names.iter().filter_map(|name| Ia5String::new(name).ok()).map(GeneralName::DnsName);
    let addresses = addresses.iter().map(|address| match address {
        IpAddr::V4(address) => OctetString::new(address.octets()),
        IpAddr::V6(address) => OctetString::new(address.octets()),
    });
    let addresses = addresses.map(|octets| GeneralName::IpAddress(octets.expect(FITS)));
    SubjectAltName(names.chain(addresses).collect())
}

/// Makes the administrator's certificate: with the role `os:admin` only.
pub fn admin_certificate(
    os: &Pair,
    rng: &mut impl CryptoRngCore,
    now: Moment,
    life: Duration,
) -> Result<Pair, IssueError> {
    client_certificate(os, &[ADMIN_ROLE], rng, now, life)
}

fn is_role(role: &str) -> bool {
    role.strip_prefix("os:").is_some_and(|rest| {
        !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_lowercase() || b == b':' || b == b'-')
    })
}

/// The content of a certificate, before it is signed.
struct Statement {
    serial: SerialNumber,
    issuer: Name,
    subject: Name,
    validity: Validity,
    key: SubjectPublicKeyInfoOwned,
    extensions: Vec<Extension>,
}

impl Statement {
    fn sign(self, signer: &PrivateKey) -> Result<Pem, IssueError> {
        let signature = signer.signature_algorithm()?;
        let tbs_certificate = TbsCertificateInner {
            version: Version::V3,
            serial_number: self.serial,
            signature: signature.clone(),
            issuer: self.issuer,
            validity: self.validity,
            subject: self.subject,
            subject_public_key_info: self.key,
            issuer_unique_id: None,
            subject_unique_id: None,
            extensions: Some(self.extensions),
        };
        let signed = signer.sign(&tbs_certificate.to_der().expect(FITS))?;
        let certificate = CertificateInner {
            tbs_certificate,
            signature_algorithm: signature,
            signature: BitString::from_bytes(&signed).expect(FITS),
        };
        Ok(Pem::new("CERTIFICATE", &certificate.to_der().expect(FITS)))
    }
}

fn pair(crt: Pem, key: &PrivateKey) -> Result<Pair, IssueError> {
    Ok(Pair { crt, key: key.pem().ok_or(KeyError::CannotSign)? })
}

/// A number below 2^128, by chance.
fn serial(rng: &mut impl CryptoRngCore) -> SerialNumber {
    let mut bytes = [0; 16];
    rng.fill_bytes(&mut bytes);
    SerialNumber::new(&bytes).expect("16 bytes are fewer than the 20 allowed")
}

fn validity(now: Moment, life: Duration) -> Result<Validity, IssueError> {
    let end = now.after(life).ok_or(IssueError::TooLong)?;
    Ok(Validity { not_before: time(now), not_after: time(end) })
}

/// RFC 5280, 4.1.2.5: two-digit years until 2049, four-digit years from then on.
fn time(moment: Moment) -> Time {
    let date =
        DateTime::from_unix_duration(Duration::from_secs(moment.unix())).expect("not after the year 9999");
    match UtcTime::from_date_time(date) {
        Ok(time) => Time::UtcTime(time),
        Err(_) => Time::GeneralTime(GeneralizedTime::from_date_time(date)),
    }
}

fn moment(time: Time) -> Moment {
    Moment::from_unix(time.to_unix_duration().as_secs()).expect("not after the year 9999")
}

/// A name of organizations only; several share one set, as Go writes them.
fn name<'t>(organizations: impl IntoIterator<Item = &'t str>) -> Name {
    let attributes = organizations.into_iter().map(|text| AttributeTypeAndValue {
        oid: ORGANIZATION,
        value: Any::from(
            PrintableStringRef::new(text).expect("lower case letters, colons and dashes are printable"),
        ),
    });
    let attributes: Vec<_> = attributes.collect();
    if attributes.is_empty() {
        return RdnSequence::default();
    }
    let set = SetOfVec::try_from(attributes).expect(FITS);
    RdnSequence(vec![RelativeDistinguishedName(set)])
}

/// A name of attributes, each in a set of its own.
fn name_of_attributes(attributes: &[(ObjectIdentifier, &str)]) -> Name {
    let sets = attributes.iter().map(|(oid, text)| {
        let value = Any::from(Utf8StringRef::new(text).expect("every text is UTF-8"));
        let set = SetOfVec::try_from(vec![AttributeTypeAndValue { oid: *oid, value }]).expect(FITS);
        RelativeDistinguishedName(set)
    });
    RdnSequence(sets.collect())
}

fn extension(critical: bool, content: &(impl AssociatedOid + Encode)) -> Extension {
    let der = content.to_der().expect(FITS);
    Extension { extn_id: oid(content), critical, extn_value: OctetString::new(der).expect(FITS) }
}

fn oid<T: AssociatedOid>(_: &T) -> ObjectIdentifier {
    T::OID
}
