//! The folders of an existing ISO.

use super::rock_ridge::ID;
use super::{FIRST_DESCRIPTOR, SECTOR, record};
use crate::media::file_system::FileLookup;
use crate::media::image::{Image, ImageError, check_length, low32, piece};
use crate::media::{DirectoryEntry, FileSystem, FileSystemType};

/// The most descriptors that are read, as in Talos.
const MOST_DESCRIPTORS: usize = 16;
/// The longest folder that is read.
const LONGEST_FOLDER: u32 = 1 << 20;
/// The most continuation areas of a record.
const MOST_PIECES: usize = 16;

/// Label and root folder of an ISO; none without a descriptor.
pub(in crate::media) fn open(image: &dyn Image) -> Result<Option<FileSystem>, ImageError> {
    let (mut primary, mut supplementary) = (None, None);
    for nth in 0..MOST_DESCRIPTORS {
        let offset = ((FIRST_DESCRIPTOR + nth) * SECTOR) as u64;
        let Ok(sector) = piece(image, offset, SECTOR, "descriptors") else { break };
        if &sector[1..6] != b"CD001" || sector[0] == 255 {
            break;
        }
        match sector[0] {
            1 => primary = primary.or(Some(sector)),
            2 => supplementary = supplementary.or(Some(sector)),
            _ => {}
        }
    }
    let Some(primary) = primary else { return Ok(None) };
    check_length(image, u64::from(low32(&primary, 80)) * SECTOR as u64)?;
    let root = raw(&primary[156..190]).ok_or(ImageError::Broken("root folder"))?;
    let plain = records(image, root.start, root.length)?;
    let rock_ridge = plain
        .first()
        .map(|here| SystemUseEntries::read(image, &here.more, 0))
        .filter(SystemUseEntries::is_rock_ridge);
    let label = match &supplementary {
        Some(supplementary) => wide(&supplementary[40..72]),
        None => latin(&primary[40..72]),
    };
    let label = label.trim_end_matches([' ', '\0']).to_owned();
    let (names, root) = match (rock_ridge, supplementary.filter(|sector| is_joliet(sector))) {
        (Some(susp), _) => (NameSource::RockRidge { skip: susp.skip }, root),
        (None, Some(joliet)) => {
            (NameSource::Joliet, raw(&joliet[156..190]).ok_or(ImageError::Broken("root folder"))?)
        }
        (None, None) => (NameSource::Plain, root),
    };
    let files = list(image, names, root.start, root.length.into())?;
    let (folds_case, tree) = (names == NameSource::Joliet, FileLookup::Iso9660(names));
    Ok(Some(FileSystem { kind: FileSystemType::Iso9660, label, files, folds_case, tree }))
}

/// Which names of a CD are its files' names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameSource {
    /// Rock Ridge's, after some bytes of every record that are not its.
    RockRidge {
        /// Their number.
        skip: usize,
    },
    /// Joliet's.
    Joliet,
    /// The plain ones.
    Plain,
}

/// The entries of a folder, without `.` and `..`.
pub(in crate::media) fn list(
    image: &dyn Image,
    names: NameSource,
    start: u64,
    length: u64,
) -> Result<Vec<DirectoryEntry>, ImageError> {
    let records = records(image, start, u32::try_from(length).unwrap_or(u32::MAX))?;
    let name = |record: &RawRecord| match names {
        NameSource::RockRidge { skip } => {
            SystemUseEntries::read(image, &record.more, skip).name.unwrap_or_else(|| plain_name(record))
        }
        NameSource::Joliet => without_version(&wide(&record.identifier)).to_owned(),
        NameSource::Plain => plain_name(record),
    };
    // Linux shows no files that only belong to others.
    let others = records
        .iter()
        .filter(|raw| !raw.associated && !matches!(raw.identifier.as_slice(), record::HERE | record::ABOVE));
    let entry = |raw: &RawRecord| DirectoryEntry {
        name: name(raw),
        length: raw.length.into(),
        folder: raw.folder,
        start: raw.start,
    };
    Ok(others.map(entry).collect())
}

fn is_joliet(descriptor: &[u8]) -> bool {
    [b"%/@", b"%/C", b"%/E"].iter().any(|escape| descriptor[88..91] == escape[..])
}

/// A record as stored.
struct RawRecord {
    identifier: Vec<u8>,
    start: u64,
    length: u32,
    folder: bool,
    associated: bool,
    more: Vec<u8>,
}

/// The records of a folder.
fn records(image: &dyn Image, start: u64, length: u32) -> Result<Vec<RawRecord>, ImageError> {
    let length = usize::try_from(length.min(LONGEST_FOLDER)).unwrap_or(usize::MAX);
    let bytes = piece(image, start, length, "folder")?;
    let mut records = Vec::new();
    for sector in bytes.chunks(SECTOR) {
        let mut rest = sector;
        while let Some(size) = rest.first().map(|size| usize::from(*size)).filter(|size| *size > 0) {
            let record = rest.get(..size).and_then(raw).ok_or(ImageError::Broken("folder"))?;
            records.push(record);
            rest = &rest[size..];
        }
    }
    Ok(records)
}

fn raw(bytes: &[u8]) -> Option<RawRecord> {
    let named = usize::from(*bytes.get(record::FIXED - 1)?);
    let identifier = bytes.get(record::FIXED..record::FIXED + named)?;
    let more = bytes.get((record::FIXED + named).next_multiple_of(2)..).unwrap_or_default();
    let sector = u64::from(low32(bytes, 2)) + u64::from(bytes[1]);
    Some(RawRecord {
        identifier: identifier.to_owned(),
        start: sector * SECTOR as u64,
        length: low32(bytes, 10),
        folder: bytes[25] & 2 != 0,
        associated: bytes[25] & 4 != 0,
        more: more.to_owned(),
    })
}

/// A plain name as Linux shows it: small letters, no version, no dot at the end.
fn plain_name(record: &RawRecord) -> String {
    without_version(&latin(&record.identifier)).trim_end_matches('.').to_ascii_lowercase()
}

fn without_version(name: &str) -> &str {
    name.rsplit_once(';').map_or(name, |(name, _)| name)
}

fn latin(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}

fn wide(bytes: &[u8]) -> String {
    let letters = bytes.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]]));
    char::decode_utf16(letters).map(|letter| letter.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

/// The fields of a record's SUSP entries.
#[derive(Default)]
struct SystemUseEntries {
    /// Whether SUSP is used, and how many bytes of every other record it skips.
    used: bool,
    skip: usize,
    extension: bool,
    name: Option<String>,
}

impl SystemUseEntries {
    fn is_rock_ridge(&self) -> bool {
        self.used && self.extension
    }

    /// Reads the entries of a record and its continuation areas, up to the first corrupt one.
    fn read(image: &dyn Image, more: &[u8], skip: usize) -> Self {
        let mut found = Self::default();
        let mut area = more.get(skip..).unwrap_or_default().to_owned();
        for _ in 0..MOST_PIECES {
            let Some((offset, length)) = found.read_area(&area) else { break };
            let Ok(next) = piece(image, offset, length, "Rock Ridge entries") else { break };
            area = next;
        }
        found
    }

    /// Reads one area, and returns the location of the next.
    fn read_area(&mut self, mut area: &[u8]) -> Option<(u64, usize)> {
        let mut next = None;
        while area.len() >= 4 {
            let Some((entry, rest)) =
                area.split_at_checked(usize::from(area[2])).filter(|(entry, _)| entry.len() >= 4)
            else {
                break;
            };
            let body = &entry[4..];
            match &entry[..2] {
                b"SP" if body.starts_with(&[0xbe, 0xef]) => {
                    self.used = true;
                    self.skip = body.get(2).copied().unwrap_or_default().into();
                }
                b"ER" => self.extension |= is_known(body),
                b"NM" => self.add_name(body),
                b"CE" if body.len() >= 24 => {
                    let offset = u64::from(low32(body, 0)) * SECTOR as u64 + u64::from(low32(body, 8));
                    let length = usize::try_from(low32(body, 16)).unwrap_or(usize::MAX).min(SECTOR);
                    next = Some((offset, length));
                }
                b"ST" => break,
                _ => {}
            }
            area = rest;
        }
        next
    }

    fn add_name(&mut self, body: &[u8]) {
        // The names `.` and `..` are only flags.
        if let Some((flags, letters)) = body.split_first()
            && flags & 0b110 == 0
        {
            self.name.get_or_insert_default().push_str(&String::from_utf8_lossy(letters));
        }
    }
}

/// Whether `ER` announces a Rock Ridge that is known.
fn is_known(body: &[u8]) -> bool {
    let id = body.first().and_then(|length| body.get(4..4 + usize::from(*length)));
    id.is_some_and(|id| [ID, "IEEE_P1282", "IEEE_1282"].iter().any(|known| known.as_bytes() == id))
}
