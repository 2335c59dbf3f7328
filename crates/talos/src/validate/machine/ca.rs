//! The certificate authorities a machine must have, and the keys it must not have.

use super::Role;
use crate::validate::DocumentIssues;
use crate::validate::field::Field;

/// Judges `machine.ca`, `machine.acceptedCAs` and `cluster.ca`.
pub(crate) fn validate(machine: &Field<'_>, cluster: &Field<'_>, role: Role, issues: &mut DocumentIssues) {
    let (issuing, accepted) = (machine.get("ca"), machine.get("acceptedCAs"));
    if !issuing.is_set() && accepted.is_empty() {
        issues.error(&issuing, "no CA of the Talos API: set `ca` or `acceptedCAs`");
    }
    match role {
        Role::ControlPlane => of_control_plane(&issuing, issues),
        Role::Worker => of_worker(&issuing, &accepted, issues),
        Role::Unknown => {}
    }
    let key = cluster.at(["ca", "key"]);
    if !role.is_control_plane() && !key.is_empty() {
        issues.error(&key, "only control planes may have the key of the Kubernetes CA: leave it empty here");
    }
}

fn of_control_plane(issuing: &Field<'_>, issues: &mut DocumentIssues) {
    if !issuing.is_set() {
        issues.error(issuing, "a control plane needs the CA of the Talos API");
    } else if issuing.get("key").is_empty() {
        issues.error(&issuing.get("key"), "a control plane needs the key of the CA of the Talos API");
    }
}

fn of_worker(issuing: &Field<'_>, accepted: &Field<'_>, issues: &mut DocumentIssues) {
    if !issuing.get("key").is_empty() {
        let key = issuing.get("key");
        issues.error(
            &key,
            "only control planes may have the key of the CA of the Talos API: leave it empty here",
        );
    }
    if issuing.is_set() && issuing.get("crt").is_empty() && accepted.is_empty() {
        issues.error(&issuing.get("crt"), "a worker needs the certificate of the CA of the Talos API");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::validate::trial::{CERTIFICATE, control_plane, worker};

    #[test]
    fn a_control_plane_signs() {
        assert_eq!(control_plane("1.12", &[("machine.ca", json!(null))]), ["error machine.ca"; 2]);
        let accepted = [("machine.ca", json!(null)), ("machine.acceptedCAs", json!([{"crt": CERTIFICATE}]))];
        assert_eq!(control_plane("1.12", &accepted), ["error machine.ca"]);
        assert_eq!(control_plane("1.12", &[("machine.ca.key", json!(null))]), ["error machine.ca.key"]);
    }

    #[test]
    fn a_worker_has_no_keys() {
        assert_eq!(worker("1.12", &[("machine.ca.key", json!("a2V5"))]), ["error machine.ca.key"]);
        assert_eq!(worker("1.12", &[("machine.ca", json!({}))]), ["error machine.ca.crt"]);
        let ca = json!({"crt": CERTIFICATE, "key": "a2V5"});
        assert_eq!(worker("1.14", &[("cluster.ca", ca)]), ["error cluster.ca.key"]);
    }
}
