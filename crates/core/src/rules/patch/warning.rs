//! Talos' errors and warnings about the configurations of nodes. They appear only for complete configurations, not for a patch alone.

use std::collections::BTreeMap;

use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng as _;

use super::ConfigPatch;
use crate::plan::NodePlan;
use crate::render::machine::{ConfigRejection, NodeWarning, encrypted_patches};
use crate::render::tree::{PatchTexts, RenderInputs, Renderer};
use crate::rules::affected_nodes::AffectedNodes;
use crate::rules::{Findings, Rule, RuleContext, Severity};
use ichor_talos::secrets::Bundle;
use ichor_values::Moment;

pub(in crate::rules) const RULES: &[Rule] = &[PATCH_WARNING, PATCH_VALUE];

const PATCH_WARNING: Rule = Rule {
    id: "patch-warning",
    severity: Severity::Warning,
    summary: "Talos warns about what a patch brings",
    failure: "Talos 1.14 accepts `machine.files` and warns that it is deprecated, but only in the log of the node. The release \
            that removes the key rejects the whole configuration, and the node cannot be upgraded.",
    fix: "change the patch as the warning says; `ichor build` prints the warnings about encrypted patches",
    check: check_patch_warnings,
};

const PATCH_VALUE: Rule = Rule {
    id: "patch-value",
    severity: Severity::Error,
    summary: "Talos rejects a value that a patch brings",
    failure: "The key and its type are right, but Talos rejects the whole configuration, such as for the address `10.0.0.1/33`. \
              `ichor build` writes nothing.",
    fix: "correct the value; `ichor talos validate` checks whole configurations",
    check: check_patch_values,
};

/// Something that Talos reports about a configuration: the name of the patch that brings it, and the text.
type PatchRemark = (String, String);

fn check_patch_warnings(context: &RuleContext<'_>, findings: &mut Findings) {
    check_patched_nodes(context, findings, |renderer, node| {
        // The rule about values and the build report errors.
        let warnings = renderer.machine(node).map_or_else(|_| Vec::new(), |rendered| rendered.warnings);
        let remark = |mut warning: NodeWarning| Some((warning.patch.take()?, warning.to_string()));
        warnings.into_iter().filter_map(remark).collect()
    });
}

fn check_patch_values(context: &RuleContext<'_>, findings: &mut Findings) {
    check_patched_nodes(context, findings, |renderer, node| {
        let remark = |rejection: ConfigRejection| Some((rejection.patch?, rejection.reason));
        renderer.patch_rejections(node).into_iter().filter_map(remark).collect()
    });
}

/// Renders one node of each class that has patches, with placeholder secrets, and reports each remark once.
fn check_patched_nodes(
    context: &RuleContext<'_>,
    findings: &mut Findings,
    remarks: impl Fn(&Renderer<'_>, &NodePlan) -> Vec<PatchRemark>,
) {
    let patches = &context.attachments.patches;
    if patches.iter().next().is_none() {
        return;
    }
    let Some(bundle) = placeholder_secrets(context) else { return };
    let opened =
        encrypted_patches(context.cluster).into_iter().map(|path| (path, Ok("machine: {}\n".to_owned())));
    let opened: PatchTexts = opened.collect();
    let inputs = RenderInputs {
        cluster: context.cluster,
        plan: context.plan,
        bundle: &bundle,
        attachments: context.attachments,
        cilium: Ok(""),
        patches: &opened,
        secret: &|_| Ok("stand-in".to_owned()),
    };
    // Other rules and the build report rendering errors.
    let Ok(renderer) = Renderer::new(inputs) else { return };
    let mut found: BTreeMap<(usize, String), (&ConfigPatch, Vec<usize>)> = BTreeMap::new();
    for (node, kind) in context.plan.by_class() {
        if patches.in_settings(node.written()).next().is_none() {
            continue;
        }
        for (name, remark) in remarks(&renderer, node) {
            let own = patches.in_settings(node.written()).find(|patch| is_named(patch, &name));
            let Some((nth, patch)) =
                own.and_then(|own| patches.iter().enumerate().find(|(_, it)| it.place == own.place))
            else {
                continue;
            };
            let (_, nodes) = found.entry((nth, remark)).or_insert((patch, Vec::new()));
            nodes.extend(&kind.nodes);
        }
    }
    for ((_, remark), (patch, mut nodes)) in found {
        nodes.sort_unstable();
        let names = AffectedNodes::from_numbers(context.plan, &nodes).names();
        findings.add(&patch.key, patch.place, patch.message(format!("{remark}: {names}")));
    }
}

/// Whether the renderer calls a patch `name`: by its file, or by the key of an inline patch.
fn is_named(patch: &ConfigPatch, name: &str) -> bool {
    match &patch.file {
        Some(file) => file == name,
        None => patch.key.strip_suffix(".inline") == Some(name),
    }
}

/// Constant secrets: rules have no access to the real ones, and no warning depends on them.
fn placeholder_secrets(context: &RuleContext<'_>) -> Option<Bundle> {
    let now = Moment::from_unix(0)?;
    Bundle::quick(&context.plan.cluster.contract.value, &mut ChaCha20Rng::from_seed([0; 32]), now).ok()
}
