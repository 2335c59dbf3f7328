//! Cilium's values, and settings of unused pod networks.

use crate::cluster::section::Cilium;
use crate::plan::CniPlan;
use crate::render::chart::values;
use crate::rules::{Findings, Rule, RuleContext, Severity};
use ichor_talos::document;
use ichor_values::Location;
use ichor_values::go_yaml::reader::SyntaxError;

pub(super) const RULES: &[Rule] = &[VALUES, UNREADABLE, UNUSED];

const VALUES: Rule = Rule {
    id: "cilium-values",
    severity: Severity::Error,
    summary: "a value for Cilium's chart contradicts Talos or the rest of the file",
    failure: "Cilium's agent waits on every node if it requests the right to load kernel modules, which Talos gives to \
              no container. It also waits if its API address is one that only Cilium itself makes reachable.",
    fix: "remove the value from the file: ichor adds what Talos needs; `ichor show cilium` prints it",
    check: |context, findings| {
        let Some((place, path, own)) = chart_values(context) else { return };
        let Ok(own) = own else { return };
        for conflict in values::conflicts(context.plan, &own) {
            findings.add("cluster.cilium.values", place, format!("{path}: {}", conflict.message));
        }
    },
};

const UNREADABLE: Rule = Rule {
    id: "cilium-values-unreadable",
    severity: Severity::Error,
    summary: "the file with values for Cilium's chart is not a YAML map",
    failure: "helm rejects the file, for example one with `--set` options. The error appears only on a machine where \
              helm is installed.",
    fix: "write the values as a map: `hubble: {relay: {enabled: true}}` instead of `--set hubble.relay.enabled=true`",
    check: |context, findings| {
        if let Some((place, path, Err(reason))) = chart_values(context) {
            findings.add("cluster.cilium.values", place, format!("{path}: {reason}"));
        }
    },
};

const UNUSED: Rule = Rule {
    id: "cni-settings-unused",
    severity: Severity::Warning,
    summary: "settings of a pod network that is not in use",
    failure: "ichor does not read these settings, so changes to them have no effect.",
    fix: "remove the settings, or set `cluster.cni` to their pod network",
    check: check_unused,
};

/// Why helm rejects a file with values.
#[derive(Debug, thiserror::Error)]
enum ValuesFileError {
    #[error(transparent)]
    Syntax(SyntaxError),
    #[error("not a map")]
    NoMap,
    #[error("several documents, but helm reads only one")]
    Documents,
}

/// The user's values, if the chart is rendered with them.
fn chart_values<'c>(
    context: &RuleContext<'c>,
) -> Option<(Location, &'c str, Result<serde_json::Value, ValuesFileError>)> {
    let cilium = context.cluster.section().cilium.get()?;
    if context.plan.cluster.cni.value != CniPlan::Cilium || cilium.manifest.is_set() {
        return None;
    }
    let path = cilium.values.at()?;
    // Other rules report a file that is missing or not text.
    let text = context.attachments.texts.get(path.value.as_str())?.as_ref().ok()?;
    let own = match document::read(text) {
        Err(error) => Err(ValuesFileError::Syntax(error)),
        Ok(documents) => match documents.as_slice() {
            [] => Ok(serde_json::json!({})),
            [map] if map.is_object() => Ok(map.clone()),
            [_] => Err(ValuesFileError::NoMap),
            _ => Err(ValuesFileError::Documents),
        },
    };
    Some((path.place, path.value.as_str(), own))
}

fn check_unused(context: &RuleContext<'_>, findings: &mut Findings) {
    let section = context.cluster.section();
    let cni = &context.plan.cluster.cni.value;
    if let Some(flannel) = section.flannel.at()
        && !matches!(cni, CniPlan::Flannel(_))
    {
        findings.add("cluster.flannel", flannel.place, format!("the pod network is {cni}"));
    }
    let Some(cilium) = section.cilium.at() else { return };
    if *cni != CniPlan::Cilium {
        findings.add("cluster.cilium", cilium.place, format!("the pod network is {cni}"));
    } else if cilium.value.manifest.is_set() {
        for (key, place) in helm_settings(cilium.value) {
            let message = "not used: `cluster.cilium.manifest` replaces the chart";
            findings.add(format!("cluster.cilium.{key}"), place, message);
        }
    }
}

/// The settings that only helm reads.
fn helm_settings(cilium: &Cilium) -> impl Iterator<Item = (&'static str, Location)> {
    [
        ("version", cilium.version.place()),
        ("values", cilium.values.place()),
        ("chart", cilium.chart.place()),
        ("repository", cilium.repository.place()),
    ]
    .into_iter()
    .filter_map(|(key, place)| Some((key, place?)))
}
