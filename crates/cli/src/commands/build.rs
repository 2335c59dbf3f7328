//! `build`: write what a cluster's machines read.

use std::collections::HashMap;
use std::io::Write;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::thread;

use anyhow::{Context as _, bail};
use ichor_core::cluster::load::beside;
use ichor_core::cluster::section::Backend;
use ichor_core::cluster::value::Secret;
use ichor_core::plan::{CniPlan, NodePlan};
use ichor_core::render::machine::{Ground, PatchTexts, RenderError, Renderer, sealed_patches};
use ichor_core::render::routing::template::hide;
use ichor_core::render::{carrier, fabric, manifests, topology};
use ichor_core::routing::{ModelError, Network};
use ichor_core::rules::{self, Finding, Severity};
use ichor_core::talos::emit::emit_all;
use ichor_core::talos::secrets::{Bundle, Pair, admin_cautions, admin_faults, read_admin};
use ichor_core::talos::talosconfig::talosconfig;

use super::secrets::place;
use crate::daemon::Judge;
use crate::progress::Progress;
use crate::project::{self, Project};
use crate::tree::{self, Artifact};
use crate::{report, sealed, secret, style};

/// Write every node's Talos configuration, what is around the nodes, and a talosconfig
///
/// Everything is rendered and judged as Talos would before the first file is written. For each node there are machine.yaml,
/// the whole configuration; boot.yaml, what it can have before Talos is installed; what carries that to the machine, as
/// `boot.from` says: cidata.iso, metal-iso.iso, meta-10.yaml, cmdline or smbios-serial; schematic.yaml, what the Image Factory
/// makes its images from; and, where a daemon routes, the files that machine.yaml brings it. What comes of a template of your own is also shown to that daemon,
/// where it is installed here. fabric/ has the other end of every BGP session: the configuration of each router, a list of
/// all sessions, and a containerlab topology. manifests/ has objects for MetalLB, Cilium and kube-vip, and topology.svg the
/// picture. Files that did not change are left alone; those of an earlier build that no longer belong are removed, by the
/// list in manifest.json.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ichor build\n  ichor build sol/ichor.yaml -o out --only solcp01")]
pub(crate) struct Args {
    /// Cluster file
    #[arg(default_value = "ichor.yaml")]
    file: PathBuf,
    /// Folder to write to; the cluster gets a folder of its own in it
    #[arg(short, long, value_name = "DIR", default_value = "build")]
    output: PathBuf,
    /// Write only the files of this node; may be given more than once
    #[arg(long, value_name = "NODE")]
    only: Vec<String>,
    /// File with age identities that open the secrets, in place of those SOPS would use
    #[arg(long, value_name = "FILE")]
    identity: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let project = match project::open(&args.file)? {
        Ok(project) => project,
        Err(refused) => return refused.report(&args.file, out),
    };
    let findings = project.findings();
    if findings.iter().any(|finding| finding.silenced.is_none() && finding.rule.severity == Severity::Error) {
        let hidden = rules::secret_places(&project.cluster);
        report::findings(out, &project.sources, &findings, &hidden)?;
        style::say("nothing was written: first mend what is wrong");
        return Ok(ExitCode::FAILURE);
    }
    let nodes = chosen(&project, &args.only)?;
    let (bundle, admin) = secrets(&project, args.identity.as_deref())?;
    let progress = Progress::start("rendering");
    let mut unjudged = Vec::new();
    let rendered = render(&project, &nodes, &bundle, args, &mut unjudged)?;
    drop(progress);
    let mut artifacts = match rendered {
        Ok(artifacts) => artifacts,
        Err(errors) => {
            for (reason, places) in by_reason(&errors) {
                let colour = style::ERROR;
                writeln!(out, "{colour}error:{colour:#} {}: {reason}", places.join(", "))?;
            }
            style::say("nothing was written");
            return Ok(ExitCode::FAILURE);
        }
    };
    if args.only.is_empty() {
        artifacts.push(Artifact::private("talosconfig", client(&project, &bundle, &admin)));
        artifacts.push(Artifact::public("topology.svg", topology::render(&project.cluster, &project.plan)));
    }
    let root = args.output.join(project.plan.cluster.name.as_str());
    let done = tree::write(&root, &artifacts, args.only.is_empty())
        .with_context(|| format!("{} may be half new: mend this, and build again", root.display()))?;
    writeln!(out, "{}", root.display())?;
    style::say(&done.to_string());
    let warns = |finding: &&Finding| finding.silenced.is_none() && finding.rule.severity == Severity::Warning;
    match findings.iter().filter(warns).count() {
        0 => {}
        1 => style::say("1 warning: `ichor check` tells it"),
        count => style::say(&format!("{count} warnings: `ichor check` tells them")),
    }
    for note in notes(&project).into_iter().chain(unjudged) {
        style::say(&format!("{}note:{} {note}", style::NOTE, style::NOTE.render_reset()));
    }
    Ok(ExitCode::SUCCESS)
}

/// Errors that many nodes have, told once.
pub(super) fn by_reason(errors: &[RenderError]) -> Vec<(&str, Vec<&str>)> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for error in errors {
        match reasons.iter_mut().find(|(reason, _)| *reason == error.reason) {
            Some((_, places)) => places.push(&error.at),
            None => reasons.push((&error.reason, vec![&error.at])),
        }
    }
    reasons
}

/// What the files do not bring, and somebody has to.
fn notes(project: &Project) -> Vec<String> {
    let section = project.cluster.section();
    let attachments = project.attachments();
    let mentions = |word: &str| attachments.texts.values().flatten().any(|text| text.contains(word));
    let mut notes = Vec::new();
    if project.plan.cluster.cni.value == CniPlan::Cilium && !mentions("cilium") {
        notes.push("nothing here installs Cilium: the nodes are not ready before somebody does, or give `cluster.cilium.manifest`".to_owned());
    }
    if section.kube_vip.is_set() && !mentions("kube-vip") {
        notes.push("nobody has the address of kube-vip before somebody applies manifests/kube-vip.yaml, through the address of a control plane".to_owned());
    }
    let mints = |node: &&NodePlan| {
        let tailscale = node.settings.overlay.get().and_then(|overlay| overlay.tailscale.get());
        tailscale.is_some_and(|tailscale| tailscale.mint.value() == Some(true))
    };
    let minted = project.plan.nodes.iter().filter(mints).count();
    if minted > 0 {
        notes.push(format!(
            "{minted} nodes get a key for the overlay when they are given out; these files have none"
        ));
    }
    notes
}

fn chosen<'p>(project: &'p Project, only: &[String]) -> anyhow::Result<Vec<&'p NodePlan>> {
    let names: Vec<&str> = project.plan.nodes.iter().map(|node| node.name.as_str()).collect();
    if let Some(unknown) = only.iter().find(|name| !names.contains(&name.as_str())) {
        bail!("there is no node `{unknown}`; `ichor show nodes` lists them");
    }
    let is_chosen = |node: &&NodePlan| only.is_empty() || only.iter().any(|name| name == node.name.as_str());
    Ok(project.plan.nodes.iter().filter(is_chosen).collect())
}

/// The bundle and the administrator's certificate, from beside the cluster file.
pub(super) fn secrets(project: &Project, identity: Option<&Path>) -> anyhow::Result<(Bundle, Pair)> {
    let path = place::bundle_of(project);
    if !path.exists() {
        bail!("there are no secrets at {}: make them with `ichor secrets new`", path.display());
    }
    let (bundle, _) = place::open(&path, identity)?;
    let path = place::admin_file(&path);
    if !path.exists() {
        bail!(
            "there is no administrator's certificate at {}: make one with `ichor secrets renew`",
            path.display()
        );
    }
    let text = sealed::open(&path, identity)?.text;
    let admin = read_admin(&text).with_context(|| path.display().to_string())?;
    judge_admin(&path, &admin, &bundle)?;
    Ok((bundle, admin))
}

/// Refuses an administrator's certificate that would not open the cluster, and warns of one that soon will not.
fn judge_admin(path: &Path, admin: &Pair, bundle: &Bundle) -> anyhow::Result<()> {
    let now = sealed::now();
    let faults: Vec<_> = admin_faults(admin, &bundle.os, now).iter().map(ToString::to_string).collect();
    if !faults.is_empty() {
        bail!(
            "the administrator's certificate in {} {}; make a new one with `ichor secrets renew`",
            path.display(),
            faults.join(" and ")
        );
    }
    for caution in admin_cautions(admin, now) {
        let (colour, path) = (style::WARNING, path.display());
        style::say(&format!(
            "{colour}warning:{colour:#} the administrator's certificate in {path} {caution}; see `ichor secrets renew`"
        ));
    }
    Ok(())
}

fn client(project: &Project, bundle: &Bundle, admin: &Pair) -> String {
    let plan = &project.plan;
    let addresses = |nodes: &mut dyn Iterator<Item = &NodePlan>| -> Vec<String> {
        nodes.filter_map(reached_at).map(|address| address.to_string()).collect()
    };
    let endpoints = match &plan.cluster.talos_endpoints.value {
        none if none.is_empty() => addresses(&mut plan.control_planes()),
        endpoints => endpoints.clone(),
    };
    let nodes = addresses(&mut plan.nodes.iter());
    talosconfig(plan.cluster.name.as_str(), &endpoints, &nodes, &bundle.os.crt, admin)
}

/// Where a node is reached once it runs: at its own address, at its loopback if that is announced, or as the file says.
fn reached_at(node: &NodePlan) -> Option<IpAddr> {
    let own = node.address.iter().next().map(|(net, _)| net.addr());
    let stages = node.settings.address.get();
    own.or_else(|| node.routing.is_some().then(|| node.main_address()).flatten())
        .or_else(|| stages.and_then(|stages| stages.overlay.value()))
        .or_else(|| stages.and_then(|stages| stages.external.value()))
        .or_else(|| stages.and_then(|stages| stages.dhcp.value()))
}

/// Secrets that the file refers to, each fetched once.
pub(super) struct Vault<'p> {
    from: &'p str,
    known: Mutex<HashMap<String, Result<String, String>>>,
}

impl<'p> Vault<'p> {
    /// For a file whose references are relative to `from`.
    pub(super) fn new(from: &'p str) -> Self {
        Self { from, known: Mutex::default() }
    }

    pub(super) fn open(&self, reference: &Secret) -> Result<String, String> {
        let key = format!("{reference:?}");
        let mut known = self.known.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let fetch = || secret::resolve(self.from, reference).map_err(|error| error.to_string());
        known.entry(key).or_insert_with(fetch).clone()
    }

    /// A text without any of the secrets that were fetched.
    fn hide(&self, text: &str) -> String {
        let known = self.known.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let secrets: Vec<&str> = known.values().flatten().map(String::as_str).collect();
        hide(text, &secrets)
    }
}

/// The patches that are encrypted, opened.
pub(super) fn patch_texts(project: &Project, identity: Option<&Path>) -> PatchTexts {
    let mut patches = PatchTexts::new();
    for path in sealed_patches(&project.cluster) {
        let opened = sealed::open_sealed_text(Path::new(&beside(project.name(), &path)), identity);
        patches.insert(path, opened.map_err(|error| format!("{:#}", anyhow::Error::from(error))));
    }
    patches
}

/// All files of the nodes and of what is around them, or everything that is wrong. Why templates were not judged by their
/// daemon is added to `unjudged`.
fn render(
    project: &Project,
    nodes: &[&NodePlan],
    bundle: &Bundle,
    args: &Args,
    unjudged: &mut Vec<String>,
) -> anyhow::Result<Result<Vec<Artifact>, Vec<RenderError>>> {
    let identity = args.identity.as_deref();
    let attachments = project.attachments();
    let patches = patch_texts(project, identity);
    let vault = Vault::new(project.name());
    let ground = Ground {
        cluster: &project.cluster,
        plan: &project.plan,
        bundle,
        attachments: &attachments,
        patches: &patches,
        secret: &|reference| vault.open(reference),
    };
    let renderer = match Renderer::new(ground) {
        Ok(renderer) => renderer,
        Err(errors) => return Ok(Err(errors)),
    };
    let judge = Judge::new(|text| vault.hide(text));
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let share = nodes.len().div_ceil(workers).max(1);
    let results = thread::scope(|scope| {
        let hands: Vec<_> = nodes
            .chunks(share)
            .map(|part| {
                scope.spawn(|| part.iter().map(|node| files(&renderer, &judge, node)).collect::<Vec<_>>())
            })
            .collect();
        hands
            .into_iter()
            .map(|hand| hand.join().map_err(|_| anyhow::anyhow!("a renderer failed")))
            .collect::<Result<Vec<_>, _>>()
    })?;
    unjudged.extend(judge.notes());
    let (mut artifacts, mut errors) = (Vec::new(), Vec::new());
    for result in results.into_iter().flatten() {
        match result {
            Ok(mut made) => artifacts.append(&mut made),
            Err(mut found) => errors.append(&mut found),
        }
    }
    if args.only.is_empty() {
        match around(project, &vault) {
            Ok(mut made) => artifacts.append(&mut made),
            Err(mut found) => errors.append(&mut found),
        }
    }
    Ok(if errors.is_empty() { Ok(artifacts) } else { Err(errors) })
}

/// What is around the nodes: the other end of their sessions, and what Kubernetes is told.
fn around(project: &Project, vault: &Vault<'_>) -> Result<Vec<Artifact>, Vec<RenderError>> {
    let (cluster, plan) = (&project.cluster, &project.plan);
    let network = Network::of(cluster, plan).map_err(|errors| {
        let told = |error: &ModelError| RenderError { at: error.node.clone(), reason: error.to_string() };
        errors.iter().map(told).collect::<Vec<_>>()
    })?;
    let (mut made, mut errors) = (Vec::new(), Vec::new());
    let fetch = |reference: &Secret| vault.open(reference);
    for rendered in [fabric::render(plan, &network, &fetch), manifests::render(cluster, plan, &network)] {
        match rendered {
            Ok(files) => made.extend(files.into_iter().map(Artifact::from)),
            Err(mut found) => errors.append(&mut found),
        }
    }
    if errors.is_empty() { Ok(made) } else { Err(errors) }
}

/// The template in the place of a daemon's own configuration, where a node has one.
fn template(node: &NodePlan) -> Option<(Backend, &str)> {
    let backend = node.routing.as_deref()?.backend.value;
    let mut templates = node.settings.routing.get()?.template.entries();
    templates.find(|(of, _)| **of == backend).map(|(_, path)| (backend, path.value.as_str()))
}

/// The files of one node.
fn files(
    renderer: &Renderer<'_>,
    judge: &Judge<'_>,
    node: &NodePlan,
) -> Result<Vec<Artifact>, Vec<RenderError>> {
    let at = |name: &str| format!("nodes/{}/{name}", node.name);
    let machine = renderer.machine(node)?;
    let boot = renderer.boot(node)?;
    let boot = emit_all(&boot.documents);
    let mut made = vec![Artifact::private(at("machine.yaml"), emit_all(&machine.documents))];
    if !boot.is_empty() {
        made.push(Artifact::private(at("boot.yaml"), boot.clone()));
    }
    let service = renderer.service(node)?;
    if let (Some(service), Some((backend, template))) = (&service, template(node)) {
        let refused = |reason| vec![RenderError { at: node.path("routing.template"), reason }];
        judge.ask(backend, template, service).map_err(refused)?;
    }
    for file in service.into_iter().flat_map(|service| service.files) {
        let artifact = if file.private { Artifact::private } else { Artifact::public };
        made.push(artifact(at(file.name), file.text));
    }
    let carried = carrier::render(node, &boot).map_err(|error| vec![error])?;
    made.extend(carried.into_iter().map(Artifact::from));
    Ok(made)
}
