//! Manifests that Talos applies when the cluster is made.

use std::collections::BTreeMap;

use crate::cluster::section::Speaker;
use crate::plan::CniPlan;
use crate::render::chart::Order;
use crate::render::manifests::{CILIUM, CILIUM_BGP, KUBE_VIP};
use crate::rules::attachment::{self, NamedFile};
use crate::rules::{Context, Found, Rule, Severity};
use crate::talos::manifest;

pub(super) const RULES: &[Rule] = &[UNREADABLE, TWICE];

const UNREADABLE: Rule = Rule {
    id: "manifest-unreadable",
    severity: Severity::Error,
    summary: "a manifest is not made of objects of Kubernetes",
    story: "A file with values lay among the manifests and was matched by the pattern. Talos reads a manifest as a whole: it \
            told of an error every minute, on a node that nobody watched, and applied nothing of what stood beside it.",
    fix: "correct the file, or let the pattern match manifests alone",
    look: |context, found| {
        for file in files(context) {
            let Some(Ok(text)) = context.attachments.texts.get(&file.path) else { continue };
            if let Err(reason) = manifest::read(text) {
                found.at(&file.key, file.place, format!("{}: {reason}", file.path));
            }
        }
    },
};

const TWICE: Rule = Rule {
    id: "manifest-twice",
    severity: Severity::Error,
    summary: "two manifests have the same name in the configurations",
    story: "The folders `storage` and `ingress` each had an `install.yaml`. A configuration knows manifests by the name of \
            their file, so there was room for one of them.",
    fix: "give the files different names",
    look: twice,
};

fn files(context: &Context<'_>) -> Vec<NamedFile> {
    attachment::manifests(context.cluster, context.plan, context.attachments)
}

fn twice(context: &Context<'_>, found: &mut Found) {
    let mut taken: BTreeMap<String, String> = BTreeMap::new();
    if Order::of(context.plan, context.attachments).is_some() {
        taken.insert(CILIUM.to_owned(), "Cilium, as helm renders it,".to_owned());
    }
    if context.plan.cluster.cni.value == CniPlan::Cilium && context.plan.has_speaker(Speaker::Cilium) {
        taken.insert(CILIUM_BGP.to_owned(), "what Cilium is told of BGP".to_owned());
    }
    if context.cluster.section().kube_vip.is_set() {
        taken.insert(KUBE_VIP.to_owned(), "kube-vip".to_owned());
    }
    for file in files(context) {
        let name = file.stem().to_owned();
        if let Some(other) = taken.get(&name) {
            let message = format!("{} and {other} are both called `{name}`", file.path);
            found.at(&file.key, file.place, message);
        } else {
            taken.insert(name, file.path);
        }
    }
}
