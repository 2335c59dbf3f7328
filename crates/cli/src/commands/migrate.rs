//! `migrate`: plan the move of a cluster from one BGP backend to another.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::bail;
use ichor_bgp::render::SecretError;
use ichor_core::cluster::section::Role;
use ichor_core::migrate::{
    self, DocumentId, MigrationError, MigrationPlan, MigrationSide, MigrationStep, StepLoss, UpgradeTiming,
};
use ichor_core::model::Cluster;
use ichor_core::plan::attachment::Attachments;
use ichor_core::plan::{self, Plan};
use ichor_core::prove::summarize_names;
use ichor_core::render::artifact::Artifact;
use ichor_core::render::tree::{PatchTexts, RenderInputs, Renderer};
use ichor_core::rules::{self, Finding, RuleContext, Severity};
use ichor_talos::secrets::Bundle;
use ichor_values::{Backend, Issue, Secret};
use serde_json::{Value, json};

use crate::argument::{ArgumentError, ClusterFile, IdentityFile};
use crate::cluster_secrets::{self, SecretCache};
use crate::progress::Progress;
use crate::project::Project;
use crate::refusal::Refusal;
use crate::tree::{Scope, Tree};
use crate::{report, style, table};

/// Plan the move of a cluster from one BGP backend to another
///
/// Nodes move one at a time, workers first, each with one patch that needs no reboot. ichor verifies every patch: applied as Talos does,
/// it turns the configuration before into exactly the configuration after. If the image has to change, the node is upgraded before or
/// after the patch. The next node follows when the BGP sessions of this one are established. The command computes which routes are lost
/// at every step. The cluster file may have either backend. No node is changed.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ichor migrate frr native\n  ichor migrate native frr sol/ichor.yaml -o patches\n  \
                        talosctl patch machineconfig -n NODE --mode no-reboot --patch @patches/sol/01-NODE.yaml"
)]
pub(crate) struct Args {
    /// Backend of the nodes now: native, frr, bird or gobgp
    #[arg(value_name = "FROM", value_parser = backend)]
    from: Backend,
    /// Backend to move to: native, frr, bird or gobgp
    #[arg(value_name = "TO", value_parser = backend)]
    to: Backend,
    #[command(flatten)]
    cluster: ClusterFile,
    /// Folder to write the patches to, in a subfolder named after the cluster
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Print JSON; documents by kind and name, without their contents
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    identity: IdentityFile,
}

fn backend(word: &str) -> Result<Backend, ArgumentError> {
    let known = Backend::ALL.iter().copied().find(|backend| backend.word() == word);
    known.ok_or(ArgumentError::want("native, frr, bird or gobgp"))
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let project = args.cluster.open()?;
    let Some(sides) = migrate::plan_migration(&project.cluster, &project.plan, args.from, args.to) else {
        bail!("no node can move from {} to {}; check the backends with `ichor show bgp`", args.from, args.to);
    };
    let (bundle, _) = cluster_secrets::open_secrets(&project, args.identity.path())?;
    let work = MigrationInputs {
        project: &project,
        attachments: project.attachments(),
        patches: cluster_secrets::patch_texts(&project, args.identity.path()),
        bundle,
    };
    let Some(steps) = work.steps(&sides, out)? else {
        style::say(&format!("cannot plan the move from {} to {}", args.from, args.to));
        return Err(Refusal::Printed.into());
    };
    if let Some(folder) = &args.output {
        write_patches(&folder.join(project.plan.cluster.name.as_str()), &steps)?;
    }
    let losses = compute_losses(&sides)?;
    if args.json {
        print_json(&steps, &losses, out)?;
    } else {
        print_table(&steps, &losses, out)?;
    }
    let control_planes = project.plan.control_planes().count();
    if !args.json && control_planes == 1 && steps.iter().any(|step| step.role == Role::Controlplane) {
        style::say("the cluster has one control plane: the API is down while it moves");
    }
    let fine = steps.iter().zip(&losses).all(|(step, loss)| is_lossless(step, loss));
    Ok(ExitCode::from(u8::from(!fine)))
}

/// Computes which routes are lost at every step.
fn compute_losses(sides: &MigrationPlan) -> Result<Vec<StepLoss>, Refusal> {
    let _progress = Progress::start("proving");
    let (before, after) = (plan::plan(&sides.from), plan::plan(&sides.to));
    migrate::compute_losses((&sides.from, &before), (&sides.to, &after), &sides.nodes)
        .map_err(Refusal::reasons)
}

/// Whether a step loses only routes that no other node announces.
fn is_lossless(step: &MigrationStep, loss: &StepLoss) -> bool {
    let shared = loss.own.iter().all(|net| step.kept.is_some() || step.owns.contains(net));
    loss.lost.is_empty() && loss.broken.is_empty() && shared
}

/// What the configurations before and after are rendered from.
struct MigrationInputs<'p> {
    project: &'p Project,
    attachments: &'p Attachments,
    patches: PatchTexts,
    bundle: Bundle,
}

impl MigrationInputs<'_> {
    /// The steps, or `None` after the errors were printed.
    fn steps(
        &self,
        sides: &MigrationPlan,
        out: &mut dyn Write,
    ) -> anyhow::Result<Option<Vec<MigrationStep>>> {
        let (before, after) = (plan::plan(&sides.from), plan::plan(&sides.to));
        let mut valid = true;
        for (cluster, plan) in [(&sides.from, &before), (&sides.to, &after)] {
            valid &= self.is_valid(cluster, plan, out)?;
        }
        if !valid {
            return Ok(None);
        }
        let from = self.documents(&sides.from, &before, &sides.nodes);
        let to = self.documents(&sides.to, &after, &sides.nodes);
        let (from, to) = match (from, to) {
            (Ok(from), Ok(to)) => (from, to),
            (Err(errors), _) | (_, Err(errors)) => {
                report::unrendered(out, &errors)?;
                return Ok(None);
            }
        };
        let pairs = sides.nodes.iter().zip(from.iter().zip(&to));
        let steps = pairs.map(|(&nth, (from, to))| {
            let from = MigrationSide { node: &before.nodes[nth], documents: from };
            let to = MigrationSide { node: &after.nodes[nth], documents: to };
            MigrationStep::new(from, to, &after.cluster.contract.value)
        });
        let (mut done, mut errors) = (Vec::new(), Vec::new());
        for step in steps {
            match step {
                Ok(step) => done.push(step),
                Err(MigrationError { node, reason }) => {
                    errors.push(Issue::error(node.as_str(), reason.to_string()));
                }
            }
        }
        report::unrendered(out, &errors)?;
        Ok(errors.is_empty().then_some(done))
    }

    /// Whether no rule finds an error; prints the errors.
    fn is_valid(&self, cluster: &Cluster, plan: &Plan, out: &mut dyn Write) -> anyhow::Result<bool> {
        let mut findings = rules::check(&RuleContext { cluster, plan, attachments: self.attachments });
        let wrong =
            |finding: &Finding| finding.silenced.is_none() && finding.issue.severity == Severity::Error;
        findings.retain(wrong);
        if !findings.is_empty() {
            let hidden = rules::secret_locations(cluster);
            report::findings(out, &self.project.sources, &findings, &hidden)?;
        }
        Ok(findings.is_empty())
    }

    fn documents(
        &self,
        cluster: &Cluster,
        plan: &Plan,
        nodes: &[usize],
    ) -> Result<Vec<Vec<Value>>, Vec<Issue>> {
        let vault = SecretCache::new(self.project.name());
        let fetch = |reference: &Secret| vault.open(reference).map_err(SecretError::new);
        let renderer = Renderer::new(RenderInputs {
            cluster,
            plan,
            bundle: &self.bundle,
            attachments: self.attachments,
            cilium: self.project.cilium().text(),
            patches: &self.patches,
            secret: &fetch,
        })?;
        let (mut all, mut errors) = (Vec::new(), Vec::new());
        for &nth in nodes {
            match renderer.machine(&plan.nodes[nth]) {
                Ok(machine) => all.push(machine.documents),
                Err(wrong) => errors.extend(wrong),
            }
        }
        if errors.is_empty() { Ok(all) } else { Err(errors) }
    }
}

fn write_patches(root: &Path, steps: &[MigrationStep]) -> anyhow::Result<()> {
    let patch = |(nth, step): (usize, &MigrationStep)| {
        Artifact::private(format!("{:02}-{}.yaml", nth + 1, step.node), step.patch())
    };
    let patches: Vec<_> = steps.iter().enumerate().map(patch).collect();
    let done = Tree::open(root.to_owned()).write(&patches, &Scope::Whole, None)?;
    style::say(&format!("{}: {done}", root.display()));
    Ok(())
}

fn print_table(steps: &[MigrationStep], losses: &[StepLoss], out: &mut dyn Write) -> anyhow::Result<()> {
    let row = |(nth, step): (usize, &MigrationStep)| {
        let lines = |ids: &mut dyn Iterator<Item = String>| ids.collect::<Vec<_>>().join("\n");
        vec![
            (nth + 1).to_string(),
            step.node.to_string(),
            step.upgrade.as_ref().map(|it| word(it.when).to_owned()).unwrap_or_default(),
            lines(&mut step.remove.iter().map(ToString::to_string)),
            lines(&mut step.add.iter().map(|document| DocumentId::from_document(document).to_string())),
            step.sessions.join("\n"),
        ]
    };
    let rows: Vec<_> = steps.iter().enumerate().map(row).collect();
    table::print(out, &["STEP", "NODE", "UPGRADE", "REMOVE", "ADD", "WAIT FOR"], &rows)?;
    let mut images: Vec<_> = steps.iter().filter_map(|step| step.upgrade.as_ref()).collect();
    images.dedup();
    for upgrade in images {
        writeln!(out, "\nupgrade {} the patch to {}", word(upgrade.when), upgrade.image)?;
        // Talos reboots a node whose services wait longer than 70 minutes for a document during boot.
        if upgrade.when == UpgradeTiming::After {
            writeln!(out, "upgrade before the next reboot: the old extension would wait for its document")?;
        }
    }
    writeln!(out)?;
    print_losses(steps, losses, out)
}

/// Prints which routes are lost at which step.
fn print_losses(steps: &[MigrationStep], losses: &[StepLoss], out: &mut dyn Write) -> anyhow::Result<()> {
    let (good, bad) = (style::GOOD, style::ERROR);
    if steps.iter().zip(losses).all(|(step, loss)| is_lossless(step, loss)) {
        writeln!(out, "{good}ok{good:#}      no step loses a prefix that another node announces")?;
    }
    for (nth, (step, loss)) in
        steps.iter().zip(losses).enumerate().filter(|(_, (step, loss))| !is_lossless(step, loss))
    {
        writeln!(out, "{bad}broken{bad:#}  step {}, {}", nth + 1, loss.node)?;
        for net in loss.own.iter().filter(|net| step.kept.is_none() && !step.owns.contains(net)) {
            writeln!(out, "        no other node announces {net} during the step")?;
        }
        for example in loss.lost.examples.iter().chain(&loss.broken.examples) {
            writeln!(out, "        {example}")?;
        }
    }
    print_own(steps, losses, out)
}

/// Prints the prefixes that only the moving node announces, and from where they are unreachable during the step.
fn print_own(steps: &[MigrationStep], losses: &[StepLoss], out: &mut dyn Write) -> anyhow::Result<()> {
    let rows = steps.iter().zip(losses).filter(|(_, loss)| !loss.own.is_empty()).map(|(_, loss)| {
        let nets: Vec<_> = loss.own.iter().map(ToString::to_string).collect();
        let missed = match &loss.missed_by[..] {
            [] => "none".to_owned(),
            names => summarize_names(names.iter().map(String::as_str)),
        };
        vec![loss.node.to_string(), nets.join("\n"), missed]
    });
    let rows: Vec<_> = rows.collect();
    if rows.is_empty() {
        return Ok(());
    }
    let (good, warning) = (style::GOOD, style::WARNING);
    match steps.iter().map(|step| step.kept).min().flatten() {
        Some(time) => writeln!(
            out,
            "{good}kept{good:#}    prefixes of a single node: routers keep its routes for {time} s while its daemon changes"
        )?,
        None => writeln!(
            out,
            "{warning}lost{warning:#}    prefixes of a single node, until its sessions are established again: drain it first"
        )?,
    }
    if steps.iter().any(|step| step.upgrade.is_some()) {
        writeln!(out, "        an upgrade reboots the node: its prefixes are unreachable meanwhile")?;
    }
    writeln!(out)?;
    table::print(out, &["NODE", "PREFIXES", "UNREACHABLE FROM"], &rows)?;
    Ok(())
}

fn word(when: UpgradeTiming) -> &'static str {
    match when {
        UpgradeTiming::Before => "before",
        UpgradeTiming::After => "after",
    }
}

fn print_json(steps: &[MigrationStep], losses: &[StepLoss], out: &mut dyn Write) -> anyhow::Result<()> {
    let id = |id: DocumentId| json!({"kind": id.kind, "name": id.name});
    let object = |(step, loss): (&MigrationStep, &StepLoss)| {
        json!({
            "node": step.node.as_str(),
            "role": step.role.word(),
            "removed_documents": step.remove.iter().cloned().map(id).collect::<Vec<_>>(),
            "added_documents": step.add.iter().map(DocumentId::from_document).map(id).collect::<Vec<_>>(),
            "upgrade": step.upgrade.as_ref().map(|it| json!({"installer_image": it.image, "when": word(it.when)})),
            "expected_sessions": step.sessions,
            "routes_kept_seconds": step.kept,
            "unreachable_from": loss.missed_by,
            "unique_prefixes": loss.own.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "lost_routes": {"count": loss.lost.count, "examples": loss.lost.examples},
            "violations": {"count": loss.broken.count, "examples": loss.broken.examples},
        })
    };
    super::show::write_list(out, steps.iter().zip(losses).map(object))
}
