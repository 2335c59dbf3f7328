//! The contents of a machine's drives.

use crate::render::hypervisor::medium::Medium;

/// The drives of a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drives {
    /// Inserted media, by drive.
    pub inside: Vec<DriveMedium>,
    /// Media that should be inserted and are missing.
    pub missing: Vec<DriveMedium>,
    /// Whether the machine boots an inserted CD before its disk.
    pub boots_cd: bool,
}

/// A medium that is, or should be, in a drive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriveMedium {
    /// The drive; empty if any.
    pub(crate) drive: String,
    /// The provider's name of the medium.
    pub what: String,
    /// Its purpose.
    pub kind: MediumKind,
}

/// The purpose of a medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediumKind {
    /// The installation medium, which the machine boots.
    Boots,
    /// The medium with its first configuration.
    Carries,
    /// A medium that ichor did not insert.
    Foreign,
}

impl MediumKind {
    /// The purpose of one of the machine's own media.
    pub fn from_medium(medium: &Medium) -> Self {
        if medium.boots { Self::Boots } else { Self::Carries }
    }
}

impl Drives {
    /// Compares the inserted media, by drive, with the `wanted` ones: each with its drive (none if any), the provider's name and
    /// the medium.
    pub fn compare<'m>(
        inside: impl IntoIterator<Item = (String, String)>,
        wanted: impl IntoIterator<Item = (Option<&'m str>, String, &'m Medium)>,
    ) -> Self {
        let wanted: Vec<_> = wanted.into_iter().collect();
        let inside: Vec<DriveMedium> = inside
            .into_iter()
            .map(|(drive, what)| {
                let known = wanted.iter().find(|(_, name, _)| *name == what);
                let kind =
                    known.map_or(MediumKind::Foreign, |(_, _, medium)| MediumKind::from_medium(medium));
                DriveMedium { drive, what, kind }
            })
            .collect();
        let missing = wanted.iter().filter(|(_, name, _)| !inside.iter().any(|it| it.what == *name));
        let missing = missing.map(|(drive, what, medium)| DriveMedium {
            drive: drive.unwrap_or_default().to_owned(),
            what: what.clone(),
            kind: MediumKind::from_medium(medium),
        });
        let missing = missing.collect();
        Self { inside, missing, boots_cd: false }
    }

    /// Whether a drive has a medium.
    pub(crate) fn is_occupied(&self, drive: &str) -> bool {
        self.inside.iter().any(|it| it.drive == drive)
    }
}
