//! What the hypervisor of a machine lets it have.

use crate::cluster::section::Proxmox;
use crate::plan::NodePlan;
use crate::rules::roll::Rolls;
use crate::rules::{Context, Found, Rule, Severity};

pub(super) const RULES: &[Rule] = &[ARGS_NEED_ROOT];

const ARGS_NEED_ROOT: Rule = Rule {
    id: "args-need-root",
    severity: Severity::Error,
    summary: "`vm.args` on a Proxmox whose login is not root itself",
    story: "Arguments for QEMU can reach every file of the host, so Proxmox takes them from root@pam with a password only. \
            An API token is refused, even one of root's: \"only root can set 'args' config\".",
    fix: "remove `vm.args`, or log in with `user: root@pam` and a password",
    look: args_need_root,
};

fn args_need_root(context: &Context<'_>, found: &mut Found) {
    let mut rolls = Rolls::new(context.plan);
    for (node, kind) in context.plan.by_kind() {
        let Some(args) = node.settings.vm.get().and_then(|vm| vm.args.at()) else { continue };
        let Some(proxmox) = proxmox(context, node).filter(|_| !args.value.0.is_empty()) else { continue };
        let login = match proxmox.user.get() {
            _ if proxmox.token.is_set() => "an API token",
            Some(user) if user.as_str() != "root@pam" => "another user than root@pam",
            _ => continue,
        };
        rolls.say("vm.args", Some(args.place), format!("the login is {login}"), &kind.nodes);
    }
    rolls.report(context, found);
}

/// The Proxmox that a node's virtual machine is made on.
pub(super) fn proxmox<'c>(context: &Context<'c>, node: &NodePlan) -> Option<&'c Proxmox> {
    let name = &node.vm.as_ref()?.hypervisor.as_ref()?.value;
    context.cluster.file.hypervisors.get()?.get(name.as_str())?.value.proxmox.get()
}
