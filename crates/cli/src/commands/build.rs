//! `build`: write what a cluster's machines read.

use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::thread;

use anyhow::{Context as _, bail};
use ichor_core::cluster::load::beside;
use ichor_core::cluster::section::{BootFrom, Platform};
use ichor_core::cluster::value::Secret;
use ichor_core::plan::{NodePlan, Stage};
use ichor_core::render::machine::network::network_config;
use ichor_core::render::machine::{Ground, PatchTexts, RenderError, Renderer, sealed_patches};
use ichor_core::render::{platform_network, schematic};
use ichor_core::rules::{self, Severity};
use ichor_core::talos::emit::emit_all;
use ichor_core::talos::secrets::{Bundle, Pair, read_admin};
use ichor_core::talos::talosconfig::talosconfig;

use super::secrets::place;
use crate::progress::Progress;
use crate::project::{self, Project, Refused};
use crate::tree::{self, Artifact};
use crate::{report, sealed, secret, style};

/// Write every node's Talos configuration, and a talosconfig
///
/// Everything is rendered and judged as Talos would before the first file is written. For each node there are machine.yaml,
/// the whole configuration; boot.yaml, what it can have before Talos is installed; schematic.yaml, what the Image Factory
/// makes its images from; meta-10.yaml where it starts with META; network-config, which nocloud wants beside it; and, where FRR
/// routes, the frr.conf and daemons that machine.yaml brings it. Files that did not change are left alone.
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
        Err(Refused { sources, problems }) => {
            report::problems(out, &args.file.display().to_string(), &sources, &problems)?;
            return Ok(ExitCode::FAILURE);
        }
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
    let rendered = render(&project, &nodes, &bundle, args.identity.as_deref())?;
    drop(progress);
    let mut artifacts = match rendered {
        Ok(artifacts) => artifacts,
        Err(errors) => {
            for error in errors {
                writeln!(out, "{}error:{} {error}", style::ERROR, style::ERROR.render_reset())?;
            }
            style::say("nothing was written");
            return Ok(ExitCode::FAILURE);
        }
    };
    if args.only.is_empty() {
        artifacts.push(Artifact::private("talosconfig", client(&project, &bundle, &admin)));
    }
    let root = args.output.join(project.plan.cluster.name.as_str());
    let written = tree::write(&root, &artifacts)?;
    writeln!(out, "{}", root.display())?;
    style::say(&format!("{written} of {} files written, the others did not change", artifacts.len()));
    Ok(ExitCode::SUCCESS)
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
fn secrets(project: &Project, identity: Option<&Path>) -> anyhow::Result<(Bundle, Pair)> {
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
    Ok((bundle, admin))
}

fn client(project: &Project, bundle: &Bundle, admin: &Pair) -> String {
    let plan = &project.plan;
    let nodes: Vec<String> =
        plan.nodes.iter().filter_map(NodePlan::main_address).map(|it| it.to_string()).collect();
    talosconfig(
        plan.cluster.name.as_str(),
        &plan.cluster.talos_endpoints.value,
        &nodes,
        &bundle.os.crt,
        admin,
    )
}

/// Secrets that the file refers to, each fetched once.
struct Vault<'p> {
    from: &'p str,
    known: Mutex<HashMap<String, Result<String, String>>>,
}

impl Vault<'_> {
    fn open(&self, reference: &Secret) -> Result<String, String> {
        let key = format!("{reference:?}");
        let mut known = self.known.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let fetch = || secret::resolve(self.from, reference).map_err(|error| error.to_string());
        known.entry(key).or_insert_with(fetch).clone()
    }
}

/// All files of the nodes, or everything that is wrong.
fn render(
    project: &Project,
    nodes: &[&NodePlan],
    bundle: &Bundle,
    identity: Option<&Path>,
) -> anyhow::Result<Result<Vec<Artifact>, Vec<RenderError>>> {
    let attachments = project.attachments();
    let mut patches = PatchTexts::new();
    for path in sealed_patches(&project.cluster) {
        let opened = sealed::open(Path::new(&beside(project.name(), &path)), identity);
        patches.insert(path, opened.map(|opened| opened.text).map_err(|error| error.to_string()));
    }
    let vault = Vault { from: project.name(), known: Mutex::default() };
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
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let share = nodes.len().div_ceil(workers).max(1);
    let results = thread::scope(|scope| {
        let hands: Vec<_> = nodes
            .chunks(share)
            .map(|part| scope.spawn(|| part.iter().map(|node| files(&renderer, node)).collect::<Vec<_>>()))
            .collect();
        hands
            .into_iter()
            .map(|hand| hand.join().map_err(|_| anyhow::anyhow!("a renderer failed")))
            .collect::<Result<Vec<_>, _>>()
    })?;
    let (mut artifacts, mut errors) = (Vec::new(), Vec::new());
    for result in results.into_iter().flatten() {
        match result {
            Ok(mut made) => artifacts.append(&mut made),
            Err(mut found) => errors.append(&mut found),
        }
    }
    Ok(if errors.is_empty() { Ok(artifacts) } else { Err(errors) })
}

/// The files of one node.
fn files(renderer: &Renderer<'_>, node: &NodePlan) -> Result<Vec<Artifact>, Vec<RenderError>> {
    let at = |name: &str| format!("nodes/{}/{name}", node.name);
    let machine = renderer.machine(node)?;
    let boot = renderer.boot(node)?;
    let boot = emit_all(&boot.documents);
    let mut made = vec![Artifact::private(at("machine.yaml"), emit_all(&machine.documents))];
    if !boot.is_empty() {
        made.push(Artifact::private(at("boot.yaml"), boot.clone()));
    }
    if let Some(files) = renderer.frr(node)? {
        made.push(Artifact::private(at("frr.conf"), files.conf));
        made.push(Artifact::public(at("daemons"), files.daemons));
    }
    if node.platform.value == Platform::Nocloud {
        made.push(Artifact::public(at("network-config"), network_config(node, Stage::Boot)));
    }
    if node.boot.from.value == BootFrom::Meta {
        made.push(Artifact::public(at("meta-10.yaml"), platform_network::text(node)));
    }
    let embedded = (node.boot.from.value == BootFrom::Embedded).then_some(boot.as_str());
    match schematic::of(node, embedded) {
        Ok(schematic) => made.push(Artifact::public(at("schematic.yaml"), schematic.canonical())),
        Err(error) => return Err(vec![RenderError::of(node, &error)]),
    }
    Ok(made)
}
