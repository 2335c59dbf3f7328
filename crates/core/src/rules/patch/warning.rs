//! What Talos says of configurations that it accepts: whole ones, because a patch alone does not show it.

use std::collections::BTreeMap;

use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng as _;

use super::ConfigPatch;
use crate::render::machine::sealed_patches;
use crate::render::tree::{PatchTexts, RenderInputs, Renderer};
use crate::rules::roll::AffectedNodes;
use crate::rules::{Findings, Rule, RuleContext, Severity};
use ichor_talos::secrets::Bundle;
use ichor_values::Moment;

pub(in crate::rules) const RULES: &[Rule] = &[PATCH_WARNING];

const PATCH_WARNING: Rule = Rule {
    id: "patch-warning",
    severity: Severity::Warning,
    summary: "Talos warns about what a patch brings",
    failure: "Talos 1.14 accepts `machine.files` and warns that it is deprecated, but only in the log of the node. The release \
            that removes the key rejects the whole configuration, and the node cannot be upgraded.",
    fix: "change the patch as the warning says; `ichor build` prints the warnings about encrypted patches",
    check: check_warned,
};

/// Renders one node of each kind that has patches, with secrets that mean nothing.
fn check_warned(context: &RuleContext<'_>, found: &mut Findings) {
    let patches = &context.attachments.patches;
    if patches.iter().next().is_none() {
        return;
    }
    let Some(bundle) = stand_in(context) else { return };
    let opened =
        sealed_patches(context.cluster).into_iter().map(|path| (path, Ok("machine: {}\n".to_owned())));
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
    // Other rules and the build report what keeps a configuration from being rendered.
    let Ok(renderer) = Renderer::new(inputs) else { return };
    let mut warnings: BTreeMap<(usize, String), (&ConfigPatch, Vec<usize>)> = BTreeMap::new();
    for (node, kind) in context.plan.by_kind() {
        if patches.of(node.written()).next().is_none() {
            continue;
        }
        let Ok(rendered) = renderer.machine(node) else { continue };
        for mut warning in rendered.warnings {
            let Some(name) = warning.patch.take() else { continue };
            let own = patches.of(node.written()).find(|patch| is_named(patch, &name));
            let Some((nth, patch)) =
                own.and_then(|own| patches.iter().enumerate().find(|(_, it)| it.place == own.place))
            else {
                continue;
            };
            let (_, nodes) = warnings.entry((nth, warning.to_string())).or_insert((patch, Vec::new()));
            nodes.extend(&kind.nodes);
        }
    }
    for ((_, warning), (patch, mut nodes)) in warnings {
        nodes.sort_unstable();
        let names = AffectedNodes::of(context.plan, &nodes).names();
        found.at(&patch.key, patch.place, patch.says(format!("{warning}: {names}")));
    }
}

/// Whether `name` is what the renderer calls a patch: its file, or the key of one in the cluster file itself.
fn is_named(patch: &ConfigPatch, name: &str) -> bool {
    match &patch.file {
        Some(file) => file == name,
        None => patch.key.strip_suffix(".inline") == Some(name),
    }
}

/// Secrets that are the same for everybody: rules see none, and no warning depends on them.
fn stand_in(context: &RuleContext<'_>) -> Option<Bundle> {
    let now = Moment::from_unix(0)?;
    Bundle::quick(&context.plan.cluster.contract.value, &mut ChaCha20Rng::from_seed([0; 32]), now).ok()
}
