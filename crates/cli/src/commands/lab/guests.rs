//! Nodes as virtual machines: whether they can boot the image that is given, and what `ichor build` makes for them.

use std::fs::{self, DirBuilder, File};
use std::io::Read as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail};
use ichor_core::lab::Scene;
use ichor_core::lab::scene::Part;
use ichor_core::plan::NodePlan;
use ichor_core::prove::crowd;
use ichor_core::render::{base, talosconfig};
use ichor_image::inspect;
use ichor_image::inspect::{Inspection, Machine, Release};
use ichor_talos::asset::Asset;
use ichor_talos::secrets::{Bundle, Pair, admin_certificate};
use ichor_talos::signature::{HEAD, check};
use ichor_values::TalosVersion;
use rand_core::OsRng;

use crate::commands::media::Source;
use crate::configuration::carriers;
use crate::lab::Place;
use crate::progress::Progress;
use crate::project::Project;
use crate::vault::{place, secrets};
use crate::{disk, report, style};

/// How long the certificate lasts of whoever looks after a lab whose secrets are made for it.
const LIFE: Duration = Duration::from_hours(24 * 30);

/// Opens an image and refuses one that the nodes cannot boot; its path from the root of the file system.
pub(super) fn judge(image: &Path, talos: &TalosVersion, nodes: &[&NodePlan]) -> anyhow::Result<PathBuf> {
    let path = fs::canonicalize(image).with_context(|| format!("--image {}", image.display()))?;
    let shown = image.display();
    is_cd(&path).with_context(|| format!("--image {shown} is not what virtual machines boot"))?;
    let Source::Media(media) = Source::open(path.to_str().context("--image: a path that is not UTF-8")?)?
    else {
        bail!("--image {shown} is no image");
    };
    let machine = Machine { talos: talos.clone(), links: Vec::new() };
    let inspection = inspect::inspect(&media, &machine).with_context(|| format!("cannot inspect {shown}"))?;
    if let Some(Release { version, by }) = inspection.release.as_ref().filter(|it| it.version != *talos) {
        bail!(
            "--talos is {talos}, and {by} of {shown} says Talos {version}; give the image of the one, or --talos {version}"
        );
    }
    for node in nodes {
        fits(&shown.to_string(), talos, &inspection, node)?;
    }
    Ok(path)
}

/// Refuses what does not begin like a CD.
fn is_cd(path: &Path) -> anyhow::Result<()> {
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    let mut head = Vec::new();
    file.take(HEAD as u64).read_to_end(&mut head)?;
    Ok(check(&Asset::Iso, &head, length)?)
}

/// Refuses an image with which a node would not do what its file says.
fn fits(image: &str, talos: &TalosVersion, found: &Inspection, node: &NodePlan) -> anyhow::Result<()> {
    let name = &node.name;
    if node.talos.value.minor() != talos.minor() {
        bail!(
            "{name} is Talos {} by the file, and --talos is {talos}; its configuration is of another release",
            node.talos.value
        );
    }
    let platform = node.platform.value.word();
    if !found.platform.is_empty() && found.platform != platform {
        bail!("{image} is for the platform {}, and {name} is {platform} by the file", found.platform);
    }
    let Some(layers) = &found.extensions else { return Ok(()) };
    let has = |wanted: &str| layers.iter().any(|layer| layer.metadata.name == wanted);
    let named = node.boot.extensions.iter().map(|extension| {
        // `siderolabs/frr` calls itself frr.
        extension.value.rsplit('/').next().unwrap_or_default().to_owned()
    });
    if let Some(missing) = named.chain(base::routing(node)).find(|wanted| !has(wanted)) {
        let there = match layers.as_slice() {
            [] => "none".to_owned(),
            layers => crowd(layers.iter().map(|layer| layer.metadata.name.as_str())),
        };
        bail!(
            "{image} has no extension `{missing}`, which {name} needs; its extensions: {there}; `ichor image build` makes one that has it"
        );
    }
    Ok(())
}

/// Writes what the virtual machines of a scene read, and how the administrator reaches them, into the lab's folder.
pub(super) fn write(place: &Place, project: &Project, scene: &Scene) -> anyhow::Result<()> {
    let (bundle, admin) = keys(project)?;
    let guest = |(nth, name): (usize, &str)| Some((nth, project.plan.node(name)?));
    let machines = scene.machines.iter().enumerate();
    let guests = machines.filter(|(_, machine)| matches!(machine.part, Part::Guest(_)));
    let guests: Vec<(usize, &NodePlan)> =
        guests.filter_map(|(nth, machine)| guest((nth, machine.name.as_str()))).collect();
    let nodes: Vec<&NodePlan> = guests.iter().map(|(_, node)| *node).collect();
    let made = match carriers(project, &nodes, &bundle, None) {
        Ok(made) => made,
        Err(errors) => {
            report::unrendered(&mut anstream::stderr(), &errors)?;
            bail!("what the virtual machines read cannot be made");
        }
    };
    for (nth, node) in guests {
        let folder = place.guest(nth);
        DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        let Part::Guest(guest) = &scene.machines[nth].part else { continue };
        let wanted = guest.carrier.as_ref().map(|file| (file, format!("nodes/{}/{file}", node.name)));
        if let Some((file, bytes)) = wanted.and_then(|(file, path)| Some((file, made.get(&path)?))) {
            disk::create_private(&folder.join(file), bytes)?;
        }
    }
    disk::create_private(&place.client(), talosconfig(&project.plan, &bundle, &admin).as_bytes())?;
    Ok(())
}

/// The cluster's own secrets; where it has none, some that end with the lab.
fn keys(project: &Project) -> anyhow::Result<(Bundle, Pair)> {
    if place::bundle_of(project).exists() {
        return Ok(secrets(project, None)?);
    }
    style::say(&format!(
        "{}note:{} the cluster has no secrets yet: the virtual machines get some that end with the lab",
        style::NOTE,
        style::NOTE.render_reset()
    ));
    let _progress = Progress::start("making keys, one of them RSA with 4096 bits");
    let now = ichor_system::now();
    let bundle = Bundle::new(&project.plan.cluster.contract.value, &mut OsRng, now)?;
    let admin = admin_certificate(&bundle.os, &mut OsRng, now, LIFE)
        .context("cannot make the administrator's certificate")?;
    Ok((bundle, admin))
}
