//! Files that are named, patches above all: whether they are there, can be read, and can be laid over the nodes that
//! use them.

use super::{Content, nodes_of, used};
use crate::cluster::section::Role;
use crate::plan::Kind;
use crate::plan::attachment;
use crate::plan::attachment::Unread;
use crate::rules::roll::Roll;
use crate::rules::{Context, Found, Rule, Severity};
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
    story: "The patch with the proxy settings was never committed. On the machine of its author everything works; the \
            first build in CI stops, or worse, an older copy of the file is found.",
    fix: "correct the path, which starts at the folder of the cluster file, or add the file",
    look: |context, found| {
        for named in attachment::named(context.cluster) {
            if let Some(Err(Unread::Failed(reason))) = context.attachments.texts.get(&named.path) {
                let pattern = if named.path.contains('*') { "; `*` is no pattern here" } else { "" };
                let message = format!("{} cannot be read: {reason}{pattern}", named.path);
                found.at(named.key, named.place, message);
            }
        }
    },
};

const FILE_NOT_TEXT: Rule = Rule {
    id: "file-not-text",
    severity: Severity::Error,
    summary: "a file that the cluster file names is not UTF-8",
    story: "A template was saved by an editor that writes UTF-16. The file was where it belonged, everybody could read it, and \
            the search for a missing file took an afternoon.",
    fix: "save the file as UTF-8, or name the right one",
    look: |context, found| {
        for named in attachment::named(context.cluster) {
            if let Some(Err(Unread::NotText)) = context.attachments.texts.get(&named.path) {
                found.at(named.key, named.place, format!("{} is not UTF-8", named.path));
            }
        }
    },
};

const FILE_PATTERN_EMPTY: Rule = Rule {
    id: "file-pattern-empty",
    severity: Severity::Error,
    summary: "a pattern for files matches none",
    story: "The folder with the manifests was renamed. Nothing was missing by name, so the next cluster came up without its \
            storage driver, and the first workload that asked for a volume waited for ever.",
    fix: "correct the pattern, which starts at the folder of the cluster file, or remove it",
    look: |context, found| {
        for named in attachment::patterns(context.cluster) {
            let message = match context.attachments.matches.get(&named.path) {
                Some(Ok(files)) if files.is_empty() => format!("{} matches no file", named.path),
                Some(Err(reason)) => format!("cannot look for {}: {reason}", named.path),
                Some(Ok(_)) | None => continue,
            };
            found.at(named.key, named.place, message);
        }
    },
};

const PATCH_UNREADABLE: Rule = Rule {
    id: "patch-unreadable",
    severity: Severity::Error,
    summary: "a patch is not YAML, or not a document of Talos",
    story: "Talos refuses a configuration with one unknown key or kind as a whole. As first configuration of a machine \
            that means no maintenance mode either: it prints errors in a loop, and nobody can reach it.",
    fix: "start with `machine:` or `cluster:`, or with `apiVersion: v1alpha1` and a `kind` that Talos has",
    look: |context, found| {
        for patch in context.attachments.patches.iter() {
            if let Content::Unreadable(why) = &*patch.content {
                found.at(&patch.key, patch.place, patch.says(why));
            }
        }
    },
};

const PATCH_REFUSED: Rule = Rule {
    id: "patch-refused",
    severity: Severity::Error,
    summary: "a patch has a key that Talos does not know, or a value of the wrong type",
    story: "`address:` where Talos has `addresses:`. Talos reads strictly, at any depth: the machine refuses the whole \
            configuration, and as its first one that leaves it unreachable.",
    fix: "correct the key or value; `ichor talos validate` judges whole configurations",
    look: refused,
};

const PATCH_JSON: Rule = Rule {
    id: "patch-json",
    severity: Severity::Error,
    summary: "a JSON patch meets a configuration of several documents",
    story: "The patches came from a 1.11 cluster. From 1.12 on every configuration has at least two documents, and Talos \
            answers that JSON patches are \"not supported for multi-document machine configuration\".",
    fix: "write the patch as a piece of configuration: `machine: {env: {…}}` in place of `op: add, path: /machine/env`",
    look: |context, found| {
        let contract = &context.plan.cluster.contract.value;
        if !release::at_least(contract, 12) {
            return;
        }
        for patch in context.attachments.patches.iter() {
            if matches!(*patch.content, Content::Operations) {
                let message = format!("RFC 6902 operations, which Talos {contract} refuses here");
                found.at(&patch.key, patch.place, patch.says(message));
            }
        }
    },
};

const PATCH_TOO_NEW: Rule = Rule {
    id: "patch-too-new",
    severity: Severity::Error,
    summary: "a patch brings a kind of document that a node's Talos does not have",
    story: "A patch with a VRFConfig is tried on one upgraded node and goes into the defaults. The nodes that still run \
            the release before refuse their next configuration as a whole.",
    fix: "give the patch only to nodes of the newer release, or upgrade the others first",
    look: too_new,
};

const PATCH_CONTROL_PLANE: Rule = Rule {
    id: "patch-control-plane",
    severity: Severity::Error,
    summary: "a patch gives a worker a document that only control planes may have",
    story: "A KubeAPIServerConfig in the defaults reaches the workers too. Talos rejects the document unless the machine \
            is a control plane, so not one worker takes its configuration.",
    fix: "move the patch to `roles.controlplane.patches`",
    look: control_plane_only,
};

fn refused(context: &Context<'_>, found: &mut Found) {
    let contract = &context.plan.cluster.contract.value;
    for patch in context.attachments.patches.iter().filter(|patch| !patch.documents().is_empty()) {
        let faults = ichor_talos::patch::faults(&patch.nodes, contract);
        // Kinds of documents have rules of their own.
        for fault in faults.iter().filter(|fault| fault.path != "kind") {
            let line = if patch.file.is_some() { format!("line {}: ", fault.line) } else { String::new() };
            let path = if fault.path.is_empty() { String::new() } else { format!("{}: ", fault.path) };
            found.at(&patch.key, patch.place, patch.says(format!("{line}{path}{}", fault.message)));
        }
    }
}

fn too_new(context: &Context<'_>, found: &mut Found) {
    for (patch, kinds) in used(context) {
        for document in patch.documents() {
            let Some(kind) = document::kind(document).and_then(kind::find) else { continue };
            let lacks = |nodes: &&&Kind| !kind.is_in(&context.plan.nodes[nodes.first()].talos.value);
            let nodes = nodes_of(kinds.iter().filter(lacks));
            if let Some(&first) = nodes.first() {
                let (name, since) = (kind.name, kind.since);
                let has = &context.plan.nodes[first].talos.value;
                let names = Roll::of(context.plan, &nodes).names();
                let message = format!("Talos has {name} from 1.{since} on, these run {has}: {names}");
                found.at(&patch.key, patch.place, patch.says(message));
            }
        }
    }
}

fn control_plane_only(context: &Context<'_>, found: &mut Found) {
    for (patch, kinds) in used(context) {
        let is_worker = |kind: &&&Kind| context.plan.nodes[kind.first()].role == Role::Worker;
        let workers = nodes_of(kinds.iter().filter(is_worker));
        if workers.is_empty() {
            continue;
        }
        for document in patch.documents() {
            let kind = document::kind(document).and_then(kind::find).filter(|kind| kind.control_plane);
            if let Some(kind) = kind {
                let names = Roll::of(context.plan, &workers).names();
                let message = format!("{} is for control planes only, these are workers: {names}", kind.name);
                found.at(&patch.key, patch.place, patch.says(message));
            }
        }
    }
}
