//! The other end of the wire, for every case there is.

use std::path::{Path, PathBuf};

use ichor_bgp::render::SecretFetcher;
use ichor_core::model::Cluster;
use ichor_core::plan::Plan;
use ichor_core::render::artifact::Artifact;
use ichor_core::render::{fabric, manifests};
use ichor_core::routing::BgpTopology;

use super::routing::PASSWORD;

/// The cases with something to route: examples, variants beside the tests, and those of their own.
pub fn cases() -> Vec<PathBuf> {
    super::routing::cases().into_iter().chain(super::group("fabric")).collect()
}

/// Everything around the nodes of a case.
pub fn files(case: &Path) -> Vec<Artifact> {
    render_files(&super::planned_case(case, "ichor.yaml"), &|_| Ok(PASSWORD.to_owned()))
        .unwrap_or_else(|errors| panic!("{}: {errors:#?}", case.display()))
}

/// The files around the nodes of a cluster file, or its problems.
pub fn files_of(text: &str) -> Result<Vec<Artifact>, Vec<String>> {
    render_files(&super::planned(super::load_text(text)), &|_| Ok(PASSWORD.to_owned()))
}

/// Everything around the nodes of a plan, with secrets that are fetched so.
pub fn render_files(
    (cluster, plan): &(Cluster, Plan),
    fetch: &SecretFetcher<'_>,
) -> Result<Vec<Artifact>, Vec<String>> {
    let network = BgpTopology::from_plan(cluster, plan).unwrap();
    let to_texts =
        |errors: Vec<ichor_values::Issue>| errors.iter().map(ToString::to_string).collect::<Vec<_>>();
    let mut files = fabric::render(plan, &network, fetch).map_err(to_texts)?;
    files.extend(manifests::render(plan, &network).map_err(to_texts)?);
    Ok(files)
}
