//! Templates of one's own.

use super::session::alike;
use crate::cluster::section::Rung;
use crate::model::rung;
use crate::rules::roll::Rolls;
use crate::rules::{Context, Found, Rule, Severity};
use ichor_bgp::render::{Order, Routers, TEMPLATE, Template, render};
use ichor_bgp::setting::Carrier;

pub(super) const RULES: &[Rule] = &[BROKEN];

const BROKEN: Rule = Rule {
    id: "template-broken",
    severity: Severity::Error,
    summary: "a custom template cannot be rendered",
    failure: "A misspelt variable, such as `neighbours` instead of `neighbors`, stops the rendering. Otherwise the \
              file would lack every session, and the node would be unreachable.",
    fix: "correct the line; docs/templates.md lists the variables",
    look: broken,
};

/// Tries each template on the first of the nodes that route alike, with another password than theirs.
fn broken(context: &Context<'_>, found: &mut Found) {
    let mut protected = None;
    let mut rolls = Rolls::new(context.plan);
    for (nodes, node, plan) in alike(context) {
        let backend = plan.backend.value;
        let Some(routing) = node.written().routing.get() else { continue };
        let Some((_, path)) = routing.template.entries().find(|(of, _)| **of == backend) else { continue };
        let Some(Ok(text)) = context.attachments.texts.get(path.value.as_str()) else { continue };
        let protected = protected.get_or_insert_with(|| crate::routing::protected(context.plan));
        let Ok(Some(model)) = crate::routing::model(node, protected) else { continue };
        let order = Order {
            backend,
            carrier: plan.carrier.as_ref().map_or(Carrier::Ichor, |carrier| carrier.value),
            model: &model,
            version: routing.version.get(),
            options: &plan.options(),
            template: Some(Template { path: path.value.as_str(), text }),
            routers: &Routers::new(),
        };
        let issues = render(order, &|_| Ok("password".to_owned())).err().unwrap_or_default();
        for issue in issues.into_iter().filter(|issue| issue.subject == TEMPLATE) {
            rolls.add((backend, issue.message), nodes, path.place);
        }
    }
    for ((backend, reason), roll) in rolls {
        let at = |rung: &Rung| {
            let (_, path) = rung.routing.get()?.template.entries().find(|(of, _)| **of == backend)?;
            Some(path.place)
        };
        let key = format!("{TEMPLATE}.{backend}");
        let path = rung::path(context.cluster, roll.first().nth, &key, roll.place(), at);
        found.at(path, roll.place(), reason);
    }
}
