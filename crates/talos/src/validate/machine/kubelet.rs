//! The kubelet of the old form.

use crate::go::netip;
use crate::validate::field::Field;
use crate::validate::{DocumentIssues, Setting, image, kubelet};

/// Judges `machine.kubelet`.
pub(crate) fn validate(field: &Field<'_>, setting: Setting<'_>, issues: &mut DocumentIssues) {
    for subnet in field.at(["nodeIP", "validSubnets"]).items() {
        if !netip::is_subnet_or_address(subnet.text().strip_prefix('!').unwrap_or(subnet.text())) {
            issues.error(&subnet, format!("{:?} is not a prefix or an address", subnet.text()));
        }
    }
    kubelet::judge(&field.get("extraConfig"), issues);
    image::advise(&field.get("image"), setting, issues);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::validate::trial::control_plane;

    #[test]
    fn kubelet_arguments_that_talos_sets_are_rejected() {
        let kubelet = json!({"nodeIP": {"validSubnets": ["10.0.0.0/8", "!10.0.0.1", "10"]}, "extraConfig": {"port": 1, "maxPods": 5}});

        let want = ["error machine.kubelet.nodeIP.validSubnets[2]", "error machine.kubelet.extraConfig.port"];
        assert_eq!(control_plane("1.12", &[("machine.kubelet", kubelet)]), want);
    }
}
