//! `show`: the plan as tables, JSON or a picture.

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

use crate::argument::Format;
use crate::project::{self, Project};
use crate::{disk, style};

/// Show what a cluster file means: every address, AS number, session, disk and machine
///
/// What the file does not say is derived; --why tells from what.
#[derive(Debug, clap::Args)]
#[command(after_help = "Views:\n  \
        nodes  names, roles, addresses, AS numbers\n  \
        bgp    who peers with whom, and the link to the service speaker\n  \
        boot   what each machine boots, from where, and where it installs\n  \
        vms    virtual machines\n  \
        cilium what helm is asked for, and the values that Talos needs\n  \
        file   the cluster file as one, with all includes and tables\n  \
        backends  what every BGP backend can do; needs no cluster file\n\n\
        Examples:\n  ichor show\n  ichor show bgp sites/berlin.yaml\n  ichor show nodes --json\n  \
        ichor show --why nodes.solcp01.routing.asn\n  ichor show --svg topology.svg")]
pub(crate) struct Args {
    /// What to show (nodes, bgp, boot, vms, cilium, file, backends; everything in short when left out) and the cluster file
    #[arg(value_name = "VIEW | FILE", num_args = 0..=2)]
    view_and_file: Vec<String>,
    /// Say where a value came from, such as nodes.solcp01.routing.asn
    #[arg(long, value_name = "PATH", conflicts_with = "svg")]
    why: Option<String>,
    /// Draw the topology to this file; - is standard output
    #[arg(long, value_name = "OUT")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    format: Format,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum View {
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
    fn view_and_file(&self) -> anyhow::Result<(Option<View>, PathBuf)> {
        let words: Vec<&str> = self.view_and_file.iter().map(String::as_str).collect();
        let view = |word: &str| View::from_str(word, false).ok();
        Ok(match words.as_slice() {
            [] => (None, PathBuf::from("ichor.yaml")),
            [word] => match view(word) {
                Some(view) => (Some(view), PathBuf::from("ichor.yaml")),
                None if Path::new(word).exists() || nearest(word, VIEWS).is_none() => {
                    (None, PathBuf::from(word))
                }
                None => bail!("no view and no file `{word}`; there are the views {}", VIEWS.join(", ")),
            },
            [word, file, ..] => {
                let view = view(word)
                    .with_context(|| format!("no view `{word}`; there are {}", VIEWS.join(", ")))?;
                (Some(view), PathBuf::from(file))
            }
        })
    }
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let (view, path) = args.view_and_file()?;
    // The only view that is not of a cluster.
    if let Some(View::Backends) = view {
        backends::print(args.format.json, out)?;
        return Ok(ExitCode::SUCCESS);
    }
    let project = match project::open(&path) {
        Ok(project) => project,
        // What reads the views gets them or nothing.
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
        style::say(&format!("drew {}", path.display()));
        if view.is_none() && !args.format.json {
            return Ok(ExitCode::SUCCESS);
        }
    }
    match view {
        None | Some(View::Backends) => overview::print(&project, args.format.json, out),
        Some(View::Nodes) => nodes::print(&project, args.format.json, out),
        Some(View::Bgp) => bgp::print(&project, args.format.json, out),
        Some(View::Boot) => boot::print(&project, args.format.json, out),
        Some(View::Vms) => vms::print(&project, args.format.json, out),
        Some(View::Cilium) => cilium::print(&project, args.format.json, out),
        Some(View::File) => file(&project, args.format.json, out),
    }?;
    warn(&project);
    Ok(ExitCode::SUCCESS)
}

/// A plan that will not work looks like any other: says so.
fn warn(project: &Project) {
    let wrong = |finding: &&Finding| finding.silenced.is_none() && finding.issue.severity == Severity::Error;
    match project.findings().iter().filter(wrong).count() {
        0 => {}
        1 => style::say("this will not work as it is: `ichor check` finds an error"),
        errors => style::say(&format!("this will not work as it is: `ichor check` finds {errors} errors")),
    }
}

/// The cluster file as one.
fn file(project: &Project, as_json: bool, out: &mut dyn Write) -> anyhow::Result<()> {
    let mut entries = project.cluster.file.entries();
    let nodes = project.cluster.nodes().iter().map(|node| node.value.print()).collect();
    entries.push(("nodes".to_owned(), Printed::List(nodes)));
    let whole = Printed::Map(entries);
    if as_json {
        serde_json::to_writer_pretty(&mut *out, &plain(&whole))?;
        writeln!(out)?;
    } else {
        write!(out, "{}", whole.to_yaml())?;
    }
    Ok(())
}

/// A printed value as JSON; words stay text, as their keys read them.
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

/// Writes a list of objects, one at a time: a hundred thousand nodes are not held as one value.
pub(super) fn write_list(out: &mut dyn Write, items: impl Iterator<Item = Value>) -> anyhow::Result<()> {
    let mut separator = "[\n";
    for item in items {
        write!(out, "{separator}  {item}")?;
        separator = ",\n";
    }
    writeln!(out, "{}", if separator == "[\n" { "[]" } else { "\n]" })?;
    Ok(())
}

/// Text of something that may not be there.
fn text<T: ToString>(value: Option<T>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

/// Lines of a cell, without those that are empty.
fn lines(parts: impl IntoIterator<Item = String>) -> String {
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}
