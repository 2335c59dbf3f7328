//! Files that the cluster file names, mainly patches: whether they exist, can be read and fit the nodes that use them.

use super::{PatchContent, nodes_of, used_patches};
use crate::cluster::section::Role;
use crate::plan::NodeClass;
use crate::plan::attachment;
use crate::plan::attachment::AttachmentError;
use crate::rules::affected_nodes::AffectedNodes;
use crate::rules::{Findings, Rule, RuleContext, Severity};
use ichor_talos::{document, kind, release};

pub(in crate::rules) const RULES: &[Rule] = &[
    FILE_MISSING,
    FILE_NOT_TEXT,
    FILE_PATTERN_EMPTY,
    PATCH_UNREADABLE,
    PATCH_REFUSED,
    PATCH_JSON,
    PATCH_TOO_NEW,
    PATCH_CONTROL_PLANE,
];

const FILE_MISSING: Rule = Rule {
    id: "file-missing",
    severity: Severity::Error,
    summary: "a file that the cluster file names cannot be read",
    failure: "The build stops wherever the file is missing, for example in CI if it has not been committed.",
    fix: "correct the path, which is relative to the folder of the cluster file, or add the file",
    check: |context, findings| {
        for named in attachment::file_refs(context.cluster) {
            if let Some(Err(AttachmentError::Failed(reason))) = context.attachments.texts.get(&named.path) {
                let pattern =
                    if named.path.contains('*') { "; patterns with `*` are not supported here" } else { "" };
                let message = format!("cannot read {}: {reason}{pattern}", named.path);
                findings.add(named.key, named.place, message);
            }
        }
    },
};

const FILE_NOT_TEXT: Rule = Rule {
    id: "file-not-text",
    severity: Severity::Error,
    summary: "a file that the cluster file names is not UTF-8",
    failure: "ichor cannot read a file in another encoding, such as UTF-16.",
    fix: "save the file as UTF-8, or name another one",
    check: |context, findings| {
        for named in attachment::file_refs(context.cluster) {
            if let Some(Err(AttachmentError::NotText)) = context.attachments.texts.get(&named.path) {
                findings.add(named.key, named.place, format!("{} is not UTF-8", named.path));
            }
        }
    },
};

const FILE_PATTERN_EMPTY: Rule = Rule {
    id: "file-pattern-empty",
    severity: Severity::Error,
    summary: "a pattern for files matches no file",
    failure: "No single file is named, so the build has no manifest to miss. The cluster comes up without the files, \
              for example without its storage driver.",
    fix: "correct the pattern, which is relative to the folder of the cluster file, or remove it",
    check: |context, findings| {
        for named in attachment::file_patterns(context.cluster) {
            let message = match context.attachments.matches.get(&named.path) {
                Some(Ok(files)) if files.is_empty() => format!("{} matches no file", named.path),
                Some(Err(reason)) => format!("cannot search for {}: {reason}", named.path),
                Some(Ok(_)) | None => continue,
            };
            findings.add(named.key, named.place, message);
        }
    },
};

const PATCH_UNREADABLE: Rule = Rule {
    id: "patch-unreadable",
    severity: Severity::Error,
    summary: "a patch is not YAML, or not a document of Talos",
    failure: "Talos rejects the whole configuration for one unknown key or kind. If it is the machine's first \
              configuration, the machine does not reach maintenance mode: it logs errors in a loop and cannot be \
              reached.",
    fix: "start with `machine:` or `cluster:`, or with `apiVersion: v1alpha1` and a `kind` that Talos has",
    check: |context, findings| {
        for patch in context.attachments.patches.iter() {
            if let PatchContent::Unreadable(why) = &*patch.content {
                findings.add(&patch.key, patch.place, patch.message(why));
            }
        }
    },
};

const PATCH_REFUSED: Rule = Rule {
    id: "patch-refused",
    severity: Severity::Error,
    summary: "a patch has a key that Talos does not know, or a value of the wrong type",
    failure: "Talos reads strictly at any depth: for `address:` instead of `addresses:` it rejects the whole \
              configuration. If it is the machine's first configuration, the machine cannot be reached.",
    fix: "correct the key or value; `ichor talos validate` checks whole configurations",
    check: check_refused,
};

const PATCH_JSON: Rule = Rule {
    id: "patch-json",
    severity: Severity::Error,
    summary: "a JSON patch is applied to a configuration of several documents",
    failure: "From 1.12 on every configuration has at least two documents, and Talos answers that JSON patches are \
              \"not supported for multi-document machine configuration\".",
    fix: "write the patch as a piece of configuration: `machine: {env: {…}}` instead of `op: add, path: /machine/env`",
    check: |context, findings| {
        let contract = &context.plan.cluster.contract.value;
        if !release::at_least(contract, 12) {
            return;
        }
        for patch in context.attachments.patches.iter() {
            if matches!(*patch.content, PatchContent::Operations) {
                let message = format!(
                    "RFC 6902 operations, which Talos {contract} rejects in a configuration of several documents"
                );
                findings.add(&patch.key, patch.place, patch.message(message));
            }
        }
    },
};

const PATCH_TOO_NEW: Rule = Rule {
    id: "patch-too-new",
    severity: Severity::Error,
    summary: "a patch has a kind of document that a node's Talos does not know",
    failure: "Nodes that run the older release reject their next configuration as a whole.",
    fix: "apply the patch only to nodes of the newer release, or upgrade the others first",
    check: check_too_new,
};

const PATCH_CONTROL_PLANE: Rule = Rule {
    id: "patch-control-plane",
    severity: Severity::Error,
    summary: "a patch gives a worker a document that only control planes may have",
    failure: "Talos rejects the document, such as a KubeAPIServerConfig, on a worker, so no worker accepts its \
              configuration.",
    fix: "move the patch to `roles.controlplane.patches`",
    check: check_control_plane_only,
};

fn check_refused(context: &RuleContext<'_>, findings: &mut Findings) {
    let contract = &context.plan.cluster.contract.value;
    for patch in context.attachments.patches.iter().filter(|patch| !patch.documents().is_empty()) {
        let faults = ichor_talos::patch::faults(&patch.nodes, contract);
        // Other rules check the kinds of documents.
        for fault in faults.iter().filter(|fault| fault.issue.subject != "kind") {
            let line = if patch.file.is_some() { format!("line {}: ", fault.line) } else { String::new() };
            findings.add(&patch.key, patch.place, patch.message(format!("{line}{}", fault.issue.headline())));
        }
    }
}

fn check_too_new(context: &RuleContext<'_>, findings: &mut Findings) {
    for (patch, kinds) in used_patches(context) {
        for document in patch.documents() {
            let Some(kind) = document::kind(document).and_then(kind::find) else { continue };
            let lacks = |nodes: &&&NodeClass| !kind.is_in(&context.plan.nodes[nodes.first()].talos.value);
            let nodes = nodes_of(kinds.iter().filter(lacks));
            if let Some(&first) = nodes.first() {
                let (name, since) = (kind.name, kind.since);
                let has = &context.plan.nodes[first].talos.value;
                let names = AffectedNodes::from_numbers(context.plan, &nodes).names();
                let message = format!("Talos has {name} from 1.{since} on; these nodes run {has}: {names}");
                findings.add(&patch.key, patch.place, patch.message(message));
            }
        }
    }
}

fn check_control_plane_only(context: &RuleContext<'_>, findings: &mut Findings) {
    for (patch, kinds) in used_patches(context) {
        let is_worker = |kind: &&&NodeClass| context.plan.nodes[kind.first()].role == Role::Worker;
        let workers = nodes_of(kinds.iter().filter(is_worker));
        if workers.is_empty() {
            continue;
        }
        for document in patch.documents() {
            let kind = document::kind(document).and_then(kind::find).filter(|kind| kind.control_plane);
            if let Some(kind) = kind {
                let names = AffectedNodes::from_numbers(context.plan, &workers).names();
                let message =
                    format!("{} is for control planes only; these nodes are workers: {names}", kind.name);
                findings.add(&patch.key, patch.place, patch.message(message));
            }
        }
    }
}
