//! What carries the first configuration to a machine, and what its hypervisor lets it have.

use crate::cluster::section::{BootFrom, ImageSource, Platform, Proxmox};
use crate::plan::{ImagePlan, NodePlan};
use crate::rules::patch::secret;
use crate::rules::roll::Rolls;
use crate::rules::{Context, Found, Rule, Severity};
use crate::talos::{document, release, secret_value};

pub(super) const RULES: &[Rule] = &[BOOT_CARRIER, BOOT_CARRIER_SECRET, ARGS_NEED_ROOT];

const BOOT_CARRIER: Rule = Rule {
    id: "boot-carrier",
    severity: Severity::Error,
    summary: "the first configuration comes by a way that the machine does not look at",
    story: "Talos' metal image never looks for a `cidata` volume, and its nocloud image never reads META key 10. The \
            machine boots into maintenance mode with an address from DHCP, as if nobody had configured anything.",
    fix: "choose a `boot.from` that the platform and release have, and write `boot.server` where a server is needed",
    look: boot_carrier,
};

const BOOT_CARRIER_SECRET: Rule = Rule {
    id: "boot-carrier-secret",
    severity: Severity::Error,
    summary: "secrets would become part of a schematic, which Image Factory shows to anybody",
    story: "The public Image Factory answers GET /schematics/ID to everyone, and an ID is in every installer reference in \
            every log. A machine configuration embedded there gives away the cluster's keys.",
    fix: "use `image.source: ichor` for embedded configurations, or another `boot.from`; keep secrets out of \
          `image.schematic` and `kernel.args`",
    look: boot_carrier_secret,
};

const ARGS_NEED_ROOT: Rule = Rule {
    id: "args-need-root",
    severity: Severity::Error,
    summary: "`vm.args` on a Proxmox whose login is not root itself",
    story: "Arguments for QEMU can reach every file of the host, so Proxmox takes them from root@pam with a password only. \
            An API token is refused, even one of root's: \"only root can set 'args' config\".",
    fix: "remove `vm.args`, or log in with `user: root@pam` and a password",
    look: args_need_root,
};

fn boot_carrier(context: &Context<'_>, found: &mut Found) {
    let mut rolls = Rolls::new(context.plan);
    for (node, kind) in context.plan.by_kind() {
        if let Some(fault) = carrier_fault(node) {
            let message = format!("{}: {fault}", node.boot.from.value);
            rolls.say("boot.from", node.boot.from.place(), message, &kind.nodes);
        }
    }
    rolls.report(context, found);
}

fn carrier_fault(node: &NodePlan) -> Option<&'static str> {
    let platform = node.platform.value;
    let server = node.settings.boot.get().is_some_and(|boot| boot.server.is_set());
    match node.boot.from.value {
        BootFrom::Cidata | BootFrom::NocloudNet if platform != Platform::Nocloud => {
            Some("only the nocloud platform looks there")
        }
        BootFrom::MetalIso | BootFrom::Meta if platform != Platform::Metal => {
            Some("only the metal platform looks there")
        }
        BootFrom::Embedded if !release::at_least(&node.talos.value, 12) => {
            Some("Talos has embedded configurations from 1.12 on")
        }
        BootFrom::Embedded if node.boot.image.value == ImagePlan::Given => {
            Some("images that are given take no configuration in")
        }
        BootFrom::Netboot | BootFrom::NocloudNet if !server => Some("there is no `boot.server`"),
        _ => None,
    }
}

fn boot_carrier_secret(context: &Context<'_>, found: &mut Found) {
    let mut rolls = Rolls::new(context.plan);
    for (node, kind) in context.plan.by_kind() {
        let factory = node.boot.image.value == ImagePlan::Made(ImageSource::Factory);
        if factory && node.boot.from.value == BootFrom::Embedded {
            let message = "the machine configuration would be part of the schematic";
            rolls.say("boot.from", node.boot.from.place(), message, &kind.nodes);
        }
        let schematic = node.settings.image.get().and_then(|image| image.schematic.at());
        if let Some(schematic) = schematic {
            for key in secret::published(&document::from_any(schematic.value)) {
                let message = format!("a secret in {key}");
                rolls.say("image.schematic", Some(schematic.place), message, &kind.nodes);
            }
        }
        let args = node.settings.kernel.get().map(|kernel| &kernel.args);
        for arg in args.into_iter().flat_map(|args| args.items()).filter(|_| factory) {
            if let Some(name) = secret_value::in_kernel_arg(arg.value.as_str()) {
                let message =
                    format!("{name} holds a secret, and kernel arguments are part of the schematic");
                rolls.say("kernel.args", Some(arg.place), message, &kind.nodes);
            }
        }
    }
    rolls.report(context, found);
}

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
