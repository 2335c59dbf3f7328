//! `schematic register`: tell the factory about schematics.

use std::collections::HashSet;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use ichor_talos::asset::{FACTORY, Factory};
use ichor_talos::schematic::{Schematic, SchematicError};
use ichor_talos::secret_value;
use serde_json::Value;

use super::FactoryUrl;
use super::target::Which;
use crate::http::{self, Client};
use crate::refused::Refused;

/// Register schematics with the factory, and compare the ids it gives them
///
/// A factory that was never told a schematic answers 404 for its images. Whoever knows the id can read the schematic, so
/// one that holds a secret is refused.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit status: 0 all registered, 1 one was refused or has another id there, 2 the factory cannot be reached.\n\n\
                        Examples:\n  ichor schematic register schematic.yaml\n  \
                        ichor schematic register --node solcp01\n  \
                        ichor schematic register *.yaml --factory https://factory.sol"
)]
pub(crate) struct Args {
    /// Schematics in YAML or JSON, - for standard input; those of the cluster file's nodes when left out
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Cluster file to take the nodes from
    #[arg(long, value_name = "FILE", default_value = "ichor.yaml", conflicts_with = "files")]
    cluster: PathBuf,
    /// Only this node of the cluster file
    #[arg(long, value_name = "NAME", conflicts_with = "files")]
    node: Option<String>,
    #[command(flatten)]
    factory: FactoryUrl,
}

/// A schematic to register: who wants it, what it is, and where.
type Wanted = (String, Schematic, Factory);

pub(super) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    // Nothing is told to anybody until everything has been read.
    let wanted = wanted(args)?;
    let client = Client::new();
    let mut code = ExitCode::SUCCESS;
    for (name, schematic, factory) in &wanted {
        match register(&client, factory, schematic)? {
            Ok(id) => writeln!(out, "{id}")?,
            Err(error) => {
                super::refuse(name, &error.to_string());
                code = ExitCode::FAILURE;
            }
        }
    }
    Ok(code)
}

/// What to register.
fn wanted(args: &Args) -> anyhow::Result<Vec<Wanted>> {
    if args.files.is_empty() {
        return of_nodes(args);
    }
    let factory = args.factory.or(FACTORY);
    let mut wanted = Vec::new();
    for file in &args.files {
        let name = file.display().to_string();
        match super::read(file)?.map_err(RegisterError::from).and_then(without_secrets) {
            Ok(schematic) => wanted.push((name, schematic, factory.clone())),
            Err(error) => super::refuse(&name, &error.to_string()),
        }
    }
    if wanted.len() < args.files.len() {
        return Err(Refused::Printed.into());
    }
    Ok(wanted)
}

/// The schematics of nodes, each once.
fn of_nodes(args: &Args) -> anyhow::Result<Vec<Wanted>> {
    let nodes = Which::of_nodes(args.cluster.clone(), args.node.clone(), args.factory.clone());
    let targets = nodes.targets()?;
    let mut seen = HashSet::new();
    let new = targets
        .into_iter()
        .filter(|target| seen.insert((target.id.clone(), target.factory.url().to_owned())));
    Ok(new.map(|target| (target.name, target.schematic, target.factory)).collect())
}

/// Why a factory does not have a schematic under its id.
#[derive(Debug, thiserror::Error)]
enum RegisterError {
    #[error(transparent)]
    Schematic(#[from] SchematicError),
    #[error("it would publish a secret: {0}; anybody who knows its id can read it")]
    Secret(String),
    #[error("{factory} refused it: {complaint}")]
    Refused { factory: String, complaint: String },
    #[error("{0} answered without an id; is it an Image Factory?")]
    NoId(String),
    #[error("its id is {ours}, and the factory made it {theirs}; images under our id will not be found")]
    OtherId { ours: String, theirs: String },
}

fn without_secrets(schematic: Schematic) -> Result<Schematic, RegisterError> {
    let keys = secret_value::in_schematic(&schematic.to_value());
    if keys.is_empty() {
        return Ok(schematic);
    }
    Err(RegisterError::Secret(keys.join(", ")))
}

/// The id under which the factory has the schematic, or why it has it not.
fn register(
    client: &Client,
    factory: &Factory,
    schematic: &Schematic,
) -> anyhow::Result<Result<String, RegisterError>> {
    let url = factory.schematics();
    let response = client.post(&url, "application/yaml", &schematic.canonical())?;
    if !response.status().is_success() {
        let complaint = response.complaint();
        let factory = http::shown(factory.url());
        return Ok(Err(RegisterError::Refused { factory, complaint }));
    }
    let text = response.text()?;
    let answer: Value = serde_json::from_str(&text).unwrap_or_default();
    let Some(theirs) = answer["id"].as_str() else {
        return Ok(Err(RegisterError::NoId(http::shown(factory.url()))));
    };
    let ours = schematic.id();
    Ok(if theirs == ours {
        Ok(ours)
    } else {
        Err(RegisterError::OtherId { ours, theirs: theirs.to_owned() })
    })
}
