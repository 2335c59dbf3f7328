//! BGP in a node's configuration: the daemon's extension service and its files, or the documents of Talos' own BGP; and the
//! link to the speaker for nodes without the agent.

use serde_json::{Value, json};

use super::{ConfigDraft, RenderInputs, agent_config};
use crate::plan::attachment::{AttachmentError, Attachments};
use crate::plan::{ConfigStage, NodePlan, RoutingPlan};
use crate::render::native;
use ichor_bgp::agent::config;
use ichor_bgp::model::BgpModel;
use ichor_bgp::model::ProtectedPrefixes;
use ichor_bgp::render as routing;
use ichor_bgp::render::{RenderRequest, RouterAddresses, Service, Template};
use ichor_bgp::setting::Carrier;
use ichor_values::{Backend, Issue};

/// The BGP of a node, rendered once for all of its files.
#[derive(Debug)]
pub struct NodeRouting {
    /// Its model; none without routing.
    pub model: Option<BgpModel>,
    /// The extension service of its daemon, or the errors; none without a daemon.
    pub service: Result<Option<Service>, Vec<Issue>>,
}

/// Renders the BGP of a node.
pub fn render_routing(
    inputs: RenderInputs<'_>,
    protected: &ProtectedPrefixes,
    node: &NodePlan,
) -> Result<NodeRouting, Vec<Issue>> {
    let Some(model) = model(protected, node)? else {
        return Ok(NodeRouting { model: None, service: Ok(None) });
    };
    let service = service(inputs, &model, node);
    Ok(NodeRouting { model: Some(model), service })
}

fn service(
    inputs: RenderInputs<'_>,
    model: &BgpModel,
    node: &NodePlan,
) -> Result<Option<Service>, Vec<Issue>> {
    let Some(plan) = node.routing.as_deref() else { return Ok(None) };
    let backend = plan.backend.value;
    let template = template(inputs.attachments, plan)
        .map_err(|error| vec![Issue::error(node.path(routing::TEMPLATE), error.to_string())])?;
    let (version, options) = (plan.version.as_ref().map(|version| &version.value), plan.options());
    let (carrier, routers) = (carrier(plan), &RouterAddresses::new());
    let request = RenderRequest { backend, carrier, model, version, options: &options, template, routers };
    routing::render(request, inputs.secret).map_err(|issues| prefix_subjects(node, issues))
}

pub(super) fn model(protected: &ProtectedPrefixes, node: &NodePlan) -> Result<Option<BgpModel>, Vec<Issue>> {
    crate::routing::model(node, protected)
        .map_err(|error| vec![Issue::error(node.path(error.key), "cannot be derived, and is not set")])
}

/// An error with the template of a node.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TemplateFileError {
    /// Its file cannot be read.
    #[error("{path} cannot be read: {reason}")]
    Unread {
        /// The path as written.
        path: String,
        /// The reason.
        reason: AttachmentError,
    },
    /// Its file is not among the attachments.
    #[error("{path} was not read")]
    NotGathered {
        /// The path as written.
        path: String,
    },
}

/// The custom template of a node, if it has one.
pub fn template<'a>(
    attachments: &'a Attachments,
    plan: &'a RoutingPlan,
) -> Result<Option<Template<'a>>, TemplateFileError> {
    let Some(path) = &plan.template else { return Ok(None) };
    let path = path.value.as_str();
    match attachments.texts.get(path) {
        Some(Ok(text)) => Ok(Some(Template { path, text })),
        Some(Err(reason)) => Err(TemplateFileError::Unread { path: path.to_owned(), reason: reason.clone() }),
        None => Err(TemplateFileError::NotGathered { path: path.to_owned() }),
    }
}

pub(super) fn carrier(plan: &RoutingPlan) -> Carrier {
    plan.carrier.as_ref().map_or(Carrier::Ichor, |carrier| carrier.value)
}

/// Prefixes the subjects of issues with the key path of their node.
pub(super) fn prefix_subjects(node: &NodePlan, issues: Vec<Issue>) -> Vec<Issue> {
    issues.into_iter().map(|issue| Issue { subject: node.path(&issue.subject), ..issue }).collect()
}

/// The documents of Talos' own BGP, or of the link to the speaker.
fn documents(model: &BgpModel, node: &NodePlan, stage: ConfigStage) -> Result<Vec<Value>, Vec<Issue>> {
    let Some(plan) = node.routing.as_deref() else { return Ok(Vec::new()) };
    if plan.backend.value == Backend::Native {
        return native::documents(model, node, stage).map_err(|issues| prefix_subjects(node, issues));
    }
    if carrier(plan) != Carrier::Official {
        return Ok(Vec::new());
    }
    Ok(native::speaker_link(model, node, stage))
}

/// Adds the service and documents. They are the same before and after the installation except for anycast addresses, because
/// the node is reached by BGP in both.
pub fn add(
    draft: &mut ConfigDraft,
    inputs: RenderInputs<'_>,
    rendered: &NodeRouting,
    node: &NodePlan,
    stage: ConfigStage,
    errors: &mut Vec<Issue>,
) {
    let Some(model) = &rendered.model else { return };
    match documents(model, node, stage) {
        Ok(documents) => draft.documents.extend(documents),
        Err(mut found) => return errors.append(&mut found),
    }
    let service = match &rendered.service {
        Ok(Some(service)) => service,
        Ok(None) => return,
        Err(found) => return errors.extend_from_slice(found),
    };
    let named = node.routing.as_deref().and_then(|plan| plan.service.as_ref());
    let mount =
        |name: &str, text: &str| json!({"content": text, "mountPath": format!("{}/{name}", service.folder)});
    let files: Vec<_> = match agent_config::agent_config(inputs, model, node, stage) {
        Ok(Some(agent)) => vec![mount(config::FILE, &agent.text())],
        Ok(None) => service.files.iter().map(|file| mount(file.name, &file.text)).collect(),
        Err(mut found) => return errors.append(&mut found),
    };
    let name = named.map_or(service.name, |name| name.value.as_str());
    draft.document("ExtensionServiceConfig", json!({"name": name, "configFiles": files}));
}
