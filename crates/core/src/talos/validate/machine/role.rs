//! What a machine is in its cluster.

use serde_json::Value;

use crate::talos::validate::Flaws;
use crate::talos::validate::field::Field;

/// The role of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It runs etcd and the Kubernetes control plane.
    ControlPlane,
    /// It runs workloads.
    Worker,
    /// Talos does not know the word.
    Unknown,
}

impl Role {
    /// The role of the machine a document is for. A document without the key is a worker's.
    pub fn of(document: &Value) -> Self {
        Self::parse(Field::root(document).at(["machine", "type"]).text())
    }

    fn parse(word: &str) -> Self {
        match word {
            "init" | "controlplane" => Self::ControlPlane,
            "worker" | "join" | "" => Self::Worker,
            _ => Self::Unknown,
        }
    }

    /// Whether it is a control plane.
    pub fn is_control_plane(self) -> bool {
        self == Self::ControlPlane
    }
}

/// Judges `machine.type`.
pub fn validate(field: &Field<'_>, flaws: &mut Flaws) -> Role {
    let word = field.text();
    let role = Role::parse(word);
    if role == Role::Unknown {
        flaws.error(field, format!("{word:?} is no machine type: use controlplane or worker"));
    }
    if role == Role::Worker && word != "worker" {
        flaws.warning(field, format!("{word:?} is read as worker: write \"worker\""));
    }
    role
}
