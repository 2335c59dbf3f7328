//! `schematic register`: register schematics with the Image Factory.

use std::collections::HashSet;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use ichor_talos::asset::{FACTORY, Factory};
use ichor_talos::schematic::{Schematic, SchematicError};
use ichor_talos::secret_value;
use serde_json::Value;

use super::FactoryUrl;
use super::target::ImageSelection;
use crate::http::{self, HttpClient};
use crate::refusal::Refusal;

/// Register schematics with the Image Factory
///
/// The factory answers 404 for images of a schematic that is not registered. The command fails if the factory computes another id than
/// ichor. Everyone who knows the id can read the schematic, so schematics with secrets are refused.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit status: 0 all registered, 1 a schematic is refused or gets another id, 2 the\nfactory cannot be reached.\n\n\
                        Examples:\n  ichor schematic register schematic.yaml\n  \
                        ichor schematic register --node solcp01\n  \
                        ichor schematic register *.yaml --factory https://factory.sol"
)]
pub(crate) struct Args {
    /// Schematics in YAML or JSON; - is standard input
    ///
    /// [default: the schematics of the nodes in the cluster file]
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Cluster file with the nodes
    #[arg(long, value_name = "FILE", default_value = "ichor.yaml", conflicts_with = "files")]
    cluster: PathBuf,
    /// Register only the schematic of this node
    #[arg(long, value_name = "NODE", conflicts_with = "files")]
    node: Option<String>,
    #[command(flatten)]
    factory: FactoryUrl,
}

/// A schematic to register: its file or node, its text and the factory.
type Registration = (String, Schematic, Factory);

pub(super) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    // Everything is read before the first request.
    let wanted = registrations(args)?;
    let client = HttpClient::new();
    let mut code = ExitCode::SUCCESS;
    for (name, schematic, factory) in &wanted {
        match register(&client, factory, schematic)? {
            Ok(id) => writeln!(out, "{id}")?,
            Err(error) => {
                super::print_refusal(name, &error.to_string());
                code = ExitCode::FAILURE;
            }
        }
    }
    Ok(code)
}

/// The schematics to register.
fn registrations(args: &Args) -> anyhow::Result<Vec<Registration>> {
    if args.files.is_empty() {
        return node_registrations(args);
    }
    let factory = args.factory.or(FACTORY);
    let mut wanted = Vec::new();
    for file in &args.files {
        let name = file.display().to_string();
        match super::read(file)?.map_err(RegisterError::from).and_then(without_secrets) {
            Ok(schematic) => wanted.push((name, schematic, factory.clone())),
            Err(error) => super::print_refusal(&name, &error.to_string()),
        }
    }
    if wanted.len() < args.files.len() {
        return Err(Refusal::Printed.into());
    }
    Ok(wanted)
}

/// The schematics of nodes, without duplicates.
fn node_registrations(args: &Args) -> anyhow::Result<Vec<Registration>> {
    let nodes = ImageSelection::of_nodes(args.cluster.clone(), args.node.clone(), args.factory.clone());
    let targets = nodes.targets()?;
    let mut seen = HashSet::new();
    let new = targets
        .into_iter()
        .filter(|target| seen.insert((target.id.clone(), target.factory.url().to_owned())));
    Ok(new.map(|target| (target.name, target.schematic, target.factory)).collect())
}

/// Why a schematic cannot be registered.
#[derive(Debug, thiserror::Error)]
enum RegisterError {
    #[error(transparent)]
    Schematic(#[from] SchematicError),
    #[error("the schematic contains a secret: {0}; anyone with its id could read it")]
    Secret(String),
    #[error("{factory} rejected the schematic: {complaint}")]
    Refused { factory: String, complaint: String },
    #[error("{0} returned no id; check that it is an Image Factory")]
    NoId(String),
    #[error(
        "the id of the schematic is {ours}, but the factory computed {theirs}; images with the first id do not exist"
    )]
    OtherId { ours: String, theirs: String },
}

fn without_secrets(schematic: Schematic) -> Result<Schematic, RegisterError> {
    let keys = secret_value::in_schematic(&schematic.to_value());
    if keys.is_empty() {
        return Ok(schematic);
    }
    Err(RegisterError::Secret(keys.join(", ")))
}

/// Registers a schematic; returns its id, or why it was refused.
fn register(
    client: &HttpClient,
    factory: &Factory,
    schematic: &Schematic,
) -> anyhow::Result<Result<String, RegisterError>> {
    let url = factory.schematics();
    let response = client.post(&url, "application/yaml", &schematic.canonical())?;
    if !response.status().is_success() {
        let complaint = response.error_summary();
        let factory = http::redact_url(factory.url());
        return Ok(Err(RegisterError::Refused { factory, complaint }));
    }
    let text = response.text()?;
    let answer: Value = serde_json::from_str(&text).unwrap_or_default();
    let Some(theirs) = answer["id"].as_str() else {
        return Ok(Err(RegisterError::NoId(http::redact_url(factory.url()))));
    };
    let ours = schematic.id();
    Ok(if theirs == ours {
        Ok(ours)
    } else {
        Err(RegisterError::OtherId { ours, theirs: theirs.to_owned() })
    })
}
