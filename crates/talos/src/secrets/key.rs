//! Private keys: generated, read, written and used.
//!
//! Not here: public keys alone.

use ed25519_dalek::Signer as _;
use ed25519_dalek::pkcs8::{KeypairBytes, PrivateKeyInfo};
use p256::ecdsa;
use p256::ecdsa::signature::Verifier as _;
use p256::elliptic_curve::sec1::ToEncodedPoint as _;
use rand_core::CryptoRngCore;
use rsa::pkcs1::{DecodeRsaPrivateKey as _, EncodeRsaPrivateKey as _, EncodeRsaPublicKey as _};
use rsa::signature::SignatureEncoding as _;
use rsa::traits::PublicKeyParts as _;
use rsa::{Pkcs1v15Sign, RsaPrivateKey};
use sec1::{EcParameters, EcPrivateKey};
use sha2::{Digest as _, Sha256, Sha384, Sha512};
use x509_cert::der::asn1::{Any, BitString, Null, ObjectIdentifier};
use x509_cert::der::{Decode as _, Encode as _};
use x509_cert::spki::{AlgorithmIdentifierOwned, SubjectPublicKeyInfoOwned};

use super::pem::Pem;

const RSA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.1");
const SHA256_WITH_RSA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.11");
const SHA384_WITH_RSA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.12");
const SHA512_WITH_RSA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.13");
const EC: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");
const ECDSA_WITH_SHA256: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.4.3.2");
const ED25519: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.101.112");
const X25519: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.101.110");
const P256: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.3.1.7");
/// P-224, P-384 and P-521, which Go reads too.
const OTHER_CURVES: [ObjectIdentifier; 3] = [
    ObjectIdentifier::new_unwrap("1.3.132.0.33"),
    ObjectIdentifier::new_unwrap("1.3.132.0.34"),
    ObjectIdentifier::new_unwrap("1.3.132.0.35"),
];
const RSA_BITS: usize = 4096;

/// Why a key cannot be read or used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// It has no PEM block.
    #[error("holds no PEM block")]
    NotPem,
    /// The block is not a private key.
    #[error(
        "is not a private key but `{0}`; want RSA PRIVATE KEY, EC PRIVATE KEY, ED25519 PRIVATE KEY or PRIVATE KEY"
    )]
    Label(String),
    /// The block does not match its label.
    #[error("does not hold the {0} key that its label promises")]
    Content(&'static str),
    /// A key that signs nothing here.
    #[error("is of a kind that ichor does not sign with; want Ed25519, ECDSA P-256 or RSA")]
    CannotSign,
}

/// The kinds of key that are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyKind {
    Ed25519,
    P256,
    Rsa,
}

/// A private key.
pub(super) enum PrivateKey {
    Ed25519(ed25519_dalek::SigningKey),
    P256(p256::SecretKey),
    Rsa(Box<RsaPrivateKey>),
    /// A key that Talos reads and ichor does not use, with its public half if the file has it.
    Other(Option<Vec<u8>>),
}

impl PrivateKey {
    pub(super) fn new(kind: KeyKind, rng: &mut impl CryptoRngCore) -> Self {
        match kind {
            KeyKind::Ed25519 => Self::Ed25519(ed25519_dalek::SigningKey::generate(rng)),
            KeyKind::P256 => Self::P256(p256::SecretKey::random(rng)),
            KeyKind::Rsa => {
                let key =
                    RsaPrivateKey::new(rng, RSA_BITS).expect("fails only for sizes too small to have primes");
                Self::Rsa(Box::new(key))
            }
        }
    }

    pub(super) fn read(pem: &Pem) -> Result<Self, KeyError> {
        let (label, der) = pem.block().ok_or(KeyError::NotPem)?;
        match label.as_str() {
            "RSA PRIVATE KEY" => rsa(&der),
            "EC PRIVATE KEY" => ec(&der, None),
            "ED25519 PRIVATE KEY" => match pkcs8(&der)? {
                key @ Self::Ed25519(_) => Ok(key),
                _ => Err(KeyError::Content("Ed25519")),
            },
            "PRIVATE KEY" => pkcs8(&der),
            _ => Err(KeyError::Label(label)),
        }
    }

    /// The key in the form and with the label that Talos gives its kind; none for a kind that is not made.
    pub(super) fn pem(&self) -> Option<Pem> {
        const FITS: &str = "a key of this kind has a DER form";
        match self {
            Self::Ed25519(key) => {
                // Version 1, without the public half: OpenSSL 3.0 does not read version 2.
                let pair = KeypairBytes { secret_key: key.to_bytes(), public_key: None };
                let der = ed25519_dalek::pkcs8::EncodePrivateKey::to_pkcs8_der(&pair).expect(FITS);
                Some(Pem::new("ED25519 PRIVATE KEY", der.as_bytes()))
            }
            Self::P256(key) => {
                let (secret, public) = (key.to_bytes(), key.public_key().to_encoded_point(false));
                // Go reads the curve only here.
                let parameters = Some(EcParameters::NamedCurve(P256));
                let key =
                    EcPrivateKey { private_key: &secret, parameters, public_key: Some(public.as_bytes()) };
                Some(Pem::new("EC PRIVATE KEY", &key.to_der().expect(FITS)))
            }
            Self::Rsa(key) => Some(Pem::new("RSA PRIVATE KEY", key.to_pkcs1_der().expect(FITS).as_bytes())),
            Self::Other(_) => None,
        }
    }

    /// The kind a certificate signed by this key has, as Talos chooses it.
    pub(super) fn kind(&self) -> Option<KeyKind> {
        match self {
            Self::Ed25519(_) => Some(KeyKind::Ed25519),
            Self::P256(_) => Some(KeyKind::P256),
            Self::Rsa(_) => Some(KeyKind::Rsa),
            Self::Other(_) => None,
        }
    }

    /// The public key as the bits of a certificate, where it is known.
    pub(super) fn public(&self) -> Option<Vec<u8>> {
        match self {
            Self::Ed25519(key) => Some(key.verifying_key().to_bytes().to_vec()),
            Self::P256(key) => Some(key.public_key().to_encoded_point(false).as_bytes().to_vec()),
            Self::Rsa(key) => {
                let der = key.to_public_key().to_pkcs1_der().expect("two numbers have a DER form");
                Some(der.as_bytes().to_vec())
            }
            Self::Other(public) => public.clone(),
        }
    }

    /// The length of an RSA key.
    pub(super) fn rsa_bits(&self) -> Option<usize> {
        match self {
            Self::Rsa(key) => Some(key.n().bits()),
            _ => None,
        }
    }

    /// The public key in the form of certificates.
    pub(super) fn public_info(&self) -> Result<SubjectPublicKeyInfoOwned, KeyError> {
        let algorithm = match self {
            Self::Ed25519(_) => AlgorithmIdentifierOwned { oid: ED25519, parameters: None },
            Self::P256(_) => AlgorithmIdentifierOwned { oid: EC, parameters: Some((&P256).into()) },
            Self::Rsa(_) => AlgorithmIdentifierOwned { oid: RSA, parameters: Some(Null.into()) },
            Self::Other(_) => return Err(KeyError::CannotSign),
        };
        let public = self.public().ok_or(KeyError::CannotSign)?;
        let subject_public_key = BitString::from_bytes(&public).expect("a key is shorter than 256 MiB");
        Ok(SubjectPublicKeyInfoOwned { algorithm, subject_public_key })
    }

    /// The signature algorithm of this key in certificates.
    pub(super) fn signature_algorithm(&self) -> Result<AlgorithmIdentifierOwned, KeyError> {
        let (oid, parameters) = match self {
            Self::Ed25519(_) => (ED25519, None),
            Self::P256(_) => (ECDSA_WITH_SHA256, None),
            Self::Rsa(_) => (SHA512_WITH_RSA, Some(Any::from(Null))),
            Self::Other(_) => return Err(KeyError::CannotSign),
        };
        Ok(AlgorithmIdentifierOwned { oid, parameters })
    }

    /// Signs a message.
    pub(super) fn sign(&self, message: &[u8]) -> Result<Vec<u8>, KeyError> {
        Ok(match self {
            Self::Ed25519(key) => key.sign(message).to_bytes().to_vec(),
            Self::P256(key) => {
                let signature: ecdsa::Signature = ecdsa::SigningKey::from(key).sign(message);
                signature.to_der().as_bytes().to_vec()
            }
            Self::Rsa(key) => {
                let key = rsa::pkcs1v15::SigningKey::<Sha512>::new((**key).clone());
                key.try_sign(message).map_err(|_| KeyError::CannotSign)?.to_vec()
            }
            Self::Other(_) => return Err(KeyError::CannotSign),
        })
    }

    /// Whether this key signed a message with `algorithm`; none if the algorithm is unknown here.
    pub(super) fn verifies(
        &self,
        algorithm: ObjectIdentifier,
        message: &[u8],
        signature: &[u8],
    ) -> Option<bool> {
        match self {
            Self::Ed25519(key) => {
                let signature = ed25519_dalek::Signature::from_slice(signature);
                Some(signature.is_ok_and(|signature| key.verify(message, &signature).is_ok()))
            }
            Self::P256(key) => {
                if algorithm != ECDSA_WITH_SHA256 {
                    return None;
                }
                let public = ecdsa::VerifyingKey::from(key.public_key());
                let signature = ecdsa::Signature::from_der(signature);
                Some(signature.is_ok_and(|signature| public.verify(message, &signature).is_ok()))
            }
            Self::Rsa(key) => {
                let (scheme, digest) = match algorithm {
                    SHA256_WITH_RSA => (Pkcs1v15Sign::new::<Sha256>(), Sha256::digest(message).to_vec()),
                    SHA384_WITH_RSA => (Pkcs1v15Sign::new::<Sha384>(), Sha384::digest(message).to_vec()),
                    SHA512_WITH_RSA => (Pkcs1v15Sign::new::<Sha512>(), Sha512::digest(message).to_vec()),
                    _ => return None,
                };
                Some(key.to_public_key().verify(scheme, &digest, signature).is_ok())
            }
            Self::Other(_) => None,
        }
    }
}

fn rsa(der: &[u8]) -> Result<PrivateKey, KeyError> {
    let key = RsaPrivateKey::from_pkcs1_der(der).map_err(|_| KeyError::Content("RSA"))?;
    Ok(PrivateKey::Rsa(Box::new(key)))
}

/// Reads an elliptic curve key; PKCS#8 names the curve around it.
fn ec(der: &[u8], outer: Option<ObjectIdentifier>) -> Result<PrivateKey, KeyError> {
    let wrong = KeyError::Content("ECDSA");
    let key = EcPrivateKey::try_from(der).map_err(|_| wrong.clone())?;
    let curve = outer.or_else(|| key.parameters.and_then(|parameters| parameters.named_curve()));
    match curve {
        Some(P256) => {
            // Go takes a key that is written with leading zeros, or without.
            let digits = key.private_key.iter().position(|byte| *byte != 0).unwrap_or(key.private_key.len());
            let digits = &key.private_key[digits..];
            let mut full = [0; 32];
            let start = full.len().checked_sub(digits.len()).ok_or(wrong.clone())?;
            full[start..].copy_from_slice(digits);
            p256::SecretKey::from_slice(&full).map(PrivateKey::P256).map_err(|_| wrong)
        }
        Some(curve) if OTHER_CURVES.contains(&curve) => {
            Ok(PrivateKey::Other(key.public_key.map(<[u8]>::to_vec)))
        }
        _ => Err(wrong),
    }
}

fn pkcs8(der: &[u8]) -> Result<PrivateKey, KeyError> {
    let info = PrivateKeyInfo::from_der(der).map_err(|_| KeyError::Content("PKCS#8"))?;
    match info.algorithm.oid {
        RSA => rsa(info.private_key),
        EC => ec(info.private_key, info.algorithm.parameters_oid().ok()),
        ED25519 => {
            let pair = KeypairBytes::try_from(info).map_err(|_| KeyError::Content("Ed25519"))?;
            Ok(PrivateKey::Ed25519(ed25519_dalek::SigningKey::from_bytes(&pair.secret_key)))
        }
        X25519 => Ok(PrivateKey::Other(None)),
        _ => Err(KeyError::Content("RSA, ECDSA or Ed25519")),
    }
}
