//! Disks to inspect, made here byte by byte.

use std::io::Write;

use flate2::Crc;
use flate2::write::DeflateEncoder;
use ichor_image::media::{Volume, fat, iso9660};
use sha2::{Digest as _, Sha256};

pub const SECTOR: usize = 512;

/// The start of the first partition.
const FIRST: usize = 40;

/// A volume as FAT, of the label and with the files.
pub fn stick(label: &str, files: &[(&str, &str)]) -> Vec<u8> {
    let files = files.iter().map(|(name, text)| (*name, text.as_bytes())).collect();
    fat::write(&Volume::new(label, files).unwrap())
}

/// The same, as short as its files let it be: shorter than Talos looks into.
pub fn short_stick(label: &str, files: &[(&str, &str)]) -> Vec<u8> {
    let mut stick = stick(label, files);
    stick.truncate(80 * SECTOR);
    stick[19..21].copy_from_slice(&80_u16.to_le_bytes());
    stick
}

/// A CD with a label and plain names only: its Joliet descriptor ends the list, and it has no Rock Ridge signature.
pub fn plain_cd(label: &str, files: &[(&str, &str)]) -> Vec<u8> {
    const CD_SECTOR: usize = 2048;
    let files = files.iter().map(|(name, text)| (*name, text.as_bytes())).collect();
    let mut cd = iso9660::write(&Volume::new(label, files).unwrap());
    cd[17 * CD_SECTOR] = 255;
    let announced = cd.windows(4).position(|bytes| bytes == [b'S', b'P', 7, 1]).unwrap();
    cd[announced] = b'X';
    cd
}

/// A disk with a GPT and these partitions, by their labels.
pub fn gpt(partitions: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut entries = vec![0; 128 * 128];
    let mut data = Vec::new();
    for (nth, (label, bytes)) in partitions.iter().enumerate() {
        let start = FIRST + data.len() / SECTOR;
        data.extend(bytes);
        data.resize(data.len().next_multiple_of(SECTOR), 0);
        let entry = &mut entries[nth * 128..][..128];
        entry[..16].fill(1);
        put(entry, 32, start as u64);
        put(entry, 40, (FIRST + data.len() / SECTOR - 1) as u64);
        for (nth, letter) in label.encode_utf16().enumerate() {
            entry[56 + 2 * nth..][..2].copy_from_slice(&letter.to_le_bytes());
        }
    }
    let last_usable = FIRST + data.len() / SECTOR;
    let mut disk = vec![0; SECTOR];
    disk.extend(header(&entries, last_usable));
    disk.extend(&entries);
    disk.resize(FIRST * SECTOR, 0);
    disk.extend(data);
    disk.resize((last_usable + 40) * SECTOR, 0);
    disk
}

fn header(entries: &[u8], last_usable: usize) -> Vec<u8> {
    let mut head = vec![0; SECTOR];
    head[..8].copy_from_slice(b"EFI PART");
    head[12..16].copy_from_slice(&92_u32.to_le_bytes());
    put(&mut head, 24, 1);
    put(&mut head, 40, FIRST as u64);
    put(&mut head, 48, last_usable as u64);
    put(&mut head, 72, 2);
    head[80..84].copy_from_slice(&128_u32.to_le_bytes());
    head[84..88].copy_from_slice(&128_u32.to_le_bytes());
    head[88..92].copy_from_slice(&crc(entries).to_le_bytes());
    let sum = crc(&head[..92]);
    head[16..20].copy_from_slice(&sum.to_le_bytes());
    head
}

fn crc(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
}

fn put(bytes: &mut [u8], at: usize, number: u64) {
    bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
}

/// A disk with an MBR and one partition.
pub fn mbr(bytes: &[u8]) -> Vec<u8> {
    let mut disk = vec![0; 64 * SECTOR];
    disk[446 + 4] = 0x0c;
    disk[446 + 8..446 + 12].copy_from_slice(&64_u32.to_le_bytes());
    disk[446 + 12..446 + 16].copy_from_slice(&u32::try_from(bytes.len() / SECTOR).unwrap().to_le_bytes());
    disk[510..512].copy_from_slice(&[0x55, 0xaa]);
    disk.extend(bytes);
    disk
}

/// The META partition with these values.
pub fn meta(values: &[(u32, &str)]) -> Vec<u8> {
    let mut copy = 0x5a4b_3c2d_u32.to_be_bytes().to_vec();
    for (key, value) in values {
        copy.extend(key.to_be_bytes());
        copy.extend(u32::try_from(value.len()).unwrap().to_be_bytes());
        copy.extend(value.as_bytes());
    }
    copy.resize((256 << 10) - 4, 0);
    copy.extend(0xa5b4_c3d2_u32.to_be_bytes());
    let (sum, at) = (Sha256::digest(&copy), (256 << 10) - 36);
    copy[at..at + 32].copy_from_slice(&sum);
    let mut partition = [copy.clone(), copy].concat();
    partition.resize(1 << 20, 0);
    partition
}

/// A unified kernel image that boots with a command line.
pub fn uki(line: &str) -> Vec<u8> {
    let mut image = vec![0; 0x400];
    image[..2].copy_from_slice(b"MZ");
    image[0x3c] = 0x80;
    image[0x80..0x84].copy_from_slice(b"PE\0\0");
    image[0x86] = 2;
    for (at, name, length) in [(0x98, ".osrel", 4), (0x98 + 40, ".cmdline", line.len() + 1)] {
        let length = u32::try_from(length).unwrap().to_le_bytes();
        image[at..at + name.len()].copy_from_slice(name.as_bytes());
        image[at + 8..at + 12].copy_from_slice(&length);
        image[at + 16..at + 20].copy_from_slice(&512_u32.to_le_bytes());
        image[at + 20..at + 24].copy_from_slice(&0x400_u32.to_le_bytes());
    }
    image.extend(line.as_bytes());
    image.resize(0x600, 0);
    image
}

/// A qcow2 image of a disk, with clusters of 4 KiB: empty ones are holes, and every third is compressed.
pub fn qcow2(disk: &[u8]) -> Vec<u8> {
    const CLUSTER: usize = 4096;
    let tables = disk.len().div_ceil(CLUSTER * CLUSTER / 8);
    let mut image = vec![0; CLUSTER * (2 + tables)];
    image[..4].copy_from_slice(b"QFI\xfb");
    for (at, number) in [(4, 3), (20, 12), (36, tables), (100, 104)] {
        image[at..at + 4].copy_from_slice(&u32::try_from(number).unwrap().to_be_bytes());
    }
    image[24..32].copy_from_slice(&(disk.len() as u64).to_be_bytes());
    image[40..48].copy_from_slice(&(CLUSTER as u64).to_be_bytes());
    for nth in 0..tables {
        let place = ((2 + nth) * CLUSTER) as u64;
        image[CLUSTER + nth * 8..][..8].copy_from_slice(&place.to_be_bytes());
    }
    for (nth, cluster) in disk.chunks(CLUSTER).enumerate() {
        if cluster.iter().all(|byte| *byte == 0) {
            continue;
        }
        let mut stored = cluster.to_vec();
        stored.resize(CLUSTER, 0);
        let entry = if nth % 3 == 0 {
            let place = image.len() as u64;
            let mut packer = DeflateEncoder::new(&mut image, flate2::Compression::best());
            packer.write_all(&stored).unwrap();
            packer.finish().unwrap();
            let sectors = (image.len() as u64 - 1) / 512 - place / 512;
            1 << 62 | sectors << (62 - 4) | place
        } else {
            image.resize(image.len().next_multiple_of(CLUSTER), 0);
            let place = image.len() as u64;
            image.extend(stored);
            place
        };
        image[2 * CLUSTER + nth * 8..][..8].copy_from_slice(&entry.to_be_bytes());
    }
    image
}

/// A disk of Talos, as the Image Factory makes them but for its sizes, with a nocloud volume on it.
pub fn talos(line: &str, values: &[(u32, &str)], state: &[u8]) -> Vec<u8> {
    let volume = stick(
        "other",
        &[("user-data", "#cloud-config\n"), ("network-config", "version: 2\nethernets: {}\n")],
    );
    let mut state = state.to_vec();
    state.resize(1 << 16, 0);
    gpt(&[("EFI", boot(line)), ("META", meta(values)), ("STATE", state), ("cidata", volume)])
}

/// A FAT16 with the kernel image `EFI/Linux/Talos-v1.13.9.efi`, whose clusters are not in order.
pub fn boot(line: &str) -> Vec<u8> {
    // One reserved sector, one table of 32 sectors, 32 records, then clusters of one sector.
    let mut disk = vec![0; SECTOR * (1 + 32 + 2 + 5000)];
    disk[11..13].copy_from_slice(&512_u16.to_le_bytes());
    (disk[13], disk[14], disk[16], disk[17], disk[21], disk[22]) = (1, 1, 1, 32, 0xf8, 32);
    disk[19..21].copy_from_slice(&5035_u16.to_le_bytes());
    disk[43..62].copy_from_slice(b"EFI        FAT16   ");
    let data = 35 * SECTOR;
    let record = |name: &[u8; 11], folder: bool, cluster: u16, length: usize| {
        let mut record = vec![0; 32];
        record[..11].copy_from_slice(name);
        record[11] = if folder { 0x10 } else { 0x20 };
        record[26..28].copy_from_slice(&cluster.to_le_bytes());
        record[28..32].copy_from_slice(&u32::try_from(length).unwrap().to_le_bytes());
        record
    };
    let kernel = uki(line);
    for (at, record) in [
        (33 * SECTOR, record(b"EFI        ", true, 2, 0)),
        (data, record(b"LINUX      ", true, 3, 0)),
        (data + SECTOR, record(b"TALOS   EFI", false, 10, kernel.len())),
    ] {
        disk[at..at + 32].copy_from_slice(&record);
    }
    // The kernel image goes from cluster 10 backwards.
    let chain: Vec<u16> = (10 - u16::try_from(kernel.len() / SECTOR).unwrap() + 1..=10).rev().collect();
    for (nth, cluster) in chain.iter().enumerate() {
        let next = chain.get(nth + 1).copied().unwrap_or(0xffff);
        let at = SECTOR + usize::from(*cluster) * 2;
        disk[at..at + 2].copy_from_slice(&next.to_le_bytes());
        let at = data + usize::from(*cluster - 2) * SECTOR;
        disk[at..at + SECTOR].copy_from_slice(&kernel[nth * SECTOR..][..SECTOR]);
    }
    for folder in [2, 3] {
        disk[SECTOR + folder * 2..][..2].copy_from_slice(&0xffff_u16.to_le_bytes());
    }
    disk
}
