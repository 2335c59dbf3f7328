//! `show`: print the plan as tables, JSON or a diagram.

mod backends;
mod bgp;
mod boot;
mod cilium;
mod nodes;
mod overview;
mod vms;
mod why;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::ValueEnum;
use ichor_core::render::topology;
use ichor_core::rules::{Finding, Severity};
use ichor_values::nearest;
use ichor_values::print::Printed;
use ichor_values::read::{Read, Record};
use serde_json::Value;

use crate::argument::OutputFormat;
use crate::project::{self, Project};
use crate::{disk, style};

/// Show the planned cluster: addresses, AS numbers, sessions and machines
///
/// Values that the cluster file does not set are derived; --why explains from which keys.
///
/// Views:
///
/// - nodes: names, roles, addresses, AS numbers
///
/// - bgp: BGP sessions, and the link to the load balancer
///
/// - boot: image, boot media and install disk of each machine
///
/// - vms: virtual machines
///
/// - cilium: the helm command line for Cilium and the values that Talos needs
///
/// - file: the cluster file with all includes merged
///
/// - backends: the features of every BGP backend; needs no cluster file
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ichor show\n  ichor show bgp sites/berlin.yaml\n  ichor show nodes --json\n  \
        ichor show --why nodes.solcp01.routing.asn\n  ichor show --svg topology.svg"
)]
pub(crate) struct Args {
    /// View and cluster file [default: an overview of ichor.yaml]
    #[arg(value_name = "VIEW|FILE", num_args = 0..=2)]
    view_and_file: Vec<String>,
    /// Explain where a value comes from, such as nodes.solcp01.routing.asn
    #[arg(long, value_name = "PATH", conflicts_with = "svg")]
    why: Option<String>,
    /// Write a topology diagram to this file; - is standard output
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    format: OutputFormat,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum PlanView {
    Nodes,
    Bgp,
    Boot,
    Vms,
    Cilium,
    File,
    Backends,
}

const VIEWS: [&str; 7] = ["nodes", "bgp", "boot", "vms", "cilium", "file", "backends"];

impl Args {
    /// The view, where the first word is one, and the file.
    fn view_and_file(&self) -> anyhow::Result<(Option<PlanView>, PathBuf)> {
        let words: Vec<&str> = self.view_and_file.iter().map(String::as_str).collect();
        let view = |word: &str| PlanView::from_str(word, false).ok();
        Ok(match words.as_slice() {
            [] => (None, PathBuf::from("ichor.yaml")),
            [word] => match view(word) {
                Some(view) => (Some(view), PathBuf::from("ichor.yaml")),
                None if Path::new(word).exists() || nearest(word, VIEWS).is_none() => {
                    (None, PathBuf::from(word))
                }
                None => bail!("`{word}` is neither a view nor a file; views are {}", VIEWS.join(", ")),
            },
            [word, file, ..] => {
                let view = view(word)
                    .with_context(|| format!("unknown view `{word}`; want one of {}", VIEWS.join(", ")))?;
                (Some(view), PathBuf::from(file))
            }
        })
    }
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let (view, path) = args.view_and_file()?;
    // The only view without a cluster.
    if let Some(PlanView::Backends) = view {
        backends::print(args.format.json, out)?;
        return Ok(ExitCode::SUCCESS);
    }
    let project = match project::open(&path) {
        Ok(project) => project,
        // Problems go to stderr: stdout has the view or nothing.
        Err(refused) => return Ok(refused.print(&mut anstream::stderr().lock())?),
    };
    if let Some(path) = &args.why {
        return why::run(&project, path, args.format.json, out);
    }
    if let Some(path) = &args.svg {
        let picture = topology::render(&project.cluster, &project.plan);
        if path.as_os_str() == "-" {
            write!(out, "{picture}")?;
            return Ok(ExitCode::SUCCESS);
        }
        disk::replace(path, picture.as_bytes())?;
        style::say(&format!("wrote {}", path.display()));
        if view.is_none() && !args.format.json {
            return Ok(ExitCode::SUCCESS);
        }
    }
    match view {
        None | Some(PlanView::Backends) => overview::print(&project, args.format.json, out),
        Some(PlanView::Nodes) => nodes::print(&project, args.format.json, out),
        Some(PlanView::Bgp) => bgp::print(&project, args.format.json, out),
        Some(PlanView::Boot) => boot::print(&project, args.format.json, out),
        Some(PlanView::Vms) => vms::print(&project, args.format.json, out),
        Some(PlanView::Cilium) => cilium::print(&project, args.format.json, out),
        Some(PlanView::File) => print_file(&project, args.format.json, out),
    }?;
    warn(&project);
    Ok(ExitCode::SUCCESS)
}

/// Warns if the rules find errors in the plan.
fn warn(project: &Project) {
    let wrong = |finding: &&Finding| finding.silenced.is_none() && finding.issue.severity == Severity::Error;
    match project.findings().iter().filter(wrong).count() {
        0 => {}
        1 => style::say("1 error; run `ichor check` to see it"),
        errors => style::say(&format!("{errors} errors; run `ichor check` to see them")),
    }
}

/// Prints the merged cluster file.
fn print_file(project: &Project, as_json: bool, out: &mut dyn Write) -> anyhow::Result<()> {
    let mut entries = project.cluster.file.entries();
    let nodes = project.cluster.nodes().iter().map(|node| node.value.print()).collect();
    entries.push(("nodes".to_owned(), Printed::List(nodes)));
    let merged = Printed::Map(entries);
    if as_json {
        serde_json::to_writer_pretty(&mut *out, &plain(&merged))?;
        writeln!(out)?;
    } else {
        write!(out, "{}", merged.to_yaml())?;
    }
    Ok(())
}

/// A printed value as JSON; scalars stay text.
fn plain(value: &Printed) -> Value {
    match value {
        Printed::Null => Value::Null,
        Printed::Scalar(text) | Printed::Quoted(text) => Value::String(text.clone()),
        Printed::List(items) => Value::Array(items.iter().map(plain).collect()),
        Printed::Map(entries) => {
            Value::Object(entries.iter().map(|(key, value)| (key.clone(), plain(value))).collect())
        }
    }
}

/// Writes a JSON array item by item, without collecting it in memory.
pub(super) fn write_list(out: &mut dyn Write, items: impl Iterator<Item = Value>) -> anyhow::Result<()> {
    let mut separator = "[\n";
    for item in items {
        write!(out, "{separator}  {item}")?;
        separator = ",\n";
    }
    writeln!(out, "{}", if separator == "[\n" { "[]" } else { "\n]" })?;
    Ok(())
}

/// The text of an optional value.
fn text<T: ToString>(value: Option<T>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

/// The non-empty lines of a table cell.
fn lines(parts: impl IntoIterator<Item = String>) -> String {
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}
