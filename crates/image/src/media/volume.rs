//! The files of a volume.

/// The most that all files may hold together: far more than a configuration, and every form has room for it.
const ROOM: usize = 16 << 20;

/// The most files.
const MOST_FILES: usize = 128;

/// The longest name: Joliet's, which is the shortest of all.
const LONGEST_NAME: usize = 64;

/// The longest label: FAT's.
const LONGEST_LABEL: usize = 11;

/// A label and files in the root folder, of which every form keeps every letter.
#[derive(Clone)]
pub struct Volume<'a> {
    label: &'a str,
    files: Vec<(&'a str, &'a [u8])>,
}

/// Why a volume cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VolumeError {
    /// The label is too long for FAT, or has characters that are not allowed.
    #[error("`{0}` is not a valid volume label; want 1 to {LONGEST_LABEL} of A-Z, a-z, 0-9, `-` and `_`")]
    Label(String),
    /// A name is invalid on one of the file systems.
    #[error(
        "`{0}` is not a valid file name on a volume; want 1 to {LONGEST_NAME} of A-Z, a-z, 0-9, `-`, `_` and `.`, no `.` last"
    )]
    Name(String),
    /// Not every reader distinguishes upper from lower case.
    #[error("two files of the volume are named `{0}`; names are not case-sensitive")]
    Twice(String),
    /// There are too many.
    #[error("{0} files are too many for a volume; want at most {MOST_FILES}")]
    Many(usize),
    /// They are too long.
    #[error("the files have {0} bytes in total, too many for a volume; want at most {ROOM}")]
    Long(usize),
}

impl<'a> Volume<'a> {
    /// A volume with these files, or everything that is wrong with it.
    pub fn new(label: &'a str, files: Vec<(&'a str, &'a [u8])>) -> Result<Self, Vec<VolumeError>> {
        let mut errors = Vec::new();
        if !is_label(label) {
            errors.push(VolumeError::Label(label.to_owned()));
        }
        for (nth, (name, _)) in files.iter().enumerate() {
            if !is_name(name) {
                errors.push(VolumeError::Name((*name).to_owned()));
            }
            if files[..nth].iter().any(|(other, _)| other.eq_ignore_ascii_case(name)) {
                errors.push(VolumeError::Twice((*name).to_owned()));
            }
        }
        if files.len() > MOST_FILES {
            errors.push(VolumeError::Many(files.len()));
        }
        let length = files.iter().map(|(_, bytes)| bytes.len()).fold(0, usize::saturating_add);
        if length > ROOM {
            errors.push(VolumeError::Long(length));
        }
        if errors.is_empty() { Ok(Self { label, files }) } else { Err(errors) }
    }

    /// The label.
    pub fn label(&self) -> &'a str {
        self.label
    }

    /// The files, as they were given.
    pub fn files(&self) -> &[(&'a str, &'a [u8])] {
        &self.files
    }
}

// Files may hold passwords.
impl std::fmt::Debug for Volume<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&str> = self.files.iter().map(|(name, _)| *name).collect();
        f.debug_struct("Volume").field("label", &self.label).field("files", &names).finish()
    }
}

fn is_label(label: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    (1..=LONGEST_LABEL).contains(&label.len()) && label.bytes().all(fits)
}

fn is_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    (1..=LONGEST_NAME).contains(&name.len()) && name.bytes().all(fits) && !name.ends_with('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_errors_are_reported_at_once() {
        let long = "n".repeat(65);
        let files: Vec<(&str, &[u8])> =
            vec![("a", b""), ("A", b""), ("dot.", b""), ("a/b", b""), (&long, b"")];

        let errors = Volume::new("metal-iso-too", files).unwrap_err();

        let label = VolumeError::Label("metal-iso-too".to_owned());
        let names = ["dot.", "a/b", &long].map(|name| VolumeError::Name(name.to_owned()));
        assert_eq!(errors.len(), 5, "{errors:?}");
        assert!(
            errors.contains(&label) && errors.contains(&VolumeError::Twice("A".to_owned())),
            "{errors:?}"
        );
        assert!(names.iter().all(|name| errors.contains(name)), "{errors:?}");
    }

    #[test]
    fn volumes_beyond_the_limits_are_rejected() {
        let bytes = vec![0; ROOM + 1];
        let names: Vec<String> = (0..=MOST_FILES).map(|nth| nth.to_string()).collect();

        let long = Volume::new("cidata", vec![("a", &bytes)]).unwrap_err();
        let many =
            Volume::new("cidata", names.iter().map(|name| (name.as_str(), &b""[..])).collect()).unwrap_err();

        assert_eq!(long, [VolumeError::Long(ROOM + 1)]);
        assert_eq!(many, [VolumeError::Many(MOST_FILES + 1)]);
    }

    #[test]
    fn debug_output_hides_file_contents() {
        let volume = Volume::new("cidata", vec![("user-data", b"hunter2")]).unwrap();

        assert_eq!(format!("{volume:?}"), r#"Volume { label: "cidata", files: ["user-data"] }"#);
    }
}
