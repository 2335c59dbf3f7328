//! A CD from a volume.

use super::descriptor::{self, Letters, Places};
use super::name::{identifiers, split};
use super::number::sectors;
use super::record::{ABOVE, Extent, HERE, Record, folder, folder_length};
use super::{FIRST_DESCRIPTOR, SECTOR, rock_ridge};
use crate::media::{SMALLEST, Volume};

/// Two descriptors and the end of them.
const PATH_TABLES: usize = FIRST_DESCRIPTOR + 3;

/// Two path tables for each descriptor.
const FOLDERS: usize = PATH_TABLES + 4;

/// The CD with the files of a volume.
///
/// It has no padding after the last file: that was for drives that read ahead, and no file is on a disc here.
pub fn write(volume: &Volume<'_>) -> Vec<u8> {
    let names: Vec<&str> = volume.files().iter().map(|(name, _)| *name).collect();
    let lengths: Vec<usize> = volume.files().iter().map(|(_, bytes)| bytes.len()).collect();
    // The length of a folder depends on nothing that is not known yet, so folders are laid out twice.
    let nowhere = Layout::starting(&lengths, 0, 0);
    let layout = Layout::starting(
        &lengths,
        folder_length(&plain(&names, &nowhere)),
        folder_length(&joliet(&names, &nowhere)),
    );
    let mut bytes = vec![0; FIRST_DESCRIPTOR * SECTOR];
    for (letters, path_table, root) in
        [(Letters::Plain, PATH_TABLES, layout.plain), (Letters::Wide, PATH_TABLES + 2, layout.joliet)]
    {
        let places = Places { sectors: layout.sectors, path_table, root };
        put(&mut bytes, &descriptor::volume(letters, volume.label(), &places));
    }
    put(&mut bytes, &descriptor::end());
    for root in [layout.plain, layout.joliet] {
        for table in descriptor::path_tables(root) {
            put(&mut bytes, &table);
        }
    }
    put(&mut bytes, &folder(&plain(&names, &layout)));
    put(&mut bytes, &rock_ridge::extension());
    put(&mut bytes, &folder(&joliet(&names, &layout)));
    for (_, file) in volume.files() {
        put(&mut bytes, file);
    }
    bytes.resize(layout.sectors * SECTOR, 0);
    bytes
}

/// Adds something that starts at a sector of its own.
fn put(bytes: &mut Vec<u8>, part: &[u8]) {
    bytes.extend(part);
    let end = bytes.len() - part.len() + sectors(part.len()) * SECTOR;
    bytes.resize(end, 0);
}

/// Where everything is.
struct Layout {
    plain: Extent,
    /// The rest of what the root folder says of Rock Ridge.
    rest: usize,
    joliet: Extent,
    files: Vec<Extent>,
    sectors: usize,
}

impl Layout {
    fn starting(files: &[usize], plain: usize, joliet: usize) -> Self {
        let mut next = FOLDERS;
        let mut place = |length| {
            let sector = next;
            next += sectors(length);
            Extent { sector, length }
        };
        let plain = place(plain);
        let rest = place(rock_ridge::extension().len()).sector;
        let joliet = place(joliet);
        let files = files.iter().map(|length| place(*length)).collect();
        Self { plain, rest, joliet, files, sectors: next.max(SMALLEST / SECTOR) }
    }
}

/// The root folder with plain names and Rock Ridge.
fn plain(names: &[&str], layout: &Layout) -> Vec<Record> {
    let mut files: Vec<_> = identifiers(names).into_iter().zip(names).zip(&layout.files).collect();
    files.sort_by(|((one, _), _), ((other, _), _)| order(one).cmp(&order(other)));
    let files = files.into_iter().map(|((identifier, name), extent)| Record {
        identifier: identifier.into_bytes(),
        extent: *extent,
        more: rock_ridge::file(name),
    });
    let folders = [
        Record::folder(HERE, layout.plain, rock_ridge::root(layout.rest)),
        Record::folder(ABOVE, layout.plain, rock_ridge::above()),
    ];
    folders.into_iter().chain(files).collect()
}

/// The root folder with Joliet's names. They have no version: some programs show it, and genisoimage and xorriso write none.
fn joliet(names: &[&str], layout: &Layout) -> Vec<Record> {
    let mut files: Vec<_> = names.iter().zip(&layout.files).collect();
    files.sort_by_key(|(name, _)| order(name));
    let files = files.into_iter().map(|(name, extent)| Record {
        identifier: Letters::Wide.write(name),
        extent: *extent,
        more: Vec::new(),
    });
    let folders = [HERE, ABOVE].map(|name| Record::folder(name, layout.joliet, Vec::new()));
    folders.into_iter().chain(files).collect()
}

/// The order of records (ECMA-119 9.3): by name, then by extension; what is shorter comes first.
fn order(identifier: &str) -> (&str, &str) {
    split(identifier.strip_suffix(";1").unwrap_or(identifier))
}
