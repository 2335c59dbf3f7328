//! The unified kernel image of a profile.

use super::kernel::written_version;
use super::{BootAssets, Profile};
use crate::media::Content;
use crate::media::uki::{Section, StubError, name, write};

/// The profiles of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResetProfile {
    /// The default profile, without a reset.
    Start,
    /// Wipes the installation, as on an ISO.
    Reset,
    /// Wipes the configuration and the data of workloads, as on a disk with an installation.
    Maintenance,
}

impl ResetProfile {
    /// The id of the entry, its title, and the kernel arguments it adds.
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

/// Why a unified kernel image cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum UkiError {
    /// The parts have none.
    #[error(
        "systemd-stub is missing, which a unified kernel image needs; add a unified kernel image or the imager of the release"
    )]
    NoStub,
    /// The stub is invalid.
    #[error(transparent)]
    Stub(#[from] StubError),
}

/// The unified kernel image of `profile` with the kernel and the initramfs of `parts`. `line` is its kernel arguments, and
/// `seconds` its creation time since 1970.
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
    // As in Talos' imager, which only reads headers.
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

/// Its `os-release`, without which systemd-boot does not show it.
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
