//! Boot media: whether the machine reads them, whether the configuration fits, and whether they disclose secrets.

use crate::cluster::section::{BootDevice, BootFrom, ImageSource, Platform};
use crate::plan::{ConfigStage, ImagePlan, LinkKind, NodePlan};
use crate::render::schematic;
use crate::rules::affected_nodes::NodesByProblem;
use crate::rules::{Findings, Rule, RuleContext, Severity};
use ichor_talos::command_line::LONGEST;
use ichor_talos::kernel_args::LOADER;
use ichor_talos::schematic::Schematic;
use ichor_talos::{document, release, secret_value};
use ichor_values::Location;

pub(super) const RULES: &[Rule] =
    &[BOOT_CARRIER, BOOT_CARRIER_SECRET, COMMAND_LINE_LONG, KERNEL_ARG_REQUIRED];

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

const KERNEL_ARG_REQUIRED: Rule = Rule {
    id: "kernel-arg-required",
    severity: Severity::Error,
    summary: "a kernel argument that Talos requires is removed",
    failure: "Talos verifies at its start that the kernel runs with `slab_nomerge` and `pti=on`. Without them it reports \
              \"KSPP kernel parameter pti is required\" and starts neither services nor network; the machine reboots in a \
              loop.",
    fix: "keep `slab_nomerge` and `pti=on`; `mitigations=off` is accepted",
    check: check_required_kernel_args,
};

fn check_boot_carrier(context: &RuleContext<'_>, findings: &mut Findings) {
    let mut problems = NodesByProblem::new(context.plan);
    for (node, kind) in context.plan.by_class() {
        if let Some(fault) = boot_media_fault(node) {
            let message = format!("{}: {fault}", node.boot.from.value);
            problems.add_message("boot.from", node.boot.from.place(), message, &kind.nodes);
        }
    }
    problems.report(context, findings);
}

fn boot_media_fault(node: &NodePlan) -> Option<String> {
    let fault = image_fault(node).or_else(|| command_line_fault(node)).or_else(|| capacity_fault(node));
    let with_fix = |fault| format!("{fault}; use `boot.from: {}`", node.suitable_boot_source());
    fault.map(with_fix).or_else(|| settings_fault(node).map(str::to_owned))
}

/// Why the image does not read its boot media.
fn image_fault(node: &NodePlan) -> Option<&'static str> {
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

/// Why the kernel does not receive the command line with the configuration.
fn command_line_fault(node: &NodePlan) -> Option<&'static str> {
    match node.boot.from.value {
        BootFrom::Early | BootFrom::Inline
            if !matches!(node.platform.value, Platform::Metal | Platform::Nocloud) =>
        {
            Some("on this platform only the image sets the kernel command line")
        }
        BootFrom::Early | BootFrom::Inline if node.boot.secure_boot.value => {
            Some("with secure boot the command line is part of the signed image")
        }
        BootFrom::Early | BootFrom::Inline if boots_only_from_cd(node) => {
            Some("the machine boots from CD-ROM, which has its own kernel command line")
        }
        _ => None,
    }
}

/// Whether a virtual machine with an empty disk boots from CD-ROM only, without arguments for QEMU.
fn boots_only_from_cd(node: &NodePlan) -> bool {
    let has_args = node.written().vm.get().is_some_and(|vm| vm.args.is_set());
    let on_cd = |boot: &[BootDevice]| boot.contains(&BootDevice::Cdrom) && !boot.contains(&BootDevice::Net);
    !has_args && node.vm.as_ref().is_some_and(|vm| on_cd(&vm.boot.value))
}

/// Why the boot media cannot hold the node's configuration.
fn capacity_fault(node: &NodePlan) -> Option<&'static str> {
    match node.boot.from.value {
        BootFrom::MetalIso | BootFrom::Embedded | BootFrom::Early | BootFrom::Inline
            if node.needs_more_than_documents() =>
        {
            Some("it holds configuration documents only, and Talos before 1.12 has none for links")
        }
        BootFrom::Meta if is_reachable_by_bgp_only(node) => {
            Some("META cannot configure BGP, and the machine is reachable over BGP only")
        }
        _ => None,
    }
}

/// The setting that contradicts the boot media.
fn settings_fault(node: &NodePlan) -> Option<&'static str> {
    let server = node.written().boot.get().and_then(|boot| boot.server.get());
    match (node.boot.from.value, server) {
        (BootFrom::Netboot | BootFrom::NocloudNet, None) => Some("`boot.server` is missing"),
        (BootFrom::NocloudNet, Some(server)) if server.as_str().contains(';') => {
            Some("Talos truncates the URL at `;`; remove it from `boot.server`")
        }
        (BootFrom::MetalIso, _) if kernel_args(node).any(|arg| names_another_source(&arg)) => {
            Some("the kernel argument `talos.config` names another source; remove it")
        }
        _ => None,
    }
}

fn names_another_source(arg: &str) -> bool {
    arg.strip_prefix("talos.config=").is_some_and(|place| place != "metal-iso")
}

/// The kernel arguments of the schematic and of `kernel.args`.
fn kernel_args(node: &NodePlan) -> impl Iterator<Item = String> {
    let schematic =
        node.written().image.get().and_then(|image| image.schematic.get()).map(document::from_any);
    let texts =
        |schematic| document::texts(schematic, "/customization/extraKernelArgs").map(str::to_owned).collect();
    let of_schematic: Vec<String> = schematic.as_ref().map(texts).unwrap_or_default();
    let kernel = node.written().kernel.get().into_iter().flat_map(|kernel| kernel.args.values());
    of_schematic.into_iter().chain(kernel.map(|arg| arg.as_str().to_owned()))
}

/// Whether the booting machine is reachable only by its BGP announcements.
fn is_reachable_by_bgp_only(node: &NodePlan) -> bool {
    let leads = |kind: &LinkKind| !matches!(kind, LinkKind::Loopback | LinkKind::Dummy);
    let links = node.links(ConfigStage::Boot);
    let mut addressed = links.iter().filter(|link| link.dhcp || !link.addresses.is_empty());
    node.routing.is_some() && !addressed.any(|link| leads(&link.kind))
}

fn check_boot_carrier_secret(context: &RuleContext<'_>, findings: &mut Findings) {
    let mut problems = NodesByProblem::new(context.plan);
    for (node, kind) in context.plan.by_class() {
        let factory = node.boot.image.value == ImagePlan::Made(ImageSource::Factory);
        if factory && node.boot.from.value == BootFrom::Embedded {
            let message = "the machine configuration would be part of the schematic";
            problems.add_message("boot.from", node.boot.from.place(), message, &kind.nodes);
        } else if let Some(who) = node.password_readers() {
            let (from, other) = (node.boot.from.value, node.suitable_boot_source());
            let message =
                format!("{from}: {who} could read the password of a BGP session; use `boot.from: {other}`");
            problems.add_message("boot.from", node.boot.from.place(), message, &kind.nodes);
        }
        let schematic = node.written().image.get().and_then(|image| image.schematic.at());
        if let Some(schematic) = schematic {
            for key in secret_value::in_schematic(&document::from_any(schematic.value)) {
                let message = format!("{key} contains a secret");
                problems.add_message("image.schematic", Some(schematic.place), message, &kind.nodes);
            }
        }
        let args = node.written().kernel.get().map(|kernel| &kernel.args);
        for arg in args.into_iter().flat_map(|args| args.items()).filter(|_| factory) {
            if let Some(name) = secret_value::in_kernel_arg(arg.value.as_str()) {
                let message =
                    format!("{name} contains a secret, and kernel arguments are part of the schematic");
                problems.add_message("kernel.args", Some(arg.place), message, &kind.nodes);
            }
        }
    }
    problems.report(context, findings);
}

fn check_command_line_long(context: &RuleContext<'_>, findings: &mut Findings) {
    let mut problems = NodesByProblem::new(context.plan);
    for (node, kind) in context.plan.by_class() {
        // Other rules report why a node has no schematic.
        let Ok(mut schematic) = schematic::node_schematic(node, None) else { continue };
        let length =
            |schematic: &Schematic| schematic::command_line(node, schematic).to_string().len() + LOADER;
        let bytes = length(&schematic);
        if bytes <= LONGEST {
            continue;
        }
        let meta = !std::mem::take(&mut schematic.meta).is_empty() && length(&schematic) <= LONGEST;
        let (key, what) =
            if meta { ("boot.from", " (with META, as on an ISO)") } else { ("kernel.args", "") };
        let place = if meta { node.boot.from.place() } else { args_place(node) };
        let message = format!(
            "the command line has {bytes} bytes{what}, including {LOADER} reserved for the boot loader; the limit is {LONGEST}"
        );
        problems.add_message(key, place, message, &kind.nodes);
    }
    problems.report(context, findings);
}

fn check_required_kernel_args(context: &RuleContext<'_>, findings: &mut Findings) {
    let mut problems = NodesByProblem::new(context.plan);
    for (node, kind) in context.plan.by_class() {
        // Other rules report why a node has no schematic.
        let Ok(schematic) = schematic::node_schematic(node, None) else { continue };
        let missing: Vec<_> = schematic::command_line(node, &schematic).missing_requirements().collect();
        if !missing.is_empty() {
            let message = format!("Talos does not start without {}", missing.join(" and "));
            problems.add_message("kernel.args", args_place(node), message, &kind.nodes);
        }
    }
    problems.report(context, findings);
}

fn args_place(node: &NodePlan) -> Option<Location> {
    let kernel =
        node.written().kernel.get().and_then(|kernel| kernel.args.items().next().map(|arg| arg.place));
    kernel.or_else(|| Some(node.written().image.get()?.schematic.at()?.place))
}
