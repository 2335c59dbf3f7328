//! Manifests that Talos applies at bootstrap.

use std::collections::BTreeMap;

use crate::plan::CniPlan;
use crate::plan::attachment;
use crate::plan::attachment::FileRef;
use crate::render::chart::ChartRequest;
use crate::render::manifests::{CILIUM, CILIUM_BGP, KUBE_VIP};
use crate::rules::{Findings, Rule, RuleContext, Severity};
use ichor_bgp::setting::Speaker;
use ichor_talos::manifest;

pub(super) const RULES: &[Rule] = &[UNREADABLE, TWICE];

const UNREADABLE: Rule = Rule {
    id: "manifest-unreadable",
    severity: Severity::Error,
    summary: "a manifest does not consist of Kubernetes objects",
    failure: "Talos reads a manifest as a whole: it logs an error every minute and applies none of its objects.",
    fix: "correct the file, or restrict the pattern to manifests",
    check: |context, findings| {
        for file in files(context) {
            let Some(Ok(text)) = context.attachments.texts.get(&file.path) else { continue };
            if let Err(reason) = manifest::read(text) {
                findings.add(&file.key, file.place, format!("{}: {reason}", file.path));
            }
        }
    },
};

const TWICE: Rule = Rule {
    id: "manifest-twice",
    severity: Severity::Error,
    summary: "two manifests have the same name in the configurations",
    failure: "A configuration identifies manifests by file name, so it can hold only one of `storage/install.yaml` and \
              `ingress/install.yaml`.",
    fix: "give the files different names",
    check: check_twice,
};

fn files(context: &RuleContext<'_>) -> Vec<FileRef> {
    attachment::manifests(context.cluster, context.plan, context.attachments)
}

fn check_twice(context: &RuleContext<'_>, findings: &mut Findings) {
    let mut taken: BTreeMap<String, String> = BTreeMap::new();
    if ChartRequest::from_plan(context.plan, context.attachments).is_some() {
        taken.insert(CILIUM.to_owned(), "the rendered Cilium chart".to_owned());
    }
    if context.plan.cluster.cni.value == CniPlan::Cilium && context.plan.has_speaker(Speaker::Cilium) {
        taken.insert(CILIUM_BGP.to_owned(), "Cilium's BGP configuration".to_owned());
    }
    if context.cluster.section().kube_vip.is_set() {
        taken.insert(KUBE_VIP.to_owned(), "kube-vip".to_owned());
    }
    for file in files(context) {
        let name = file.stem().to_owned();
        if let Some(other) = taken.get(&name) {
            let message = format!("{} and {other} are both called `{name}`", file.path);
            findings.add(&file.key, file.place, message);
        } else {
            taken.insert(name, file.path);
        }
    }
}
