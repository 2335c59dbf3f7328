//! Images: whether they hold what the nodes need, can be signed, and are for their architecture.

use crate::cluster::Place;
use crate::cluster::section::{Arch, Carrier, Firmware, GivenImages, ImageSource, Machine};
use crate::cluster::value::Either;
use crate::plan::{ImagePlan, NodePlan};
use crate::rules::roll::Rolls;
use crate::rules::{Context, Found, Rule, Severity};

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
    summary: "the images of a node do not hold an extension that it needs",
    story: "The Image Factory has official extensions only, so its images have no FRR. The nodes boot, wait for a service \
            that is not there, and never announce a route. With a given ISO and no installer it works until the first \
            installation, which puts a plain Talos on the disk.",
    fix: "leave `image.source` out or write `ichor`; with images of your own also give the `installer` they belong to",
    look: image_without_extension,
};

const INSTALLER_NOWHERE: Rule = Rule {
    id: "installer-nowhere",
    severity: Severity::Warning,
    summary: "a node is installed from images that ichor makes, and no registry has their installer",
    story: "The ISO had the routing extension, and every node came up with its routes. Then Talos installed itself with its \
            own installer, which has no extension: after the reboot nobody announced anything.",
    fix: "name a registry that the nodes can pull from in `image.registry`",
    look: installer_nowhere,
};

const EXTENSION_NOT_OFFICIAL: Rule = Rule {
    id: "extension-not-official",
    severity: Severity::Error,
    summary: "an extension that the Image Factory does not have",
    story: "The factory takes names such as siderolabs/qemu-guest-agent and no images. A schematic with another name is \
            accepted, and the download of the image fails when the machine is already waiting for it.",
    fix: "use the official name, or `image.source: ichor`, which can take any extension image",
    look: extension_not_official,
};

const SECURE_BOOT_UNSIGNED: Rule = Rule {
    id: "secure-boot-unsigned",
    severity: Severity::Error,
    summary: "secure boot with an image that nobody signs, or a firmware that cannot check it",
    story: "The firmware refuses an image without the signature of an enrolled key, with a message on a screen in a rack \
            somewhere. The Image Factory signs with its own key, `ichor image build` only with yours; BIOS machines have no \
            secure boot at all.",
    fix: "use `image.source: factory` with UEFI firmware, or leave `image.secure_boot` off; if you sign with `ichor image build \
          --key`, silence this and say where the key is enrolled",
    look: secure_boot_unsigned,
};

const ARCH_MISMATCH: Rule = Rule {
    id: "arch-mismatch",
    severity: Severity::Error,
    summary: "a node's architecture does not fit its images or its machine",
    story: "A Raspberry Pi group joins a cluster whose images were given for amd64. The boards show a rainbow picture and \
            nothing else: their firmware found no kernel it could start.",
    fix: "give images for the node's `arch`, or correct `arch`, `sbc` or `vm.machine`",
    look: arch_mismatch,
};

/// The images somebody gave for a node.
fn given(node: &NodePlan) -> Option<&GivenImages> {
    match node.written().image.get()?.source.get()? {
        Either::Record(given) => Some(given),
        Either::Word(_) => None,
    }
}

fn carrier(node: &NodePlan) -> Option<Carrier> {
    Some(node.routing.as_ref()?.carrier.as_ref()?.value)
}

fn image_without_extension(context: &Context<'_>, found: &mut Found) {
    let mut rolls = Rolls::new(context.plan);
    for (node, kind) in context.plan.by_kind() {
        let place = node.boot.image.place();
        if node.boot.image.value == ImagePlan::Made(ImageSource::Factory)
            && carrier(node) == Some(Carrier::Ichor)
        {
            let backend = node.routing.as_ref().map(|routing| routing.backend.value);
            let backend = backend.map(|backend| backend.to_string()).unwrap_or_default();
            let message = format!("the Image Factory has no extension with {backend}");
            rolls.say("image.source", place, message, &kind.nodes);
        }
        if let Some(given) = given(node)
            && given.iso.is_set() | given.kernel.is_set()
            && !given.installer.is_set()
            && needs_extension(node)
        {
            let message = "no installer, so what is installed lacks the node's extensions";
            rolls.say("image.source", place, message, &kind.nodes);
        }
    }
    rolls.report(context, found);
}

fn needs_extension(node: &NodePlan) -> bool {
    node.joins_overlay() || carrier(node).is_some() || node.written().extensions.items().next().is_some()
}

fn installer_nowhere(context: &Context<'_>, found: &mut Found) {
    let mut rolls = Rolls::new(context.plan);
    for (node, kind) in context.plan.by_kind() {
        let image = node.written().image.get();
        let made = node.boot.image.value == ImagePlan::Made(ImageSource::Ichor);
        if made && node.boot.disk.is_some() && !image.is_some_and(|image| image.registry.is_set()) {
            let message = "Talos would be installed by its own installer, without the extension".to_owned();
            rolls.say("image.registry".to_owned(), node.written().image.place(), message, &kind.nodes);
        }
    }
    rolls.report(context, found);
}

fn extension_not_official(context: &Context<'_>, found: &mut Found) {
    let mut rolls = Rolls::new(context.plan);
    let by_factory = |node: &NodePlan| node.boot.image.value == ImagePlan::Made(ImageSource::Factory);
    for (node, kind) in context.plan.by_kind().filter(|(node, _)| by_factory(node)) {
        for extension in node.written().extensions.items() {
            let name = extension.value.as_str();
            let official = name.strip_prefix("siderolabs/").is_some_and(|name| !name.contains(['/', ':']));
            if !official {
                let message = format!("the Image Factory has no extension {name}");
                rolls.say("extensions", Some(extension.place), message, &kind.nodes);
            }
        }
    }
    rolls.report(context, found);
}

fn secure_boot_unsigned(context: &Context<'_>, found: &mut Found) {
    let mut rolls = Rolls::new(context.plan);
    for (node, kind) in context.plan.by_kind() {
        let Some(secure) = node.written().image.get().and_then(|image| image.secure_boot.at()) else {
            continue;
        };
        if !secure.value {
            continue;
        }
        let mut say =
            |message: &str| rolls.say("image.secure_boot", Some(secure.place), message, &kind.nodes);
        match node.boot.image.value {
            ImagePlan::Made(ImageSource::Ichor) => {
                say("an image that ichor makes is signed by nobody but yourself");
            }
            ImagePlan::Given => say("nobody here can sign images that are given"),
            ImagePlan::Made(ImageSource::Factory) => {}
        }
        if node.vm.as_ref().is_some_and(|vm| vm.firmware.value == Firmware::Seabios) {
            say("SeaBIOS knows no secure boot");
        }
    }
    rolls.report(context, found);
}

fn arch_mismatch(context: &Context<'_>, found: &mut Found) {
    let mut rolls = Rolls::new(context.plan);
    for (node, kind) in context.plan.by_kind() {
        for (key, place, message) in mismatches(node) {
            rolls.say(key, place, message, &kind.nodes);
        }
    }
    rolls.report(context, found);
}

fn mismatches(node: &NodePlan) -> Vec<(&'static str, Option<Place>, String)> {
    let mut faults = Vec::new();
    let arch = node.arch.value;
    if let Some(given) = given(node) {
        let made_for = given.arch.value().unwrap_or(Arch::Amd64);
        if made_for != arch {
            let message = format!("images for {made_for}, and the node is {arch}");
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
                format!("{} is not for {arch}", vm.machine.value),
            ));
        }
    }
    if let Some(sbc) = node.written().sbc.at() {
        if arch == Arch::Amd64 {
            faults.push((
                "sbc",
                Some(sbc.place),
                format!("{} is an arm64 board, and the node is amd64", sbc.value),
            ));
        }
        if node.vm.is_some() {
            faults.push(("sbc", Some(sbc.place), format!("{} is a board, and the node is a VM", sbc.value)));
        }
    }
    faults
}
