//! Names that the kernel gives to ports: eth0, or by slot.

use super::NodePlan;
use crate::cluster::section::Platform;

impl NodePlan {
    /// Whether ports are named eth0, eth1 … in order of discovery, not by slot.
    ///
    /// Talos' images for every platform except metal have the kernel argument `net.ifnames=0`.
    pub(crate) fn has_plain_port_names(&self) -> bool {
        let args = self.kernel.args.iter().map(|arg| arg.value.as_str());
        let mut settings = args.rev().filter_map(|arg| match arg.strip_prefix("net.ifnames=") {
            Some(word) => Some(word == "0"),
            None => (arg == "-net.ifnames").then_some(false),
        });
        settings.next().unwrap_or(self.platform.value != Platform::Metal)
    }

    /// Whether the kernel may give this name to a port of the node.
    pub(crate) fn is_kernels_port_name(&self, name: &str) -> bool {
        if self.has_plain_port_names() { is_plain(name) } else { is_predictable(name) }
    }
}

/// Whether a name is of the form that the kernel assigns: `eth0`.
pub(crate) fn is_plain(name: &str) -> bool {
    name.strip_prefix("eth").is_some_and(|rest| rest.parse::<u16>().is_ok())
}

/// Whether a name is of the form that systemd's naming scheme assigns: `eno1`, `ens18`, `enp3s0`, `enx001122334455`.
pub(crate) fn is_predictable(name: &str) -> bool {
    let Some(rest) = name.strip_prefix("en") else { return false };
    match rest.strip_prefix(['o', 's', 'p', 'P']) {
        Some(number) => number.starts_with(|c: char| c.is_ascii_digit()),
        None => rest
            .strip_prefix('x')
            .is_some_and(|mac| mac.len() == 12 && mac.bytes().all(|b| b.is_ascii_hexdigit())),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::planned;
    use super::is_predictable;

    #[test]
    fn predictable_names_are_recognised() {
        for name in ["ens18", "enp3s0", "eno1", "enx001122334455", "enP2p1s0"] {
            assert!(is_predictable(name), "{name}");
        }
        for name in ["eth0", "enterprise", "en", "enpay", "enx1", "end0", "ensure", "fab0", "bond0"] {
            assert!(!is_predictable(name), "{name}");
        }
    }

    #[test]
    fn only_metal_names_ports_by_slot_unless_a_kernel_argument_changes_it() {
        let plan = planned(
            "{cluster: {name: sol, talos: v1.13.9}, nodes: [
              {name: a}, {name: b, platform: nocloud}, {name: c, kernel: {args: [net.ifnames=0]}},
              {name: d, platform: aws, kernel: {args: [-net.ifnames]}}]}",
        );

        let plain: Vec<_> = plan.nodes.iter().map(super::NodePlan::has_plain_port_names).collect();

        assert_eq!(plain, [false, true, true, false]);
        assert!(plan.nodes[1].is_kernels_port_name("eth3") && !plan.nodes[0].is_kernels_port_name("eth3"));
    }
}
