//! The unified kernel image of a profile.

use super::kernel::written_version;
use super::{BootAssets, Profile};
use crate::media::Content;
use crate::media::uki::{Section, StubError, name, write};

/// What an image offers beside its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResetProfile {
    /// Nothing.
    Start,
    /// To forget the whole installation, as on a CD.
    Reset,
    /// To forget the configuration and what workloads wrote, as on a disk that Talos is installed on.
    Maintenance,
}

impl ResetProfile {
    /// The name of the entry, what people read, and what it adds to the command line.
    fn entry(self) -> Option<[&'static str; 3]> {
        match self {
            ResetProfile::Start => None,
            ResetProfile::Reset => Some(["reset", "Reset system disk", "talos.experimental.wipe=system"]),
            ResetProfile::Maintenance => Some([
                "reset-maintenance",
                "Reset to maintenance mode",
                "talos.experimental.wipe=system:EPHEMERAL,STATE",
            ]),
        }
    }
}

/// Why there is no kernel image.
#[derive(Debug, thiserror::Error)]
pub enum UkiError {
    /// The parts have none.
    #[error(
        "systemd-stub is missing, which a unified kernel image needs; add a unified kernel image or the imager of the release"
    )]
    NoStub,
    /// It is none.
    #[error(transparent)]
    Stub(#[from] StubError),
}

/// The kernel image of `profile` with the kernel and the initramfs of `parts`. `line` is what the kernel is told, and `seconds` when it was
/// made, since 1970.
pub fn uki(
    profile: &Profile,
    parts: &BootAssets,
    line: &str,
    offer: ResetProfile,
    seconds: u32,
) -> Result<Content, UkiError> {
    let stub = parts.stub.as_ref().ok_or(UkiError::NoStub)?;
    let mut sections = vec![
        Section::new(name::RELEASE, release(profile).as_bytes()),
        Section::new(name::COMMAND_LINE, line.as_bytes()),
    ];
    // As Talos' imager does it, which reads headers alone.
    if let Some(version) = written_version(&parts.kernel) {
        sections.push(Section::new(name::VERSION, version.as_bytes()));
    }
    sections.push(Section::new(name::KERNEL, parts.kernel.clone()));
    sections.push(Section::new(name::INITRAMFS, parts.initramfs.clone()));
    sections.push(Section::new(name::PROFILE, b"ID=main"));
    if let Some([id, title, added]) = offer.entry() {
        sections.push(Section::new(name::PROFILE, format!("ID={id}\nTITLE={title}").as_bytes()));
        sections.push(Section::new(name::COMMAND_LINE, format!("{line} {added}").as_bytes()));
    }
    Ok(write(stub, &sections, seconds)?)
}

/// What it says of itself, without which systemd-boot does not show it.
fn release(profile: &Profile) -> String {
    let tag = &profile.talos;
    let lines = [
        "NAME=\"Talos\"".to_owned(),
        "ID=talos".to_owned(),
        format!("VERSION_ID={tag}"),
        format!("PRETTY_NAME=\"Talos ({tag})\""),
        "HOME_URL=\"https://www.talos.dev/\"".to_owned(),
        "BUG_REPORT_URL=\"https://github.com/siderolabs/talos/issues\"".to_owned(),
        "VENDOR_NAME=\"Sidero Labs\"".to_owned(),
        "VENDOR_URL=\"https://www.siderolabs.com/\"".to_owned(),
    ];
    lines.map(|line| line + "\n").concat()
}
