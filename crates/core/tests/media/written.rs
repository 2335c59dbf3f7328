//! Volumes are read back unchanged and have the same bytes every time.

use std::collections::BTreeMap;

use ichor_image::media::{FileSystem, FileSystemType, Image, SMALLEST, Volume, fat, iso9660};
use ichor_talos::digest::sha256;

use crate::media::volumes::{Case, all, cidata};

/// Every file, as found by the reader.
fn files(image: &dyn Image) -> (FileSystemType, String, BTreeMap<String, Vec<u8>>) {
    let found = FileSystem::open(image).unwrap();
    let read = found.files.iter().map(|file| (file.name.clone(), found.read(image, file).unwrap())).collect();
    (found.kind, found.label, read)
}

fn expected(case: &Case) -> BTreeMap<String, Vec<u8>> {
    case.files.iter().cloned().collect()
}

/// The same ISO without Rock Ridge, and then without Joliet.
fn without(mut image: Vec<u8>, joliet: bool) -> Vec<u8> {
    let entry = image.windows(6).position(|bytes| bytes == b"SP\x07\x01\xbe\xef").unwrap();
    image[entry] = b'X';
    if !joliet {
        image[17 * 2048] = 3;
    }
    image
}

#[test]
fn volumes_are_read_back_unchanged() {
    for case in all() {
        let (cd, stick) = (iso9660::write(&case.volume()), fat::write(&case.volume()));

        assert_eq!(
            files(&cd),
            (FileSystemType::Iso9660, case.label.to_owned(), expected(&case)),
            "{}",
            case.label
        );
        assert_eq!(
            files(&stick),
            (FileSystemType::Fat12, case.label.to_owned(), expected(&case)),
            "{}",
            case.label
        );
    }
}

#[test]
fn joliet_keeps_names_and_plain_iso9660_names_are_lower_case() {
    let cd = iso9660::write(&cidata().volume());

    let (_, _, joliet) = files(&without(cd.clone(), true));
    let (_, label, plain) = files(&without(cd, false));

    assert_eq!(joliet, expected(&cidata()));
    assert_eq!(label, "cidata");
    assert_eq!(plain.keys().collect::<Vec<_>>(), ["meta_data", "network_config", "user_data"]);
    assert_eq!(plain["user_data"], expected(&cidata())["user-data"]);
}

#[test]
fn config_volumes_are_small_but_large_enough_for_talos() {
    let case = cidata();

    let (cd, stick) = (iso9660::write(&case.volume()), fat::write(&case.volume()));

    assert_eq!(cd.len(), SMALLEST);
    assert!((SMALLEST..SMALLEST + 4096).contains(&stick.len()), "{}", stick.len());
    let none = Case { label: "none", files: Vec::new() };
    assert_eq!(iso9660::write(&none.volume()).len(), SMALLEST);
    let large = all().into_iter().find(|case| case.label == "large").unwrap();
    assert!(iso9660::write(&large.volume()).len() < 5_000_000 + 32 * 2048);
}

#[test]
fn the_same_volume_is_the_same_bytes_on_every_machine() {
    let case = cidata();

    assert_eq!(sha256(&iso9660::write(&case.volume())), CD);
    assert_eq!(sha256(&fat::write(&case.volume())), STICK);
}

const CD: &str = "61f069b44e3b4b9e70792064f604f10e4131dff5a3e613cf75b506dde75e6377";
const STICK: &str = "77ccd74f1899f73e3f0860077453353e803505ffcd3b83b0296548050d86e648";

#[test]
fn both_allocation_tables_are_equal() {
    // Numbers of clusters around the one at which the table needs a second sector.
    for clusters in 330..350 {
        let bytes = vec![1; clusters * 512];
        let stick = fat::write(&Volume::new("cidata", vec![("file", &bytes)]).unwrap());

        let length = usize::from(u16::from_le_bytes([stick[22], stick[23]])) * 512;
        assert_eq!(stick[512..][..length], stick[512 + length..][..length], "{clusters}");
        assert_eq!(FileSystem::open(&stick).unwrap().files.len(), 1, "{clusters}");
    }
}

#[test]
fn numbers_on_an_iso_are_equal_in_both_byte_orders() {
    for case in all() {
        let cd = iso9660::write(&case.volume());

        for sector in [16, 17] {
            let descriptor = &cd[sector * 2048..][..2048];
            for place in [80, 132, 158, 166] {
                let number: [u8; 8] = descriptor[place..place + 8].try_into().unwrap();
                let (low, high) = (u32::from_le_bytes(number[..4].try_into().unwrap()), &number[4..]);
                assert_eq!(low.to_be_bytes(), high, "{} {place}", case.label);
            }
            for place in [120, 124, 128, 184] {
                let number = &descriptor[place..place + 4];
                assert_eq!((number[0], number[1]), (number[3], number[2]), "{} {place}", case.label);
            }
        }
        let sectors = u32::from_le_bytes(cd[16 * 2048 + 80..][..4].try_into().unwrap());
        assert_eq!(u64::from(sectors) * 2048, cd.size(), "{}", case.label);
    }
}

#[test]
fn names_on_fat_are_case_insensitive() {
    let case = cidata();
    let (cd, stick) = (iso9660::write(&case.volume()), fat::write(&case.volume()));

    let (cd, stick) = (FileSystem::open(&cd).unwrap(), FileSystem::open(&stick).unwrap());

    assert!(stick.find("USER-DATA").is_some() && cd.find("user-data").is_some());
    assert!(cd.find("USER-DATA").is_none());
}
