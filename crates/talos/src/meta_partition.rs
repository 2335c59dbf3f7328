//! The META partition: values by their keys, twice.
//!
//! Talos takes the first copy that is intact. If both are corrupt, it silently starts without values.

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};

use super::meta::Value;

/// The length of one copy.
const COPY: usize = 256 << 10;

/// The length of both copies.
pub const LENGTH: usize = 2 * COPY;

/// The magic numbers of a copy, and the length of the checksum before its end.
const BEGIN: [u8; 4] = 0x5a4b_3c2d_u32.to_be_bytes();
const END: [u8; 4] = 0xa5b4_c3d2_u32.to_be_bytes();
const SUM: usize = 32;

/// The space for all values.
const ROOM: usize = COPY - SUM - BEGIN.len() - END.len();

/// Why a partition has no values.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("both copies of the META values are corrupt")]
pub struct AdvError;

/// The values of a META partition, by its first [`LENGTH`] bytes. One that was never written to has none.
pub fn read(bytes: &[u8]) -> Result<Vec<Value>, AdvError> {
    if bytes.iter().all(|byte| *byte == 0) {
        return Ok(Vec::new());
    }
    bytes.chunks_exact(COPY).take(2).find_map(copy).ok_or(AdvError)
}

/// Why values cannot be on a META partition.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// Zero ends the values.
    #[error("0 is not a META key; want 1 to 255")]
    Key,
    /// They are too long.
    #[error("META values of {0} bytes together are too long; want at most {ROOM}, with 8 more for each")]
    Long(usize),
}

/// The first [`LENGTH`] bytes of a META partition with these values, of which the last of a key counts.
pub fn write(values: &[Value]) -> Result<Vec<u8>, WriteError> {
    let values: BTreeMap<u8, &str> = values.iter().map(|value| (value.key, value.value.as_str())).collect();
    if values.contains_key(&0) {
        return Err(WriteError::Key);
    }
    let length = values.values().map(|value| value.len()).fold(0, usize::saturating_add);
    if length.saturating_add(values.len() * 8) > ROOM {
        return Err(WriteError::Long(length));
    }
    let mut copy = BEGIN.to_vec();
    for (key, value) in values {
        copy.extend(u32::from(key).to_be_bytes());
        copy.extend(u32::try_from(value.len()).expect("shorter than the room").to_be_bytes());
        copy.extend(value.as_bytes());
    }
    copy.resize(COPY - END.len(), 0);
    copy.extend(END);
    let sum = Sha256::digest(&copy);
    copy[COPY - SUM - END.len()..COPY - END.len()].copy_from_slice(&sum);
    Ok(copy.repeat(2))
}

fn copy(bytes: &[u8]) -> Option<Vec<Value>> {
    let (data, sum) = bytes.strip_prefix(&BEGIN)?.strip_suffix(&END)?.split_at_checked(ROOM)?;
    let mut hash = Sha256::new();
    for part in [&BEGIN[..], data, &[0; SUM], &END] {
        hash.update(part);
    }
    (hash.finalize()[..] == *sum).then(|| records(data))?
}

/// The records of a copy; the last of a key counts.
fn records(mut data: &[u8]) -> Option<Vec<Value>> {
    let mut values = BTreeMap::new();
    while let Some((head, rest)) = data.split_at_checked(8) {
        let number = |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let (tag, length) = (number(0), number(4));
        if tag == 0 {
            break;
        }
        let (value, after) = rest.split_at_checked(usize::try_from(length).ok()?)?;
        // Talos keeps the lowest byte of a key.
        values.insert(tag.to_be_bytes()[3], String::from_utf8_lossy(value).into_owned());
        data = after;
    }
    Some(values.into_iter().map(|(key, value)| Value { key, value }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest;

    fn value(key: u8, value: &str) -> Value {
        Value { key, value: value.to_owned() }
    }

    #[test]
    fn a_partition_of_talos_is_read() {
        let bytes = write(&[value(10, "foo")]).unwrap();

        assert_eq!(
            digest::sha256(&bytes),
            "aa8b339db58ea0108ef2ebfb7ca3d49f7bb58d71a4f5cf5a23f4dbd9dbff5a59"
        );
        assert_eq!(read(&bytes), Ok(vec![value(10, "foo")]));
        let values = [value(12, "b"), value(10, "a"), value(10, "c")];
        assert_eq!(read(&write(&values).unwrap()), Ok(vec![value(10, "c"), value(12, "b")]));
        assert_eq!(read(&vec![0; LENGTH]), Ok(Vec::new()));
    }

    #[test]
    fn an_oversized_value_is_rejected() {
        let most = "m".repeat(ROOM - 8);

        assert_eq!(read(&write(&[value(10, &most)]).unwrap()), Ok(vec![value(10, &most)]));
        assert_eq!(write(&[value(10, &most), value(11, "")]), Err(WriteError::Long(ROOM - 8)));
        assert_eq!(write(&[value(0, "a")]), Err(WriteError::Key));
    }

    #[test]
    fn the_second_copy_replaces_a_corrupt_first() {
        let mut bytes = write(&[value(10, "foo")]).unwrap();
        bytes[20] ^= 1;
        assert_eq!(read(&bytes), Ok(vec![value(10, "foo")]));

        bytes[COPY + 20] ^= 1;
        assert_eq!(read(&bytes), Err(AdvError));
    }

    #[test]
    fn a_value_beyond_the_end_is_rejected() {
        let mut bytes = write(&[value(10, "foo")]).unwrap();
        for start in [0, COPY] {
            let copy = &mut bytes[start..start + COPY];
            copy[8..12].copy_from_slice(&u32::MAX.to_be_bytes());
            copy[COPY - 36..COPY - 4].fill(0);
            let sum = Sha256::digest(&*copy);
            copy[COPY - 36..COPY - 4].copy_from_slice(&sum);
        }

        assert_eq!(read(&bytes), Err(AdvError));
        assert_eq!(read(&bytes[..1000]), Err(AdvError));
    }
}
