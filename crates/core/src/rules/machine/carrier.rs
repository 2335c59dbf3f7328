//! What carries the first configuration to a machine: whether it looks there, whether it all fits, and who else reads it.

use crate::cluster::section::{BootDevice, BootFrom, ImageSource, Platform};
use crate::plan::{ConfigStage, ImagePlan, LinkKind, NodePlan};
use crate::render::schematic;
use crate::rules::roll::NodesByProblem;
use crate::rules::{Findings, Rule, RuleContext, Severity};
use ichor_talos::command_line::LONGEST;
use ichor_talos::kernel_args::LOADER;
use ichor_talos::schematic::Schematic;
use ichor_talos::{document, release, secret_value};
use ichor_values::Location;

pub(super) const RULES: &[Rule] = &[BOOT_CARRIER, BOOT_CARRIER_SECRET, COMMAND_LINE_LONG];

const BOOT_CARRIER: Rule = Rule {
    id: "boot-carrier",
    severity: Severity::Error,
    summary: "the machine does not read this source of its first configuration, or the source cannot hold it",
    failure: "Talos' metal image never reads a `cidata` volume, and its nocloud image never reads META key 10. The \
              machine boots into maintenance mode with an address from DHCP.",
    fix: "choose a `boot.from` that the platform and release support, and set `boot.server` where a server is needed",
    check: check_boot_carrier,
};

const BOOT_CARRIER_SECRET: Rule = Rule {
    id: "boot-carrier-secret",
    severity: Severity::Error,
    summary: "secrets would be readable in a schematic, an image or a command line",
    failure: "The public Image Factory answers GET /schematics/ID to everyone, and the ID is part of every installer \
              reference, so a machine configuration embedded there discloses the cluster's keys. A kernel command line \
              is in the log of every boot, and every program on the node can read it.",
    fix: "use `image.source: ichor` for embedded configurations, or another `boot.from`; keep secrets out of \
          `image.schematic` and `kernel.args`",
    check: check_boot_carrier_secret,
};

const COMMAND_LINE_LONG: Rule = Rule {
    id: "command-line-long",
    severity: Severity::Error,
    summary: "the kernel command line is longer than an x86 kernel accepts",
    failure: "A kernel on x86 keeps 2,047 bytes of its command line and silently drops the rest. The end is lost, for \
              example half of the META values, which then cannot be unpacked.",
    fix: "use fewer or shorter `kernel.args`; put the network on a volume instead of META, or boot a disk image, which \
          has META in a partition, and silence the finding",
    check: check_command_line_long,
};

fn check_boot_carrier(context: &RuleContext<'_>, found: &mut Findings) {
    let mut rolls = NodesByProblem::new(context.plan);
    for (node, kind) in context.plan.by_kind() {
        if let Some(fault) = carrier_fault(node) {
            let message = format!("{}: {fault}", node.boot.from.value);
            rolls.say("boot.from", node.boot.from.place(), message, &kind.nodes);
        }
    }
    rolls.report(context, found);
}

fn carrier_fault(node: &NodePlan) -> Option<String> {
    let fault = unread(node).or_else(|| unpassed(node)).or_else(|| unfitting(node));
    let would_do = |fault| format!("{fault}; use `boot.from: {}`", node.fitting_carrier());
    fault.map(would_do).or_else(|| contradicted(node).map(str::to_owned))
}

/// Why the image does not look at its carrier.
fn unread(node: &NodePlan) -> Option<&'static str> {
    let platform = node.platform.value;
    match node.boot.from.value {
        BootFrom::Cidata | BootFrom::NocloudNet if platform != Platform::Nocloud => {
            Some("only the nocloud platform reads it")
        }
        BootFrom::MetalIso | BootFrom::Meta if platform != Platform::Metal => {
            Some("only the metal platform reads it")
        }
        BootFrom::Embedded if !release::at_least(&node.talos.value, 12) => {
            Some("Talos supports embedded configurations from 1.12 on")
        }
        BootFrom::Embedded if node.boot.image.value == ImagePlan::Given => {
            Some("ichor cannot embed a configuration in prebuilt images")
        }
        _ => None,
    }
}

/// Why the kernel does not get the command line that is its carrier.
fn unpassed(node: &NodePlan) -> Option<&'static str> {
    match node.boot.from.value {
        BootFrom::Early | BootFrom::Inline
            if !matches!(node.platform.value, Platform::Metal | Platform::Nocloud) =>
        {
            Some("on this platform only the image sets the kernel command line")
        }
        BootFrom::Early | BootFrom::Inline if node.boot.secure_boot.value => {
            Some("with secure boot the command line is part of the signed image")
        }
        BootFrom::Early | BootFrom::Inline if boots_cd_alone(node) => {
            Some("the machine boots from CD-ROM, which has its own kernel command line")
        }
        _ => None,
    }
}

/// Whether a virtual machine boots from nothing but a CD, before its disk has something, and nobody tells QEMU otherwise.
fn boots_cd_alone(node: &NodePlan) -> bool {
    let told = node.written().vm.get().is_some_and(|vm| vm.args.is_set());
    let on_cd = |boot: &[BootDevice]| boot.contains(&BootDevice::Cdrom) && !boot.contains(&BootDevice::Net);
    !told && node.vm.as_ref().is_some_and(|vm| on_cd(&vm.boot.value))
}

/// Why it cannot hold what the node needs.
fn unfitting(node: &NodePlan) -> Option<&'static str> {
    match node.boot.from.value {
        BootFrom::MetalIso | BootFrom::Embedded | BootFrom::Early | BootFrom::Inline
            if node.needs_more_than_documents() =>
        {
            Some("it holds configuration documents only, and Talos before 1.12 has none for links")
        }
        BootFrom::Meta if is_reached_by_bgp_alone(node) => {
            Some("META cannot configure BGP, and nothing else makes the machine reachable")
        }
        _ => None,
    }
}

/// What else is written that does not go with it.
fn contradicted(node: &NodePlan) -> Option<&'static str> {
    let server = node.written().boot.get().and_then(|boot| boot.server.get());
    match (node.boot.from.value, server) {
        (BootFrom::Netboot | BootFrom::NocloudNet, None) => Some("`boot.server` is missing"),
        (BootFrom::NocloudNet, Some(server)) if server.as_str().contains(';') => {
            Some("Talos truncates the URL at `;`; remove it from `boot.server`")
        }
        (BootFrom::MetalIso, _) if kernel_args(node).any(|arg| looks_elsewhere(&arg)) => {
            Some("the kernel argument `talos.config` names another source; remove it")
        }
        _ => None,
    }
}

fn looks_elsewhere(arg: &str) -> bool {
    arg.strip_prefix("talos.config=").is_some_and(|place| place != "metal-iso")
}

/// The kernel arguments that are written, in both places.
fn kernel_args(node: &NodePlan) -> impl Iterator<Item = String> {
    let schematic =
        node.written().image.get().and_then(|image| image.schematic.get()).map(document::from_any);
    let texts =
        |schematic| document::texts(schematic, "/customization/extraKernelArgs").map(str::to_owned).collect();
    let of_schematic: Vec<String> = schematic.as_ref().map(texts).unwrap_or_default();
    let kernel = node.written().kernel.get().into_iter().flat_map(|kernel| kernel.args.values());
    of_schematic.into_iter().chain(kernel.map(|arg| arg.as_str().to_owned()))
}

/// Whether nobody reaches the machine while it boots but by what it announces.
fn is_reached_by_bgp_alone(node: &NodePlan) -> bool {
    let leads = |kind: &LinkKind| !matches!(kind, LinkKind::Loopback | LinkKind::Dummy);
    let links = node.links(ConfigStage::Boot);
    let mut addressed = links.iter().filter(|link| link.dhcp || !link.addresses.is_empty());
    node.routing.is_some() && !addressed.any(|link| leads(&link.kind))
}

fn check_boot_carrier_secret(context: &RuleContext<'_>, found: &mut Findings) {
    let mut rolls = NodesByProblem::new(context.plan);
    for (node, kind) in context.plan.by_kind() {
        let factory = node.boot.image.value == ImagePlan::Made(ImageSource::Factory);
        if factory && node.boot.from.value == BootFrom::Embedded {
            let message = "the machine configuration would be part of the schematic";
            rolls.say("boot.from", node.boot.from.place(), message, &kind.nodes);
        } else if let Some(who) = node.shows_passwords_to() {
            let (from, other) = (node.boot.from.value, node.fitting_carrier());
            let message =
                format!("{from}: {who} could read the password of a BGP session; use `boot.from: {other}`");
            rolls.say("boot.from", node.boot.from.place(), message, &kind.nodes);
        }
        let schematic = node.written().image.get().and_then(|image| image.schematic.at());
        if let Some(schematic) = schematic {
            for key in secret_value::in_schematic(&document::from_any(schematic.value)) {
                let message = format!("{key} contains a secret");
                rolls.say("image.schematic", Some(schematic.place), message, &kind.nodes);
            }
        }
        let args = node.written().kernel.get().map(|kernel| &kernel.args);
        for arg in args.into_iter().flat_map(|args| args.items()).filter(|_| factory) {
            if let Some(name) = secret_value::in_kernel_arg(arg.value.as_str()) {
                let message =
                    format!("{name} contains a secret, and kernel arguments are part of the schematic");
                rolls.say("kernel.args", Some(arg.place), message, &kind.nodes);
            }
        }
    }
    rolls.report(context, found);
}

fn check_command_line_long(context: &RuleContext<'_>, found: &mut Findings) {
    let mut rolls = NodesByProblem::new(context.plan);
    for (node, kind) in context.plan.by_kind() {
        // What else keeps a node from having a schematic is told by its own rules.
        let Ok(mut schematic) = schematic::of(node, None) else { continue };
        let length =
            |schematic: &Schematic| schematic::command_line(node, schematic).to_string().len() + LOADER;
        let whole = length(&schematic);
        if whole <= LONGEST {
            continue;
        }
        let meta = !std::mem::take(&mut schematic.meta).is_empty() && length(&schematic) <= LONGEST;
        let (key, what) =
            if meta { ("boot.from", " (with META, as on an ISO)") } else { ("kernel.args", "") };
        let place = if meta { node.boot.from.place() } else { args_place(node) };
        let message = format!(
            "the command line has {whole} bytes{what}, including {LOADER} reserved for the boot loader; the limit is {LONGEST}"
        );
        rolls.say(key, place, message, &kind.nodes);
    }
    rolls.report(context, found);
}

fn args_place(node: &NodePlan) -> Option<Location> {
    let kernel =
        node.written().kernel.get().and_then(|kernel| kernel.args.items().next().map(|arg| arg.place));
    kernel.or_else(|| Some(node.written().image.get()?.schematic.at()?.place))
}
