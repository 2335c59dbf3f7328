//! The teardown of a cluster: the disposition of each machine.
//!
//! Machines that ichor created are deleted. Physical machines are reset on request and otherwise kept. Secrets are always kept:
//! the same cluster can be created again with them, and backups stay readable.
//!
//! Not here: requests to providers.

/// A node's machine as reported by its provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TeardownMachine {
    /// No provider: its power is controlled outside ichor.
    Unprovided,
    /// A physical machine with power control: its location.
    Real(String),
    /// Already deleted: its former location.
    Absent(String),
    /// A machine that ichor created.
    Made {
        /// Its location.
        place: String,
        /// Whether it is on.
        on: bool,
        /// The names of media made for it only.
        media: Vec<String>,
    },
    /// Another machine with its name or ID: location and description.
    Foreign(String, String),
    /// Unknown to its provider: location and reason.
    Unknown(String, String),
}

/// What happens to a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disposition {
    /// It is deleted, with its disks and media.
    Deleted,
    /// It is reset.
    Reset,
    /// It is kept.
    Left,
}

impl TeardownMachine {
    /// The disposition of the machine. With `reset`, machines that ichor did not create are reset.
    pub fn disposition(&self, reset: bool) -> Disposition {
        match self {
            // Deleting an unknown machine shows whether it exists.
            Self::Made { .. } | Self::Unknown(..) => Disposition::Deleted,
            Self::Unprovided | Self::Real(_) if reset => Disposition::Reset,
            Self::Unprovided | Self::Real(_) | Self::Absent(_) | Self::Foreign(..) => Disposition::Left,
        }
    }

    /// Describes the disposition: what is destroyed, or why it is kept.
    pub fn describe(&self, reset: bool) -> String {
        match (self, self.disposition(reset)) {
            (Self::Made { place, on, media }, _) => {
                let state = if *on { "running" } else { "off" };
                let media =
                    if media.is_empty() { String::new() } else { format!(" and {}", media.join(", ")) };
                format!("deleted at {place} ({state}), with its disks{media}")
            }
            (Self::Unknown(place, why), _) => format!("deleted at {place}, if it exists: {why}"),
            (Self::Unprovided | Self::Real(_), Disposition::Reset) => {
                "reset: its configuration and all its data are wiped".to_owned()
            }
            (Self::Unprovided, _) => "kept: ichor did not create it; --reset wipes it".to_owned(),
            (Self::Real(place), _) => {
                format!("kept: it is a physical machine at {place}; --reset wipes it")
            }
            (Self::Absent(place), _) => format!("already deleted at {place}"),
            (Self::Foreign(place, which), _) => {
                format!("kept: at {place} another machine has its name or ID: {which}")
            }
        }
    }

    /// Whether a machine remains that may still be a node of the cluster.
    pub(crate) fn remains(&self, reset: bool) -> bool {
        matches!(
            (self, self.disposition(reset)),
            (Self::Unprovided | Self::Real(_) | Self::Foreign(..), Disposition::Left)
        )
    }
}

/// Whether the cluster is destroyed: none of its control planes remains.
pub fn is_destroyed<'m>(mut control_planes: impl Iterator<Item = &'m TeardownMachine>, reset: bool) -> bool {
    control_planes.all(|machine| !machine.remains(reset))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn created_machines_are_deleted_and_others_reset_only_on_request() {
        let media = vec!["sol-cp1.iso".to_owned()];
        let made = TeardownMachine::Made { place: "pve1".to_owned(), on: true, media };

        assert_eq!(
            [made.disposition(false), TeardownMachine::Unprovided.disposition(false)],
            [Disposition::Deleted, Disposition::Left]
        );
        assert_eq!(TeardownMachine::Unprovided.disposition(true), Disposition::Reset);
        assert_eq!(made.describe(false), "deleted at pve1 (running), with its disks and sol-cp1.iso");
    }

    #[test]
    fn a_foreign_machine_is_never_changed() {
        let foreign = TeardownMachine::Foreign("pve1".to_owned(), "vm 101 `mail`".to_owned());

        assert_eq!(foreign.disposition(true), Disposition::Left);
        assert!(
            foreign.remains(true)
                && foreign.describe(true).contains("another machine has its name or ID: vm 101 `mail`")
        );
        assert!(!TeardownMachine::Absent("pve1".to_owned()).remains(false));
    }

    #[test]
    fn a_cluster_is_destroyed_with_its_last_control_plane() {
        let made = TeardownMachine::Made { place: "pve1".to_owned(), on: true, media: Vec::new() };

        assert!(is_destroyed([&made, &TeardownMachine::Absent("pve1".to_owned())].into_iter(), false));
        assert!(!is_destroyed([&made, &TeardownMachine::Unprovided].into_iter(), false));
        assert!(is_destroyed([&made, &TeardownMachine::Unprovided].into_iter(), true));
    }
}
