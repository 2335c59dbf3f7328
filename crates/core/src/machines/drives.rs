//! What is in the drives of a machine, as whoever provides it says.

use crate::render::hypervisor::medium::Medium;

/// The drives of a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drives {
    /// What is in them, drive by drive.
    pub inside: Vec<DriveMedium>,
    /// What belongs into them and is not there.
    pub missing: Vec<DriveMedium>,
    /// Whether the machine boots a CD that is in, before its disk.
    pub boots_cd: bool,
}

/// Something in a drive, or that belongs there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriveMedium {
    /// The drive; empty where any will do.
    pub(crate) drive: String,
    /// What it is, as the provider calls it.
    pub what: String,
    /// Whose it is.
    pub kind: MediumKind,
}

/// What a CD is to a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediumKind {
    /// What it boots to be installed.
    Boots,
    /// What carries its first configuration.
    Carries,
    /// Nothing: somebody else put it in.
    Foreign,
}

impl MediumKind {
    /// What a medium of the machine is to it.
    pub fn of(medium: &Medium) -> Self {
        if medium.boots { Self::Boots } else { Self::Carries }
    }
}

impl Drives {
    /// Sorts what is `inside`, by drive, with what is `wanted`: each with the drive it belongs to (none where any will do), what the
    /// provider calls it, and what it is.
    pub fn compare<'m>(
        inside: impl IntoIterator<Item = (String, String)>,
        wanted: impl IntoIterator<Item = (Option<&'m str>, String, &'m Medium)>,
    ) -> Self {
        let wanted: Vec<_> = wanted.into_iter().collect();
        let inside: Vec<DriveMedium> = inside
            .into_iter()
            .map(|(drive, what)| {
                let known = wanted.iter().find(|(_, name, _)| *name == what);
                let kind = known.map_or(MediumKind::Foreign, |(_, _, medium)| MediumKind::of(medium));
                DriveMedium { drive, what, kind }
            })
            .collect();
        let missing = wanted.iter().filter(|(_, name, _)| !inside.iter().any(|it| it.what == *name));
        let missing = missing.map(|(drive, what, medium)| DriveMedium {
            drive: drive.unwrap_or_default().to_owned(),
            what: what.clone(),
            kind: MediumKind::of(medium),
        });
        let missing = missing.collect();
        Self { inside, missing, boots_cd: false }
    }

    /// The drive of a name has something in it.
    pub(crate) fn is_full(&self, drive: &str) -> bool {
        self.inside.iter().any(|it| it.drive == drive)
    }
}
