//! Custom templates.

use super::session::bgp_groups;
use crate::cluster::section::NodeSettings;
use crate::model::layer;
use crate::rules::affected_nodes::NodesByProblem;
use crate::rules::{Findings, Rule, RuleContext, Severity};
use ichor_bgp::render::{RenderRequest, RouterAddresses, TEMPLATE, Template, render};
use ichor_bgp::setting::Carrier;

pub(super) const RULES: &[Rule] = &[BROKEN];

const BROKEN: Rule = Rule {
    id: "template-broken",
    severity: Severity::Error,
    summary: "a custom template cannot be rendered",
    failure: "A misspelt variable, such as `neighbours` instead of `neighbors`, stops the rendering. Otherwise the \
              file would lack every session, and the node would be unreachable.",
    fix: "correct the line; docs/reference/template-variables.md lists the variables",
    check: check_broken,
};

/// Renders each template for the first node of a BGP group, with a placeholder password.
fn check_broken(context: &RuleContext<'_>, findings: &mut Findings) {
    let mut protected = None;
    let mut problems = NodesByProblem::new(context.plan);
    for (nodes, node, plan) in bgp_groups(context) {
        let backend = plan.backend.value;
        let Some(routing) = node.written().routing.get() else { continue };
        let Some((_, path)) = routing.template.entries().find(|(own, _)| **own == backend) else { continue };
        let Some(Ok(text)) = context.attachments.texts.get(path.value.as_str()) else { continue };
        let protected = protected.get_or_insert_with(|| crate::routing::protected(context.plan));
        let Ok(Some(model)) = crate::routing::model(node, protected) else { continue };
        let request = RenderRequest {
            backend,
            carrier: plan.carrier.as_ref().map_or(Carrier::Ichor, |carrier| carrier.value),
            model: &model,
            version: routing.version.get(),
            options: &plan.options(),
            template: Some(Template { path: path.value.as_str(), text }),
            routers: &RouterAddresses::new(),
        };
        let issues = render(request, &|_| Ok("password".to_owned())).err().unwrap_or_default();
        for issue in issues.into_iter().filter(|issue| issue.subject == TEMPLATE) {
            problems.add((backend, issue.message), nodes, path.place);
        }
    }
    for ((backend, reason), affected) in problems {
        let at = |settings: &NodeSettings| {
            let (_, path) = settings.routing.get()?.template.entries().find(|(own, _)| **own == backend)?;
            Some(path.place)
        };
        let key = format!("{TEMPLATE}.{backend}");
        let path = layer::setting_path(context.cluster, affected.first().nth, &key, affected.place(), at);
        findings.add(path, affected.place(), reason);
    }
}
