//! Images: whether they have the nodes' extensions, a signature and the right architecture.

use crate::cluster::section::{Firmware, GivenImages, ImageSource, Machine};
use crate::plan::{ImagePlan, NodePlan};
use crate::rules::affected_nodes::NodesByProblem;
use crate::rules::{Findings, Rule, RuleContext, Severity};
use ichor_bgp::setting::Carrier;
use ichor_values::Arch;
use ichor_values::Location;
use ichor_values::WordOrRecord;

pub(super) const RULES: &[Rule] = &[
    IMAGE_WITHOUT_EXTENSION,
    INSTALLER_NOWHERE,
    EXTENSION_NOT_OFFICIAL,
    SECURE_BOOT_UNSIGNED,
    ARCH_MISMATCH,
];

const IMAGE_WITHOUT_EXTENSION: Rule = Rule {
    id: "image-without-extension",
    severity: Severity::Error,
    summary: "a node's images lack an extension that it needs",
    failure: "The Image Factory has official extensions only, so its images have no FRR and the node never announces a \
              route. If an ISO is given without an installer, the extension is missing after the installation, which \
              writes Talos without it to the disk.",
    fix: "leave `image.source` out or set it to `ichor`; with your own images also set the `installer` that belongs to \
          them",
    check: check_image_without_extension,
};

const INSTALLER_NOWHERE: Rule = Rule {
    id: "installer-nowhere",
    severity: Severity::Warning,
    summary: "no registry has the installer for images that ichor builds",
    failure: "The ISO has the routing extension, but Talos installs itself with its default installer, which has none. \
              After the reboot the node announces no route.",
    fix: "set `image.registry` to a registry that the nodes can pull from",
    check: check_installer_nowhere,
};

const EXTENSION_NOT_OFFICIAL: Rule = Rule {
    id: "extension-not-official",
    severity: Severity::Error,
    summary: "the Image Factory does not have an extension",
    failure: "The factory accepts a schematic with any name, but builds only official extensions such as \
              siderolabs/qemu-guest-agent. The download of the image fails.",
    fix: "use the official name, or `image.source: ichor`, which can take any extension image",
    check: check_extension_not_official,
};

const SECURE_BOOT_UNSIGNED: Rule = Rule {
    id: "secure-boot-unsigned",
    severity: Severity::Error,
    summary: "secure boot with an unsigned image, or with a firmware that cannot verify it",
    failure: "The firmware rejects an image without the signature of an enrolled key. The Image Factory signs with its \
              own key, `ichor image build` only with yours. BIOS machines have no secure boot.",
    fix: "use `image.source: factory` with UEFI firmware, or leave `image.secure_boot` off; if you sign with `ichor \
          image build --key`, silence the finding and state where the key is enrolled",
    check: check_secure_boot_unsigned,
};

const ARCH_MISMATCH: Rule = Rule {
    id: "arch-mismatch",
    severity: Severity::Error,
    summary: "a node's architecture does not match its images or its machine",
    failure: "The firmware finds no kernel that it can start, and the machine does not boot.",
    fix: "give images for the node's `arch`, or correct `arch`, `sbc` or `vm.machine`",
    check: check_arch_mismatch,
};

/// The prebuilt images of a node.
fn prebuilt_images(node: &NodePlan) -> Option<&GivenImages> {
    match node.written().image.get()?.source.get()? {
        WordOrRecord::Record(given) => Some(given),
        WordOrRecord::Word(_) => None,
    }
}

fn daemon_extension(node: &NodePlan) -> Option<Carrier> {
    Some(node.routing.as_ref()?.carrier.as_ref()?.value)
}

fn check_image_without_extension(context: &RuleContext<'_>, findings: &mut Findings) {
    let mut problems = NodesByProblem::new(context.plan);
    for (node, kind) in context.plan.by_class() {
        let place = node.boot.image.place();
        if node.boot.image.value == ImagePlan::Made(ImageSource::Factory)
            && daemon_extension(node) == Some(Carrier::Ichor)
        {
            let backend = node.routing.as_ref().map(|routing| routing.backend.value);
            let backend = backend.map(|backend| backend.to_string()).unwrap_or_default();
            let message = format!("the Image Factory has no extension with {backend}");
            problems.add_message("image.source", place, message, &kind.nodes);
        }
        if let Some(given) = prebuilt_images(node)
            && given.iso.is_set() | given.kernel.is_set()
            && !given.installer.is_set()
            && needs_extension(node)
        {
            let message = "no installer is given, so the installed system lacks the node's extensions";
            problems.add_message("image.source", place, message, &kind.nodes);
        }
    }
    problems.report(context, findings);
}

fn needs_extension(node: &NodePlan) -> bool {
    node.joins_overlay()
        || daemon_extension(node).is_some()
        || node.written().extensions.items().next().is_some()
}

fn check_installer_nowhere(context: &RuleContext<'_>, findings: &mut Findings) {
    let mut problems = NodesByProblem::new(context.plan);
    for (node, kind) in context.plan.by_class() {
        let image = node.written().image.get();
        let made = node.boot.image.value == ImagePlan::Made(ImageSource::Ichor);
        if made && node.boot.disk.is_some() && !image.is_some_and(|image| image.registry.is_set()) {
            let message =
                "Talos would install itself with its default installer, which lacks the extension".to_owned();
            problems.add_message(
                "image.registry".to_owned(),
                node.written().image.place(),
                message,
                &kind.nodes,
            );
        }
    }
    problems.report(context, findings);
}

fn check_extension_not_official(context: &RuleContext<'_>, findings: &mut Findings) {
    let mut problems = NodesByProblem::new(context.plan);
    let by_factory = |node: &NodePlan| node.boot.image.value == ImagePlan::Made(ImageSource::Factory);
    for (node, kind) in context.plan.by_class().filter(|(node, _)| by_factory(node)) {
        for extension in node.written().extensions.items() {
            let name = extension.value.as_str();
            let official = name.strip_prefix("siderolabs/").is_some_and(|name| !name.contains(['/', ':']));
            if !official {
                let message = format!("the Image Factory has no extension {name}");
                problems.add_message("extensions", Some(extension.place), message, &kind.nodes);
            }
        }
    }
    problems.report(context, findings);
}

fn check_secure_boot_unsigned(context: &RuleContext<'_>, findings: &mut Findings) {
    let mut problems = NodesByProblem::new(context.plan);
    for (node, kind) in context.plan.by_class() {
        let Some(secure) = node.written().image.get().and_then(|image| image.secure_boot.at()) else {
            continue;
        };
        if !secure.value {
            continue;
        }
        let mut say = |message: &str| {
            problems.add_message("image.secure_boot", Some(secure.place), message, &kind.nodes);
        };
        match node.boot.image.value {
            ImagePlan::Made(ImageSource::Ichor) => {
                say("ichor signs images only with your own key");
            }
            ImagePlan::Given => say("ichor cannot sign prebuilt images"),
            ImagePlan::Made(ImageSource::Factory) => {}
        }
        if node.vm.as_ref().is_some_and(|vm| vm.firmware.value == Firmware::Seabios) {
            say("SeaBIOS does not support secure boot");
        }
    }
    problems.report(context, findings);
}

fn check_arch_mismatch(context: &RuleContext<'_>, findings: &mut Findings) {
    let mut problems = NodesByProblem::new(context.plan);
    for (node, kind) in context.plan.by_class() {
        for (key, place, message) in mismatches(node) {
            problems.add_message(key, place, message, &kind.nodes);
        }
    }
    problems.report(context, findings);
}

fn mismatches(node: &NodePlan) -> Vec<(&'static str, Option<Location>, String)> {
    let mut faults = Vec::new();
    let arch = node.arch.value;
    if let Some(given) = prebuilt_images(node) {
        let made_for = given.arch.value().unwrap_or(Arch::Amd64);
        if made_for != arch {
            let message = format!("the images are for {made_for}, but the node is {arch}");
            faults.push(("image.source", node.boot.image.place(), message));
        }
    }
    if let Some(vm) = &node.vm {
        let fits = match vm.machine.value {
            Machine::Q35 | Machine::I440fx => arch == Arch::Amd64,
            Machine::Virt => arch == Arch::Arm64,
        };
        if !fits {
            faults.push((
                "vm.machine",
                vm.machine.place(),
                format!("machine type {} does not support {arch}", vm.machine.value),
            ));
        }
    }
    if let Some(sbc) = node.written().sbc.at() {
        if arch == Arch::Amd64 {
            faults.push((
                "sbc",
                Some(sbc.place),
                format!("{} is an arm64 board, but the node is amd64", sbc.value),
            ));
        }
        if node.vm.is_some() {
            faults.push((
                "sbc",
                Some(sbc.place),
                format!("{} is a single-board computer, but the node is a VM", sbc.value),
            ));
        }
    }
    faults
}
