//! `migrate`: what leads from one routing backend to another.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::bail;
use ichor_bgp::render::SecretError;
use ichor_core::cluster::section::Role;
use ichor_core::migrate::{self, DocumentId, Loss, Side, Sides, Step, StepError, When};
use ichor_core::model::Cluster;
use ichor_core::plan::attachment::Attachments;
use ichor_core::plan::{self, Plan};
use ichor_core::prove::crowd;
use ichor_core::render::artifact::Artifact;
use ichor_core::render::tree::{Inputs, PatchTexts, Renderer};
use ichor_core::rules::{self, Context, Finding, Severity};
use ichor_talos::secrets::Bundle;
use ichor_values::{Backend, Issue, Secret};
use serde_json::{Value, json};

use crate::argument::{ArgumentError, ClusterFile, IdentityFile};
use crate::progress::Progress;
use crate::project::Project;
use crate::refused::Refused;
use crate::tree::{Scope, Tree};
use crate::vault::{self, Vault};
use crate::{report, style, table};

/// Say how a cluster moves from one routing backend to another
///
/// Nodes move one at a time, workers first. For each there is one patch: documents that go and come at once, without a reboot. It
/// was tried: applied as Talos would, it makes of the configuration before exactly the one after. Where the image must change
/// too, the node is upgraded before or after. The next node has its turn when the sessions of this one are up. The way is proved:
/// what is lost at every step, while some nodes have moved and one is away. The file may have either backend; nothing is
/// changed on the nodes.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ichor migrate frr native\n  ichor migrate native frr sol/ichor.yaml -o patches\n  \
                        talosctl patch machineconfig -n NODE --mode no-reboot --patch @patches/sol/01-NODE.yaml"
)]
pub(crate) struct Args {
    /// The backend the nodes have (native, frr, bird, gobgp)
    #[arg(value_parser = backend)]
    from: Backend,
    /// The backend they get
    #[arg(value_parser = backend)]
    to: Backend,
    #[command(flatten)]
    cluster: ClusterFile,
    /// Folder to write the patches to; the cluster gets a folder of its own in it
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Print JSON; documents by kind and name, what they hold is in the patches
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
    let Some(sides) = migrate::sides(&project.cluster, &project.plan, args.from, args.to) else {
        bail!("no node moves from {} to {}: `ichor show bgp` says what they have", args.from, args.to);
    };
    let (bundle, _) = vault::secrets(&project, args.identity.path())?;
    let work = Work {
        project: &project,
        attachments: project.attachments(),
        patches: vault::patch_texts(&project, args.identity.path()),
        bundle,
    };
    let Some(steps) = work.steps(&sides, out)? else {
        style::say(&format!("the cluster cannot move from {} to {}", args.from, args.to));
        return Err(Refused::Printed.into());
    };
    if let Some(folder) = &args.output {
        write_patches(&folder.join(project.plan.cluster.name.as_str()), &steps)?;
    }
    let losses = proved(&sides)?;
    if args.json {
        print_json(&steps, &losses, out)?;
    } else {
        print_table(&steps, &losses, out)?;
    }
    let control_planes = project.plan.control_planes().count();
    if !args.json && control_planes == 1 && steps.iter().any(|step| step.role == Role::Controlplane) {
        style::say("there is one control plane: while it moves, nobody else answers for the API");
    }
    let fine = steps.iter().zip(&losses).all(|(step, loss)| is_fine(step, loss));
    Ok(ExitCode::from(u8::from(!fine)))
}

/// What is lost at every step.
fn proved(sides: &Sides) -> Result<Vec<Loss>, Refused> {
    let _progress = Progress::start("proving");
    let (before, after) = (plan::plan(&sides.from), plan::plan(&sides.to));
    migrate::losses((&sides.from, &before), (&sides.to, &after), &sides.nodes).map_err(Refused::reasons)
}

/// Whether a step costs nothing but the node's own addresses.
fn is_fine(step: &Step, loss: &Loss) -> bool {
    let shared = loss.own.iter().all(|net| step.kept.is_some() || step.owns.contains(net));
    loss.lost.is_empty() && loss.broken.is_empty() && shared
}

/// What both sides are rendered from.
struct Work<'p> {
    project: &'p Project,
    attachments: &'p Attachments,
    patches: PatchTexts,
    bundle: Bundle,
}

impl Work<'_> {
    /// The steps; none when something is wrong, which is told.
    fn steps(&self, sides: &Sides, out: &mut dyn Write) -> anyhow::Result<Option<Vec<Step>>> {
        let (before, after) = (plan::plan(&sides.from), plan::plan(&sides.to));
        let mut sound = true;
        for (cluster, plan) in [(&sides.from, &before), (&sides.to, &after)] {
            sound &= self.is_sound(cluster, plan, out)?;
        }
        if !sound {
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
            let from = Side { node: &before.nodes[nth], documents: from };
            let to = Side { node: &after.nodes[nth], documents: to };
            Step::between(from, to, &after.cluster.contract.value)
        });
        let (mut done, mut errors) = (Vec::new(), Vec::new());
        for step in steps {
            match step {
                Ok(step) => done.push(step),
                Err(StepError { node, reason }) => {
                    errors.push(Issue::error(node.as_str(), reason.to_string()));
                }
            }
        }
        report::unrendered(out, &errors)?;
        Ok(errors.is_empty().then_some(done))
    }

    /// Whether no rule finds an error; errors are told.
    fn is_sound(&self, cluster: &Cluster, plan: &Plan, out: &mut dyn Write) -> anyhow::Result<bool> {
        let mut findings = rules::check(&Context { cluster, plan, attachments: self.attachments });
        let wrong =
            |finding: &Finding| finding.silenced.is_none() && finding.issue.severity == Severity::Error;
        findings.retain(wrong);
        if !findings.is_empty() {
            let hidden = rules::secret_places(cluster);
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
        let vault = Vault::new(self.project.name());
        let fetch = |reference: &Secret| vault.open(reference).map_err(SecretError::new);
        let renderer = Renderer::new(Inputs {
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

fn write_patches(root: &Path, steps: &[Step]) -> anyhow::Result<()> {
    let patch = |(nth, step): (usize, &Step)| {
        Artifact::private(format!("{:02}-{}.yaml", nth + 1, step.node), step.patch())
    };
    let patches: Vec<_> = steps.iter().enumerate().map(patch).collect();
    let done = Tree::open(root.to_owned()).write(&patches, &Scope::Whole, None)?;
    style::say(&format!("{}: {done}", root.display()));
    Ok(())
}

fn print_table(steps: &[Step], losses: &[Loss], out: &mut dyn Write) -> anyhow::Result<()> {
    let row = |(nth, step): (usize, &Step)| {
        let lines = |ids: &mut dyn Iterator<Item = String>| ids.collect::<Vec<_>>().join("\n");
        vec![
            (nth + 1).to_string(),
            step.node.to_string(),
            step.upgrade.as_ref().map(|it| word(it.when).to_owned()).unwrap_or_default(),
            lines(&mut step.remove.iter().map(ToString::to_string)),
            lines(&mut step.add.iter().map(|document| DocumentId::of(document).to_string())),
            step.sessions.join("\n"),
        ]
    };
    let rows: Vec<_> = steps.iter().enumerate().map(row).collect();
    table::print(out, &["STEP", "NODE", "UPGRADE", "REMOVE", "ADD", "WAIT FOR"], &rows)?;
    let mut images: Vec<_> = steps.iter().filter_map(|step| step.upgrade.as_ref()).collect();
    images.dedup();
    for upgrade in images {
        writeln!(out, "\nupgrade {} the patch to {}", word(upgrade.when), upgrade.image)?;
        // Talos restarts a node whose services wait for a document for longer than 70 minutes while it boots.
        if upgrade.when == When::After {
            writeln!(
                out,
                "do it before the node reboots otherwise: its old extension would wait for its document"
            )?;
        }
    }
    writeln!(out)?;
    print_losses(steps, losses, out)
}

/// What the proof of the way says.
fn print_losses(steps: &[Step], losses: &[Loss], out: &mut dyn Write) -> anyhow::Result<()> {
    let (good, bad) = (style::GOOD, style::ERROR);
    if steps.iter().zip(losses).all(|(step, loss)| is_fine(step, loss)) {
        writeln!(out, "{good}holds{good:#}   at no step is a prefix lost that another node announces too")?;
    }
    for (nth, (step, loss)) in
        steps.iter().zip(losses).enumerate().filter(|(_, (step, loss))| !is_fine(step, loss))
    {
        writeln!(out, "{bad}broken{bad:#}  step {}, {}", nth + 1, loss.node)?;
        for net in loss.own.iter().filter(|net| step.kept.is_none() && !step.owns.contains(net)) {
            writeln!(out, "        while it is away nobody announces {net}")?;
        }
        for said in loss.lost.examples.iter().chain(&loss.broken.examples) {
            writeln!(out, "        {said}")?;
        }
    }
    print_own(steps, losses, out)
}

/// What only the node that moves announces, and who misses it meanwhile.
fn print_own(steps: &[Step], losses: &[Loss], out: &mut dyn Write) -> anyhow::Result<()> {
    let rows = steps.iter().zip(losses).filter(|(_, loss)| !loss.own.is_empty()).map(|(_, loss)| {
        let nets: Vec<_> = loss.own.iter().map(ToString::to_string).collect();
        let missed = match &loss.missed_by[..] {
            [] => "nobody".to_owned(),
            names => crowd(names.iter().map(String::as_str)),
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
            "{good}kept{good:#}    what a node alone announces: the routers keep its routes for {time} s while its daemon changes"
        )?,
        None => writeln!(
            out,
            "{warning}away{warning:#}    what a node alone announces, until its sessions are up again: drain it first"
        )?,
    }
    if steps.iter().any(|step| step.upgrade.is_some()) {
        writeln!(out, "        while it is upgraded it reboots, and all of this is away")?;
    }
    writeln!(out)?;
    table::print(out, &["NODE", "ALONE ANNOUNCES", "MISSED BY"], &rows)?;
    Ok(())
}

fn word(when: When) -> &'static str {
    match when {
        When::Before => "before",
        When::After => "after",
    }
}

fn print_json(steps: &[Step], losses: &[Loss], out: &mut dyn Write) -> anyhow::Result<()> {
    let id = |id: DocumentId| json!({"kind": id.kind, "name": id.name});
    let object = |(step, loss): (&Step, &Loss)| {
        json!({
            "node": step.node.as_str(),
            "role": step.role.word(),
            "remove": step.remove.iter().cloned().map(id).collect::<Vec<_>>(),
            "add": step.add.iter().map(DocumentId::of).map(id).collect::<Vec<_>>(),
            "upgrade": step.upgrade.as_ref().map(|it| json!({"image": it.image, "when": word(it.when)})),
            "sessions": step.sessions,
            "routes_kept_seconds": step.kept,
            "missed_by": loss.missed_by,
            "only_here": loss.own.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "lost": {"count": loss.lost.count, "examples": loss.lost.examples},
            "broken": {"count": loss.broken.count, "examples": loss.broken.examples},
        })
    };
    super::show::write_list(out, steps.iter().zip(losses).map(object))
}
