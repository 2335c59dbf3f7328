//! The end of a cluster: what becomes of each machine.
//!
//! Machines that were made for it are deleted, real ones are reset where that is wanted and left alone otherwise. Secrets are
//! kept in every case: with them the same cluster can be made again, and backups can be read.
//!
//! Not here: asking providers and doing it.

/// What a provider says of a node's machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TeardownMachine {
    /// Nobody provides it: somebody else switches it on.
    Unprovided,
    /// It is a real one, whose power can be switched: where.
    Real(String),
    /// There is none any more, where it was made.
    Absent(String),
    /// It was made for the node: where, and the media made for it.
    Made {
        /// Where it is.
        place: String,
        /// Whether it runs.
        on: bool,
        /// Media that are made for it alone, by name.
        media: Vec<String>,
    },
    /// Another machine is in its place: where, and which.
    Foreign(String, String),
    /// Its provider does not say: where, and why.
    Unknown(String, String),
}

/// What becomes of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disposition {
    /// Deleted, with its disks and media.
    Deleted,
    /// Told to forget what it is.
    Reset,
    /// Nothing.
    Left,
}

impl TeardownMachine {
    /// What becomes of it; with `reset`, machines that nobody made forget what they are.
    pub fn fate(&self, reset: bool) -> Disposition {
        match self {
            // Whether it is there is found out by deleting it.
            Self::Made { .. } | Self::Unknown(..) => Disposition::Deleted,
            Self::Unprovided | Self::Real(_) if reset => Disposition::Reset,
            Self::Unprovided | Self::Real(_) | Self::Absent(_) | Self::Foreign(..) => Disposition::Left,
        }
    }

    /// What becomes of it, for people: what is destroyed, or why it is not.
    pub fn told(&self, reset: bool) -> String {
        match (self, self.fate(reset)) {
            (Self::Made { place, on, media }, _) => {
                let state = if *on { "running" } else { "off" };
                let media =
                    if media.is_empty() { String::new() } else { format!(" and {}", media.join(", ")) };
                format!("deleted at {place} ({state}), with its disks{media}")
            }
            (Self::Unknown(place, why), _) => format!("deleted at {place}, if it is there: {why}"),
            (Self::Unprovided | Self::Real(_), Disposition::Reset) => {
                "reset: its configuration and all its data are wiped".to_owned()
            }
            (Self::Unprovided, _) => "left alone: nobody made it; --reset wipes it".to_owned(),
            (Self::Real(place), _) => {
                format!("left alone: it is a real machine at {place}; --reset wipes it")
            }
            (Self::Absent(place), _) => format!("not there any more at {place}"),
            (Self::Foreign(place, which), _) => format!("left alone: at {place} {which} is in its place"),
        }
    }

    /// Whether something of it stays that somebody may have to see to.
    pub(crate) fn stays(&self, reset: bool) -> bool {
        matches!(
            (self, self.fate(reset)),
            (Self::Unprovided | Self::Real(_) | Self::Foreign(..), Disposition::Left)
        )
    }
}

/// Whether a cluster ends when its control planes have these fates: nothing is left that could call itself by its name.
pub fn ends<'m>(mut control_planes: impl Iterator<Item = &'m TeardownMachine>, reset: bool) -> bool {
    control_planes.all(|machine| !machine.stays(reset))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_made_is_deleted_and_what_was_not_is_reset_only_where_that_is_wanted() {
        let media = vec!["sol-cp1.iso".to_owned()];
        let made = TeardownMachine::Made { place: "pve1".to_owned(), on: true, media };

        assert_eq!(
            [made.fate(false), TeardownMachine::Unprovided.fate(false)],
            [Disposition::Deleted, Disposition::Left]
        );
        assert_eq!(TeardownMachine::Unprovided.fate(true), Disposition::Reset);
        assert_eq!(made.told(false), "deleted at pve1 (running), with its disks and sol-cp1.iso");
    }

    #[test]
    fn a_machine_of_somebody_else_is_never_touched() {
        let foreign = TeardownMachine::Foreign("pve1".to_owned(), "vm 101 `mail`".to_owned());

        assert_eq!(foreign.fate(true), Disposition::Left);
        assert!(foreign.stays(true) && foreign.told(true).contains("vm 101 `mail` is in its place"));
        assert!(!TeardownMachine::Absent("pve1".to_owned()).stays(false));
    }

    #[test]
    fn a_cluster_ends_with_the_last_of_its_control_planes() {
        let made = TeardownMachine::Made { place: "pve1".to_owned(), on: true, media: Vec::new() };

        assert!(ends([&made, &TeardownMachine::Absent("pve1".to_owned())].into_iter(), false));
        assert!(!ends([&made, &TeardownMachine::Unprovided].into_iter(), false));
        assert!(ends([&made, &TeardownMachine::Unprovided].into_iter(), true));
    }
}
