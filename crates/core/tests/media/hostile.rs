//! Corrupt, truncated and malicious images.

use ichor_image::media::{FileSystem, Image, ImageError, fat, iso9660};
use proptest::prelude::*;

use crate::media::volumes::cidata;

/// Reads as much as possible.
fn read(image: &dyn Image) -> Result<usize, ImageError> {
    let found = FileSystem::open(image)?;
    Ok(found.files.iter().filter_map(|file| found.read(image, file).ok()).map(|bytes| bytes.len()).sum())
}

fn images() -> [Vec<u8>; 2] {
    let case = cidata();
    [iso9660::write(&case.volume()), fat::write(&case.volume())]
}

#[test]
fn a_truncated_image_is_reported() {
    for image in images() {
        for length in (0..image.len()).step_by(509) {
            let _ = read(&image[..length].to_vec());
        }
        let error = FileSystem::open(&image[..1000].to_vec()).unwrap_err();
        assert!(matches!(error, ImageError::Unknown | ImageError::CutOff { .. }), "{error}");
    }
}

#[test]
fn a_cyclic_cluster_chain_ends() {
    let mut stick = fat::write(&cidata().volume());
    // The entry of cluster 2 points to cluster 2, in both tables or in one.
    stick[512 + 3] = 2;

    let found = FileSystem::open(&stick).unwrap();

    assert_eq!(found.read(&stick, found.find("user-data").unwrap()).unwrap().len(), 24_000);
}

#[test]
fn a_file_with_a_huge_declared_size_is_not_read() {
    let mut cd = iso9660::write(&cidata().volume());
    let name = cd.windows(12).position(|bytes| bytes == b"USER_DATA.;1").unwrap();
    cd[name - 33 + 10..name - 33 + 14].copy_from_slice(&u32::MAX.to_le_bytes());

    let found = FileSystem::open(&cd).unwrap();
    let error = found.read(&cd, found.find("user-data").unwrap()).unwrap_err();

    assert!(matches!(error, ImageError::Long { length: 0xffff_ffff, .. }), "{error}");
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..4096)) {
        let _ = read(&bytes);
    }

    #[test]
    fn a_corrupt_image_is_read_or_rejected(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>(), any::<bool>()), 1..40),
    ) {
        for mut image in images() {
            for (index, byte, early) in &changes {
                // Most of an image is file contents; the structures before them matter more.
                let reach = if *early { 4096 } else { image.len() };
                let start = if *early && image.starts_with(&[0]) { 16 * 2048 } else { 0 };
                let at = start + index.index(reach);
                if let Some(old) = image.get_mut(at) {
                    *old = *byte;
                }
            }
            let _ = read(&image);
        }
    }

    #[test]
    fn any_files_are_read_back(
        lengths in proptest::collection::btree_map("[A-Z0-9_-][a-z0-9._-]{0,62}[a-z]", 0..9000_usize, 0..8),
    ) {
        let mut files: Vec<(String, Vec<u8>)> = Vec::new();
        for (name, length) in lengths {
            if !files.iter().any(|(other, _)| other.eq_ignore_ascii_case(&name)) {
                files.push((name, crate::media::volumes::noise(length, length as u64)));
            }
        }
        let case = crate::media::volumes::Case { label: "any", files };

        for image in [iso9660::write(&case.volume()), fat::write(&case.volume())] {
            let found = FileSystem::open(&image).unwrap();

            prop_assert_eq!(found.files.len(), case.files.len());
            for (name, bytes) in &case.files {
                let file = found.files.iter().find(|file| file.name == *name);
                prop_assert_eq!(&found.read(&image, file.unwrap()).unwrap(), bytes);
            }
        }
    }
}
