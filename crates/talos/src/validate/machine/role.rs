//! The role of a machine.

use serde_json::Value;

use crate::validate::DocumentIssues;
use crate::validate::field::Field;

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
    pub fn from_document(document: &Value) -> Self {
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
    pub(crate) fn is_control_plane(self) -> bool {
        self == Self::ControlPlane
    }
}

/// Judges `machine.type`.
pub(crate) fn validate(field: &Field<'_>, issues: &mut DocumentIssues) -> Role {
    let word = field.text();
    let role = Role::parse(word);
    if role == Role::Unknown {
        issues.error(field, format!("{word:?} is not a machine type: use controlplane or worker"));
    }
    if role == Role::Worker && word != "worker" {
        issues.warning(field, format!("{word:?} is read as worker: write \"worker\""));
    }
    role
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::validate::trial::{control_plane, worker};

    #[test]
    fn old_words_for_a_worker_are_taken_with_a_warning() {
        for word in [json!("join"), json!(null)] {
            assert_eq!(worker("1.12", &[("machine.type", word)]), ["warning machine.type"]);
        }
        assert!(control_plane("1.12", &[("machine.type", json!("init"))]).is_empty());
        assert!(
            control_plane("1.12", &[("machine.type", json!("master"))])
                .contains(&"error machine.type".to_owned())
        );
    }

    #[test]
    fn a_document_has_a_machine_and_a_cluster() {
        assert_eq!(control_plane("1.12", &[("machine", json!(null))]), ["error machine"]);
        assert_eq!(control_plane("1.12", &[("cluster", json!(null))]), ["error cluster"]);
        assert_eq!(control_plane("1.12", &[("persist", json!(false))]), ["error persist"]);
        assert!(control_plane("1.12", &[("persist", json!(true))]).is_empty());
    }
}
