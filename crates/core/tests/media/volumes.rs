//! Volumes to write.

use ichor_image::media::Volume;

/// A label, and files with their contents.
pub struct Case {
    pub label: &'static str,
    pub files: Vec<(String, Vec<u8>)>,
}

impl Case {
    pub fn volume(&self) -> Volume<'_> {
        let files = self.files.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
        Volume::new(self.label, files).unwrap()
    }
}

/// Bytes without long repetitions.
pub fn noise(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    (0..length).map(|_| next()).collect()
}

/// The files of a nocloud machine: a configuration of 24 kB, and two short files.
pub fn cidata() -> Case {
    let files = [("user-data", 24_000), ("meta-data", 60), ("network-config", 25)];
    case("cidata", &files)
}

/// Volumes of many kinds.
pub fn all() -> Vec<Case> {
    let (long, longer) = ("l".repeat(64), "l".repeat(63) + "m");
    let mut many: Vec<(String, usize)> =
        (0..90).map(|nth| (format!("a-longer-name-for-file-{nth}.yaml"), nth)).collect();
    many.extend((0..30).map(|nth| (format!("{nth}"), 2048)));
    let many: Vec<(&str, usize)> = many.iter().map(|(name, length)| (name.as_str(), *length)).collect();
    vec![
        cidata(),
        case("metal-iso", &[("config.yaml", 3000)]),
        case("empty", &[]),
        case("CIDATA", &[("nothing", 0), ("one", 1), ("sector", 2048), ("more", 2049), ("last", 0)]),
        case(
            "names",
            &[("Mixed.Case.yaml", 9), ("a.b.c", 8), ("a-b", 7), ("a.b", 6), (".hidden", 5), ("a_b", 4)],
        ),
        case(
            "long",
            &[
                (&long, 10),
                (&longer, 11),
                ("B", 1),
                ("boot.img", 2),
                ("config1.yaml", 3),
                ("config2.yaml", 4),
            ],
        ),
        case("many", &many),
        case("large", &[("large.bin", 5_000_000), ("small", 3)]),
    ]
}

fn case(label: &'static str, files: &[(&str, usize)]) -> Case {
    let files = files.iter().enumerate();
    let files = files.map(|(nth, (name, length))| ((*name).to_owned(), noise(*length, nth as u64 + 1)));
    Case { label, files: files.collect() }
}
