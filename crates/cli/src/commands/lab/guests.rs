//! Nodes as virtual machines: validates the image, and writes their boot media.

use std::fs::{self, DirBuilder, File};
use std::io::Read as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail};
use ichor_core::lab::LabTopology;
use ichor_core::lab::topology::MachineRole;
use ichor_core::plan::NodePlan;
use ichor_core::prove::summarize_names;
use ichor_core::render::{base_image, talosconfig};
use ichor_image::inspect;
use ichor_image::inspect::{DetectedRelease, Inspection, TargetMachine};
use ichor_talos::asset::Asset;
use ichor_talos::secrets::{Bundle, Pair, admin_certificate};
use ichor_talos::signature::{HEAD, check};
use ichor_values::TalosVersion;
use rand_core::OsRng;

use crate::cluster_secrets::{bundle_file, open_secrets};
use crate::commands::media::Source;
use crate::configuration::boot_media;
use crate::lab::LabDir;
use crate::progress::Progress;
use crate::project::Project;
use crate::{disk, report, style};

/// Lifetime of the administrator's certificate in a lab with temporary secrets.
const ADMIN_LIFETIME: Duration = Duration::from_hours(24 * 30);

/// Validates that the nodes can boot an image; returns its absolute path.
pub(super) fn validate_image(
    image: &Path,
    talos: &TalosVersion,
    nodes: &[&NodePlan],
) -> anyhow::Result<PathBuf> {
    let path = fs::canonicalize(image).with_context(|| format!("--image {}", image.display()))?;
    let shown = image.display();
    check_iso(&path).with_context(|| format!("--image {shown} is not a bootable ISO"))?;
    let Source::Media(media) = Source::open(path.to_str().context("--image: a path that is not UTF-8")?)?
    else {
        bail!("--image {shown} is not an image");
    };
    let machine = TargetMachine { talos: talos.clone(), links: Vec::new() };
    let inspection = inspect::inspect(&media, &machine).with_context(|| format!("cannot inspect {shown}"))?;
    if let Some(DetectedRelease { version, by }) =
        inspection.release.as_ref().filter(|it| it.version != *talos)
    {
        bail!("{shown} has Talos {version} (by {by}), not {talos}; pass another image, or --talos {version}");
    }
    for node in nodes {
        check_node(&shown.to_string(), talos, &inspection, node)?;
    }
    Ok(path)
}

/// Refuses a file without the signature of an ISO.
fn check_iso(path: &Path) -> anyhow::Result<()> {
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    let mut head = Vec::new();
    file.take(HEAD as u64).read_to_end(&mut head)?;
    Ok(check(&Asset::Iso, &head, length)?)
}

/// Refuses an image that does not match the node in the cluster file.
fn check_node(image: &str, talos: &TalosVersion, found: &Inspection, node: &NodePlan) -> anyhow::Result<()> {
    let name = &node.name;
    if node.talos.value.minor() != talos.minor() {
        bail!(
            "{name} has Talos {} in the cluster file, not {talos}; its configuration would be of another release",
            node.talos.value
        );
    }
    let platform = node.platform.value.word();
    if !found.platform.is_empty() && found.platform != platform {
        bail!(
            "{image} is for the platform {}, but {name} has {platform} in the cluster file",
            found.platform
        );
    }
    let Some(layers) = &found.extensions else { return Ok(()) };
    let has = |wanted: &str| layers.iter().any(|layer| layer.metadata.name == wanted);
    let named = node.boot.extensions.iter().map(|extension| {
        // The metadata name of `siderolabs/frr` is `frr`.
        extension.value.rsplit('/').next().unwrap_or_default().to_owned()
    });
    if let Some(missing) = named.chain(base_image::routing_extension(node)).find(|wanted| !has(wanted)) {
        let there = match layers.as_slice() {
            [] => "none".to_owned(),
            layers => summarize_names(layers.iter().map(|layer| layer.metadata.name.as_str())),
        };
        bail!(
            "{image} lacks the extension `{missing}`, which {name} needs; it has: {there}; build an image with `ichor image build`"
        );
    }
    Ok(())
}

/// Writes the boot media of the virtual machines and a talosconfig into the lab's folder.
pub(super) fn write_boot_media(
    dir: &LabDir,
    project: &Project,
    topology: &LabTopology,
) -> anyhow::Result<()> {
    let (bundle, admin) = open_or_create_secrets(project)?;
    let guest = |(nth, name): (usize, &str)| Some((nth, project.plan.node(name)?));
    let machines = topology.machines.iter().enumerate();
    let guests = machines.filter(|(_, machine)| matches!(machine.part, MachineRole::Guest(_)));
    let guests: Vec<(usize, &NodePlan)> =
        guests.filter_map(|(nth, machine)| guest((nth, machine.name.as_str()))).collect();
    let nodes: Vec<&NodePlan> = guests.iter().map(|(_, node)| *node).collect();
    let made = match boot_media(project, &nodes, &bundle, None) {
        Ok(made) => made,
        Err(errors) => {
            report::unrendered(&mut anstream::stderr(), &errors)?;
            bail!("cannot render the boot media of the virtual machines");
        }
    };
    for (nth, node) in guests {
        let folder = dir.guest(nth);
        DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        let MachineRole::Guest(guest) = &topology.machines[nth].part else { continue };
        let wanted = guest.carrier.as_ref().map(|file| (file, format!("nodes/{}/{file}", node.name)));
        if let Some((file, bytes)) = wanted.and_then(|(file, path)| Some((file, made.get(&path)?))) {
            disk::create_private(&folder.join(file), bytes)?;
        }
    }
    disk::create_private(&dir.client(), talosconfig(&project.plan, &bundle, &admin).as_bytes())?;
    Ok(())
}

/// The cluster's secrets, or temporary ones if it has none.
fn open_or_create_secrets(project: &Project) -> anyhow::Result<(Bundle, Pair)> {
    if bundle_file::bundle_path(project).exists() {
        return Ok(open_secrets(project, None)?);
    }
    style::say(&format!(
        "{}note:{} the cluster has no secrets yet: the virtual machines get temporary ones",
        style::NOTE,
        style::NOTE.render_reset()
    ));
    let _progress = Progress::start("generating keys");
    let now = ichor_system::now();
    let bundle = Bundle::new(&project.plan.cluster.contract.value, &mut OsRng, now)?;
    let admin = admin_certificate(&bundle.os, &mut OsRng, now, ADMIN_LIFETIME)
        .context("cannot create the administrator's certificate")?;
    Ok((bundle, admin))
}
