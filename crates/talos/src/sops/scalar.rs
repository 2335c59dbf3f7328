//! An encrypted value: `ENC[AES256_GCM,data:…,iv:…,tag:…,type:…]`.

use aes_gcm::aead::consts::{U12, U32};
use aes_gcm::aead::generic_array::GenericArray;
use aes_gcm::aead::{AeadInPlace as _, KeyInit as _};
use aes_gcm::aes::Aes256;
use aes_gcm::{AesGcm, Tag};
use serde_json::{Number, Value};

use super::SopsError;
use crate::go::base64;

/// The key that encrypts every value of a file.
pub(super) type DataKey = [u8; 32];
/// The nonce of an encrypted value.
pub(super) type Nonce = [u8; 32];

/// Whether a text has the form of an encrypted value.
pub(super) fn is_encrypted(text: &str) -> bool {
    text.starts_with("ENC[AES256_GCM,")
}

/// The bytes of a value for the MAC and for encryption; none for null, lists and maps.
pub(super) fn bytes(value: &Value) -> Option<(&'static str, Vec<u8>)> {
    match value {
        Value::String(text) => Some(("str", text.clone().into_bytes())),
        Value::Bool(true) => Some(("bool", b"True".to_vec())),
        Value::Bool(false) => Some(("bool", b"False".to_vec())),
        Value::Number(number) if number.is_i64() || number.is_u64() => {
            Some(("int", number.to_string().into_bytes()))
        }
        Value::Number(number) => Some(("float", float(number).into_bytes())),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// As Go writes a float: no exponent, no digits that are not needed.
fn float(number: &Number) -> String {
    format!("{}", number.as_f64().unwrap_or(f64::NAN))
}

/// Encrypts a value at `path`. Empty text stays as it is: SOPS itself could not read it back.
pub(super) fn seal(value: &Value, key: &DataKey, path: &str, nonce: &Nonce) -> String {
    let Some((kind, mut data)) = bytes(value).filter(|(_, data)| !data.is_empty()) else {
        return String::new();
    };
    let cipher = AesGcm::<Aes256, U32>::new(key.into());
    let tag = cipher
        .encrypt_in_place_detached(nonce.into(), path.as_bytes(), &mut data)
        .expect("values are shorter than the 64 GiB that GCM takes");
    let (data, iv, tag) = (base64::encode(data), base64::encode(nonce), base64::encode(tag));
    format!("ENC[AES256_GCM,data:{data},iv:{iv},tag:{tag},type:{kind}]")
}

/// Decrypts a value at `path`; `shown` is the path in messages.
pub(super) fn open(text: &str, key: &DataKey, path: &str, shown: &str) -> Result<Value, SopsError> {
    if text.is_empty() {
        return Ok(Value::from(""));
    }
    if !is_encrypted(text) {
        return Err(SopsError::InTheClear(shown.to_owned()));
    }
    let parts = EncryptedScalar::read(text).ok_or_else(|| SopsError::Malformed(shown.to_owned()))?;
    let plain = parts.decrypt(key, path).ok_or_else(|| SopsError::Tampered(shown.to_owned()))?;
    typed(&parts.kind, plain).ok_or_else(|| SopsError::WrongType(shown.to_owned(), parts.kind))
}

struct EncryptedScalar {
    data: Vec<u8>,
    iv: Vec<u8>,
    tag: [u8; 16],
    kind: String,
}

impl EncryptedScalar {
    fn read(text: &str) -> Option<Self> {
        let inner = text.strip_prefix("ENC[AES256_GCM,data:")?.strip_suffix(']')?;
        let (data, rest) = inner.split_once(",iv:")?;
        let (iv, rest) = rest.split_once(",tag:")?;
        let (tag, kind) = rest.split_once(",type:")?;
        let decode = |text| base64::decode(text).ok();
        let tag = decode(tag)?.try_into().ok()?;
        let iv = decode(iv).filter(|iv| [12, 32].contains(&iv.len()))?;
        Some(Self { data: decode(data)?, iv, tag, kind: kind.to_owned() })
    }

    fn decrypt(&self, key: &DataKey, path: &str) -> Option<Vec<u8>> {
        let (mut data, tag, aad) = (self.data.clone(), Tag::from(self.tag), path.as_bytes());
        // SOPS draws 32 bytes; other writers of the format keep to the 12 of GCM.
        let opened = if self.iv.len() == 32 {
            let nonce = GenericArray::<u8, U32>::from_slice(&self.iv);
            AesGcm::<Aes256, U32>::new(key.into()).decrypt_in_place_detached(nonce, aad, &mut data, &tag)
        } else {
            let nonce = GenericArray::<u8, U12>::from_slice(&self.iv);
            AesGcm::<Aes256, U12>::new(key.into()).decrypt_in_place_detached(nonce, aad, &mut data, &tag)
        };
        opened.ok().map(|()| data)
    }
}

/// The value of a type; texts that do not parse are rejected, as SOPS does.
fn typed(kind: &str, plain: Vec<u8>) -> Option<Value> {
    let text = String::from_utf8(plain).ok()?;
    match kind {
        // Moments are kept as the text they are in a file.
        "str" | "bytes" | "time" | "comment" => Some(Value::from(text)),
        "int" => text.parse::<i64>().ok().map(Value::from),
        "float" => shortest(text.parse().ok()?),
        // The words of Go's own boolean parser; SOPS in Python wrote them capitalised.
        "bool" => match text.as_str() {
            "1" | "t" | "T" | "TRUE" | "true" | "True" => Some(Value::Bool(true)),
            "0" | "f" | "F" | "FALSE" | "false" | "False" => Some(Value::Bool(false)),
            _ => None,
        },
        _ => None,
    }
}

/// A number with a point, which SOPS writes as a whole number where it is one: `sops set` stores every number so.
fn shortest(number: f64) -> Option<Value> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() < EXACT {
        #[expect(clippy::cast_possible_truncation, reason = "it is whole and small")]
        return Some(Value::from(number as i64));
    }
    Number::from_f64(number).map(Value::Number)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_type_round_trips() {
        for value in [
            json!("text"),
            json!(""),
            json!(7),
            json!(-7),
            json!(1.5),
            json!(true),
            json!(false),
            json!("ENC["),
        ] {
            let sealed = seal(&value, &[1; 32], "a:b:", &[2; 32]);

            assert_eq!(open(&sealed, &[1; 32], "a:b:", "a.b"), Ok(value));
        }
    }

    #[test]
    fn a_whole_number_that_sops_set_is_whole() {
        assert_eq!(typed("float", b"-1".to_vec()), Some(json!(-1)));
        assert_eq!(typed("float", b"0.5".to_vec()), Some(json!(0.5)));
    }

    #[test]
    fn a_value_is_bound_to_its_place_and_key() {
        let sealed = seal(&json!("x"), &[1; 32], "a:", &[2; 32]);

        let tampered = Err(SopsError::Tampered("b".to_owned()));
        assert_eq!(open(&sealed, &[1; 32], "b:", "b"), tampered);
        assert_eq!(open(&sealed, &[3; 32], "a:", "b"), tampered);
    }

    #[test]
    fn a_float_is_written_without_an_exponent() {
        let float = |value: f64| String::from_utf8(bytes(&json!(value)).unwrap().1).unwrap();

        assert_eq!(
            (float(1e21), float(0.1), float(2.0)),
            ("1000000000000000000000".into(), "0.1".into(), "2".into())
        );
    }
}
