//! Programs with ELF headers only, which do nothing.

/// The numbers of x86-64 and AArch64.
pub const AMD64: u16 = 62;
pub const ARM64: u16 = 183;

/// A program or library for a machine, with a loader, required libraries and search paths.
pub fn elf(machine: u16, loader: Option<&str>, needed: &[&str], runpath: Option<&str>) -> Vec<u8> {
    let mut strings = vec![0];
    let mut text = |text: &str| {
        let at = strings.len() as u64;
        strings.extend_from_slice(text.as_bytes());
        strings.push(0);
        at
    };
    let loader = loader.map(|loader| (text(loader), loader.len() as u64 + 1));
    let mut dynamic: Vec<(u64, u64)> = needed.iter().map(|name| (1, text(name))).collect();
    dynamic.extend(runpath.map(|folders| (29, text(folders))));
    let headers = 2 + u16::from(loader.is_some());
    let dynamic_at = 64 + 56 * u64::from(headers);
    let strings_at = dynamic_at + 16 * (dynamic.len() as u64 + 2);
    dynamic.extend([(5, strings_at), (0, 0)]);
    let length = strings_at + strings.len() as u64;

    let mut bytes = b"\x7fELF\x02\x01\x01".to_vec();
    bytes.resize(16, 0);
    for half in [3, machine] {
        bytes.extend(half.to_le_bytes());
    }
    bytes.extend(1_u32.to_le_bytes());
    for long in [0_u64, 64, 0] {
        bytes.extend(long.to_le_bytes());
    }
    bytes.extend(0_u32.to_le_bytes());
    for half in [64, 56, headers, 0, 0, 0] {
        bytes.extend(half.to_le_bytes());
    }
    let mut segment = |kind: u32, at: u64, size: u64| {
        bytes.extend(kind.to_le_bytes());
        bytes.extend(4_u32.to_le_bytes());
        for long in [at, at, at, size, size, 8] {
            bytes.extend(long.to_le_bytes());
        }
    };
    segment(1, 0, length);
    segment(2, dynamic_at, strings_at - dynamic_at);
    if let Some((at, length)) = loader {
        segment(3, strings_at + at, length);
    }
    for (tag, value) in dynamic {
        bytes.extend(tag.to_le_bytes());
        bytes.extend(value.to_le_bytes());
    }
    bytes.extend(strings);
    bytes
}
