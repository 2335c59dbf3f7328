//! `build`: write what a cluster's machines read.

mod inputs;
mod render;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ichor_core::plan::{CniPlan, NodePlan};
use ichor_core::render::artifact::Artifact;
use ichor_core::rules::{Finding, Severity};

use self::inputs::{fetched, inputs};
use self::render::render;
use crate::argument::{ClusterFile, IdentityFile};
use crate::project::Project;
use crate::refused::Refused;
use crate::tree::{Difference, Done, Scope, Tree};
use crate::vault::{Vault, secrets};
use crate::{report, style};

/// Write every node's Talos configuration, what is around the nodes, and a talosconfig
///
/// Everything is rendered and judged as Talos would before the first file is written. For each node there are machine.yaml,
/// the whole configuration; boot.yaml, what it can have before Talos is installed; what carries that to the machine, as
/// `boot.from` says: cidata.iso, metal-iso.iso, meta-10.yaml, cmdline or smbios-serial; schematic.yaml, what the Image Factory
/// makes its images from; and, where a daemon routes, the files that machine.yaml brings it. What comes of a template of your own is also shown to that daemon,
/// where it is installed here. fabric/ has the other end of every BGP session: the configuration of each router, a list of
/// all sessions, and a containerlab topology. manifests/ has objects for MetalLB and Cilium, hypervisors/ and clouds/
/// what makes the nodes' machines, and topology.svg the picture. Files that did not change are left alone; those of an
/// earlier build that no longer belong are removed, by the list in manifest.json. What ichor did not write is neither overwritten nor removed. When nothing it is made from has
/// changed since the last build, and no file either, nothing is rendered; --check always renders and reads everything.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ichor build\n  ichor build sol/ichor.yaml -o out --only solcp01\n  \
                        ichor build --check")]
pub(crate) struct Args {
    #[command(flatten)]
    cluster: ClusterFile,
    /// Folder to write to; the cluster gets a folder of its own in it
    #[arg(short, long, value_name = "DIR", default_value = "build")]
    output: PathBuf,
    /// Write only the files of this node; may be given more than once
    #[arg(long, value_name = "NODE")]
    only: Vec<String>,
    /// Write nothing; exit 1 if the files are not what a build would give
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    identity: IdentityFile,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let project = args.cluster.open()?;
    let findings = project.findings();
    if findings.iter().any(|finding| finding.silenced.is_none() && finding.issue.severity == Severity::Error)
    {
        let consequence = "nothing was written: first mend what is wrong";
        return Err(Refused::findings(project, findings, consequence).into());
    }
    let nodes = project.chosen(&args.only)?;
    let (bundle, admin) = secrets(&project, args.identity.path())?;
    let root = args.output.join(project.plan.cluster.name.as_str());
    let tree = Tree::open(root.clone());
    let vault = Vault::new(project.name());
    let scope = scope(args);
    if let (Scope::Whole, false, Some(before)) = (&scope, args.check, &tree.manifest().inputs)
        && inputs(&project, &vault, before.secrets.clone(), project.attachments().lock.as_deref())? == *before
        && let Some(done) = tree.untouched()
    {
        tell(&project, &findings, &root, &done, Vec::new(), out)?;
        return Ok(ExitCode::SUCCESS);
    }
    let cilium = project.cilium();
    let rendered = render(&project, &nodes, (&bundle, &admin), args, &vault)
        .map_err(|errors| Refused::Unrendered { errors, consequence: Some("nothing was written") })?;
    report::warnings(&rendered.warnings);
    let mut notes = rendered.notes;
    let artifacts: Vec<Artifact> = rendered.files.into_iter().map(|file| file.artifact).collect();
    let inputs = inputs(&project, &vault, fetched(&project, &vault), cilium.lock())?;
    if args.check {
        let mut differences = tree.compare(&artifacts, &scope, inputs)?;
        for difference in &mut differences {
            difference.path = root.join(&difference.path).display().to_string();
        }
        differences.extend(cilium.news().map(|(path, _)| Difference {
            path: path.display().to_string(),
            what: "not what helm renders now",
        }));
        return tell_differences(&differences, artifacts.len(), out);
    }
    notes.extend(cilium.keep()?);
    let done = tree.write(&artifacts, &scope, Some(inputs))?;
    tell(&project, &findings, &root, &done, notes, out)?;
    Ok(ExitCode::SUCCESS)
}

/// What the artifacts are all there is of.
fn scope(args: &Args) -> Scope {
    if args.only.is_empty() {
        Scope::Whole
    } else {
        Scope::Folders(args.only.iter().map(|node| format!("nodes/{node}/")).collect())
    }
}

/// Says in what the tree is not what a build would give.
fn tell_differences(
    differences: &[Difference],
    count: usize,
    out: &mut dyn Write,
) -> anyhow::Result<ExitCode> {
    for difference in differences {
        writeln!(out, "{}: {}", difference.path, difference.what)?;
    }
    style::say(&match differences.len() {
        0 => format!("{count} files are as they should be"),
        1 => "1 file is not what a build would give; nothing was written".to_owned(),
        wrong => format!("{wrong} files are not what a build would give; nothing was written"),
    });
    Ok(ExitCode::from(u8::from(!differences.is_empty())))
}

/// Says what was done, and what is left to do; `rendered` was noticed on the way.
fn tell(
    project: &Project,
    findings: &[Finding],
    root: &Path,
    done: &Done,
    rendered: Vec<String>,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    writeln!(out, "{}", root.display())?;
    style::say(&done.to_string());
    let warns =
        |finding: &&Finding| finding.silenced.is_none() && finding.issue.severity == Severity::Warning;
    match findings.iter().filter(warns).count() {
        0 => {}
        1 => style::say("1 warning: `ichor check` tells it"),
        count => style::say(&format!("{count} warnings: `ichor check` tells them")),
    }
    for note in notes(project).into_iter().chain(rendered) {
        style::say(&format!("{}note:{} {note}", style::NOTE, style::NOTE.render_reset()));
    }
    Ok(())
}

/// What the files do not bring, and somebody has to.
fn notes(project: &Project) -> Vec<String> {
    let mut notes = Vec::new();
    if project.plan.cluster.cni.value == CniPlan::None {
        notes.push(
            "nothing here installs a pod network: the nodes are not ready before somebody does".to_owned(),
        );
    }
    let mints = |node: &&NodePlan| node.tailscale.as_ref().is_some_and(|tailscale| tailscale.mint.value);
    let minted = project.plan.nodes.iter().filter(mints).count();
    if minted > 0 {
        notes.push(format!(
            "{minted} nodes get a key for the overlay when they are given out; these files have none"
        ));
    }
    notes
}
