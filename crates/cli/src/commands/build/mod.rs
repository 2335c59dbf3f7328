//! `build`: write the configuration and boot media of every node to a folder.

mod inputs;
mod render;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ichor_core::plan::{CniPlan, NodePlan};
use ichor_core::render::artifact::Artifact;
use ichor_core::rules::{Finding, Severity};

use self::inputs::{fetched_secrets, inputs};
use self::render::render;
use crate::argument::{ClusterFile, IdentityFile};
use crate::cluster_secrets::{SecretCache, open_secrets};
use crate::project::Project;
use crate::refusal::Refusal;
use crate::tree::{Difference, Scope, Tree, WriteSummary};
use crate::{report, style};

/// Write configurations, boot media and router configs for a cluster
///
/// Everything is rendered and validated with the rules of the node's Talos release before the first file is written.
///
/// nodes/NAME/ has machine.yaml (the complete machine configuration), boot.yaml (the part that a machine needs before Talos is
/// installed), the boot media chosen by `boot.from` (cidata.iso, metal-iso.iso, meta-10.yaml, cmdline or smbios-serial),
/// schematic.yaml for the Image Factory, and the configuration files of the BGP daemon. The output of your own templates is also
/// validated with the daemon if it is installed on this host.
///
/// fabric/ has the configuration of each router, a list of all BGP sessions and a containerlab topology. manifests/ has the objects
/// for MetalLB and Cilium, hypervisors/ and clouds/ the VM definitions, and topology.svg a diagram. talosconfig is the configuration
/// of talosctl.
///
/// Only changed files are written. Files of an earlier build that are no longer needed are removed; manifest.json lists the files of a
/// build. ichor never overwrites or removes other files. If no input and no file has changed since the last build, nothing is rendered;
/// --check always renders and compares everything.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ichor build\n  ichor build sol/ichor.yaml -o out --only solcp01\n  \
                        ichor build --check")]
pub(crate) struct Args {
    #[command(flatten)]
    cluster: ClusterFile,
    /// Folder to write to, in a subfolder named after the cluster
    #[arg(short, long, value_name = "DIR", default_value = "build")]
    output: PathBuf,
    /// Write only the files of this node (repeatable)
    #[arg(long, value_name = "NODE")]
    only: Vec<String>,
    /// Compare without writing; exit 1 if a build would change files
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
        let consequence = "nothing was written; fix the errors first";
        return Err(Refusal::findings(project, findings, consequence).into());
    }
    let nodes = project.chosen(&args.only)?;
    let (bundle, admin) = open_secrets(&project, args.identity.path())?;
    let root = args.output.join(project.plan.cluster.name.as_str());
    let tree = Tree::open(root.clone());
    let vault = SecretCache::new(project.name());
    let scope = scope(args);
    if let (Scope::Whole, false, Some(before)) = (&scope, args.check, &tree.manifest().inputs)
        && inputs(&project, &vault, before.secrets.clone(), project.attachments().lock.as_deref())? == *before
        && let Some(done) = tree.unchanged()
    {
        print_summary(&project, &findings, &root, &done, Vec::new(), out)?;
        return Ok(ExitCode::SUCCESS);
    }
    let cilium = project.cilium();
    let rendered = render(&project, &nodes, (&bundle, &admin), args, &vault)
        .map_err(|errors| Refusal::Unrendered { errors, consequence: Some("nothing was written") })?;
    report::warnings(&rendered.warnings);
    let mut notes = rendered.notes;
    let artifacts: Vec<Artifact> = rendered.files.into_iter().map(|file| file.artifact).collect();
    let inputs = inputs(&project, &vault, fetched_secrets(&project, &vault), cilium.lock())?;
    if args.check {
        let mut differences = tree.compare(&artifacts, &scope, inputs)?;
        for difference in &mut differences {
            difference.path = root.join(&difference.path).display().to_string();
        }
        differences.extend(cilium.changed_lock().map(|(path, _)| Difference {
            path: path.display().to_string(),
            what: "differs from what helm renders now",
        }));
        return print_differences(&differences, artifacts.len(), out);
    }
    notes.extend(cilium.write_lock()?);
    let done = tree.write(&artifacts, &scope, Some(inputs))?;
    print_summary(&project, &findings, &root, &done, notes, out)?;
    Ok(ExitCode::SUCCESS)
}

/// The part of the output tree that this build replaces.
fn scope(args: &Args) -> Scope {
    if args.only.is_empty() {
        Scope::Whole
    } else {
        Scope::Folders(args.only.iter().map(|node| format!("nodes/{node}/")).collect())
    }
}

/// Prints which files a build would change.
fn print_differences(
    differences: &[Difference],
    count: usize,
    out: &mut dyn Write,
) -> anyhow::Result<ExitCode> {
    for difference in differences {
        writeln!(out, "{}: {}", difference.path, difference.what)?;
    }
    style::say(&match differences.len() {
        0 => format!("{count} files are up to date"),
        1 => "1 file differs from a new build; nothing was written".to_owned(),
        wrong => format!("{wrong} files differ from a new build; nothing was written"),
    });
    Ok(ExitCode::from(u8::from(!differences.is_empty())))
}

/// Prints a summary of the build, its warnings and notes.
fn print_summary(
    project: &Project,
    findings: &[Finding],
    root: &Path,
    done: &WriteSummary,
    render_notes: Vec<String>,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    writeln!(out, "{}", root.display())?;
    style::say(&done.to_string());
    let is_warning =
        |finding: &&Finding| finding.silenced.is_none() && finding.issue.severity == Severity::Warning;
    match findings.iter().filter(is_warning).count() {
        0 => {}
        1 => style::say("1 warning; run `ichor check` to see it"),
        count => style::say(&format!("{count} warnings; run `ichor check` to see them")),
    }
    for note in notes(project).into_iter().chain(render_notes) {
        style::say(&format!("{}note:{} {note}", style::NOTE, style::NOTE.render_reset()));
    }
    Ok(())
}

/// Steps that remain for the operator after the build.
fn notes(project: &Project) -> Vec<String> {
    let mut notes = Vec::new();
    if project.plan.cluster.cni.value == CniPlan::None {
        notes.push(
            "the cluster has no pod network (`cni: none`): nodes are not ready before you install one"
                .to_owned(),
        );
    }
    let mints = |node: &&NodePlan| node.tailscale.as_ref().is_some_and(|tailscale| tailscale.mint.value);
    let minted = project.plan.nodes.iter().filter(mints).count();
    if minted > 0 {
        notes.push(format!("{minted} nodes get their overlay key from `ichor up`; these files have none"));
    }
    notes
}
