//! The contents of a unified kernel image.

use super::pe::{PeFile, PeSection};
use super::write::{self, StubError};
use super::{Section, name};
use crate::media::Content;
use crate::media::image::{Image, ImageError, ImageWindow, low16, piece};
use ichor_values::Arch;

/// The longest text that is read.
const LONGEST: u32 = 64 << 10;

/// Sections that are added to a stub: everything from the first section with one of these names on.
const ADDED: [&str; 14] = [
    name::RELEASE,
    name::COMMAND_LINE,
    name::VERSION,
    name::KERNEL,
    name::INITRAMFS,
    name::PROFILE,
    ".splash",
    ".ucode",
    ".dtb",
    ".dtbauto",
    ".hwids",
    ".efifw",
    ".pcrpkey",
    ".pcrsig",
];

/// The command line in a unified kernel image; none if it is another file, or has none.
///
/// An image may have several, one for each of its profiles: the first is the one it boots with by default.
pub fn command_line(image: &dyn Image) -> Result<Option<String>, ImageError> {
    let Some(program) = PeFile::find_in(image)? else { return Ok(None) };
    let found = program.parts.iter().find(|part| part.name() == name::COMMAND_LINE);
    found.map(|part| text(image, part, "command line")).transpose()
}

/// The content of the first section of a name, which is read on demand; none if missing.
pub fn section<'i>(image: &'i dyn Image, name: &str) -> Result<Option<ImageWindow<'i>>, ImageError> {
    let Some(program) = PeFile::find_in(image)? else { return Ok(None) };
    let found = program.parts.iter().find(|part| part.name() == name);
    let window = |part: &PeSection| {
        let window = ImageWindow::new(image, part.start.into(), part.length().into());
        window.ok_or(ImageError::Short("sections"))
    };
    found.map(window).transpose()
}

fn text(image: &dyn Image, part: &PeSection, what: &'static str) -> Result<String, ImageError> {
    let bytes = piece(image, part.start.into(), part.length().min(LONGEST) as usize, what)?;
    Ok(String::from_utf8_lossy(&bytes).trim_end_matches(['\0', '\n']).to_owned())
}

/// The identity of a program for UEFI.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeIdentity {
    /// The machines it runs on, if Talos does.
    pub arch: Option<Arch>,
    /// Its version, as systemd's programs store it: `#### LoaderInfo: systemd-boot 259.1 ####`.
    pub(crate) info: Option<String>,
}

impl PeIdentity {
    /// The identity of the program in a file; none if it is not a program.
    pub(crate) fn find_in(image: &dyn Image) -> Result<Option<Self>, ImageError> {
        let Some(program) = PeFile::find_in(image)? else { return Ok(None) };
        let arch = match low16(&program.file, 0) {
            0x8664 => Some(Arch::Amd64),
            0xaa64 => Some(Arch::Arm64),
            _ => None,
        };
        let info = program.parts.iter().find(|part| part.name() == name::MAGIC);
        let info = info.map(|part| text(image, part, "name")).transpose()?;
        Ok(Some(Self { arch, info }))
    }
}

/// A unified kernel image.
#[derive(Clone, Debug)]
pub struct Uki {
    content: Content,
    program: PeFile,
    sections: Vec<Section>,
}

/// An entry of the menu that an image brings along: one of its profiles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UkiProfile {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: Option<String>,
    /// The kernel arguments, if they differ from the first profile's.
    pub command_line: Option<String>,
}

impl Uki {
    /// The image in a file, with all its sections; none for other files, such as a bare kernel.
    pub fn find_in(content: &Content) -> Result<Option<Self>, ImageError> {
        let Some(program) = PeFile::find_in(content)? else { return Ok(None) };
        if !program.parts.iter().any(|part| part.name() == name::KERNEL) {
            return Ok(None);
        }
        let section = |part: &PeSection| {
            let content = part.content(content, part.length())?;
            Ok(Section { name: part.name(), content })
        };
        let sections = program.parts.iter().map(section).collect::<Result<_, ImageError>>()?;
        Ok(Some(Self { content: content.clone(), program, sections }))
    }

    /// Its sections in their order, those of the stub too.
    pub fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// The content of the first section of a name.
    pub fn first(&self, name: &str) -> Option<&Content> {
        self.sections.iter().find(|section| section.name == name).map(|section| &section.content)
    }

    /// The entries of its menu; none if it has no profiles.
    pub fn menu(&self) -> Result<Vec<UkiProfile>, ImageError> {
        let mut menu: Vec<UkiProfile> = Vec::new();
        for part in &self.program.parts {
            match (part.name().as_str(), menu.last_mut()) {
                (name::PROFILE, _) => menu.push(entry(&text(&self.content, part, "profiles")?)),
                (name::COMMAND_LINE, Some(entry)) => {
                    entry.command_line = Some(text(&self.content, part, "command line")?);
                }
                _ => {}
            }
        }
        Ok(menu)
    }

    /// The stub: everything before the appended sections, without a signature.
    pub fn stub(&self) -> Result<Content, StubError> {
        let mut program = self.program.clone();
        let added = |part: &PeSection| ADDED.contains(&part.name().as_str());
        program.parts.truncate(program.parts.iter().position(added).unwrap_or(program.parts.len()));
        write::behind(&program, &self.content, &[], 0)
    }
}

fn entry(text: &str) -> UkiProfile {
    let mut entry = UkiProfile::default();
    for (key, value) in text.lines().filter_map(|line| line.split_once('=')) {
        match key {
            "ID" => value.clone_into(&mut entry.id),
            "TITLE" => entry.title = Some(value.to_owned()),
            _ => {}
        }
    }
    entry
}
