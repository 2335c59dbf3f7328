//! BGP on a node, in its configuration: the extension service of the daemon with what it reads, or the documents by which Talos
//! itself speaks; and the link to the speaker, where no agent makes it.

use serde_json::{Value, json};

use super::{ConfigDraft, Ground, duty};
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

/// The BGP of a node, made once for all of its files.
#[derive(Debug)]
pub struct NodeRouting {
    /// What it means; none where the node does not route.
    pub model: Option<BgpModel>,
    /// The extension service of the daemon, or why it cannot be made; none where no daemon runs.
    pub service: Result<Option<Service>, Vec<Issue>>,
}

/// Makes the BGP of a node.
pub fn of(
    ground: Ground<'_>,
    protected: &ProtectedPrefixes,
    node: &NodePlan,
) -> Result<NodeRouting, Vec<Issue>> {
    let Some(model) = model(protected, node)? else {
        return Ok(NodeRouting { model: None, service: Ok(None) });
    };
    let service = service(ground, &model, node);
    Ok(NodeRouting { model: Some(model), service })
}

fn service(ground: Ground<'_>, model: &BgpModel, node: &NodePlan) -> Result<Option<Service>, Vec<Issue>> {
    let Some(plan) = node.routing.as_deref() else { return Ok(None) };
    let backend = plan.backend.value;
    let template = template(ground.attachments, plan)
        .map_err(|error| vec![Issue::error(node.path(routing::TEMPLATE), error.to_string())])?;
    let (version, options) = (plan.version.as_ref().map(|version| &version.value), plan.options());
    let (carrier, routers) = (carrier(plan), &RouterAddresses::new());
    let order = RenderRequest { backend, carrier, model, version, options: &options, template, routers };
    routing::render(order, ground.secret).map_err(|issues| of_node(node, issues))
}

pub(super) fn model(protected: &ProtectedPrefixes, node: &NodePlan) -> Result<Option<BgpModel>, Vec<Issue>> {
    crate::routing::model(node, protected).map_err(|error| {
        vec![Issue::error(node.path(error.key), "it could not be derived, and nobody wrote it")]
    })
}

/// Why the template of a node cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TemplateFileError {
    /// Its file has no text.
    #[error("{path} cannot be read: {reason}")]
    Unread {
        /// The path as written.
        path: String,
        /// Why not.
        reason: AttachmentError,
    },
    /// Its file is not among those of the cluster.
    #[error("{path} was not read")]
    NotGathered {
        /// The path as written.
        path: String,
    },
}

/// The template of a node among the files of a cluster, if it has one.
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

/// What is wrong under keys of a node, under the keys of the file.
pub(super) fn of_node(node: &NodePlan, issues: Vec<Issue>) -> Vec<Issue> {
    issues.into_iter().map(|issue| Issue { subject: node.path(&issue.subject), ..issue }).collect()
}

/// The documents by which Talos itself speaks BGP or makes the link to the speaker.
fn documents(model: &BgpModel, node: &NodePlan, stage: ConfigStage) -> Result<Vec<Value>, Vec<Issue>> {
    let Some(plan) = node.routing.as_deref() else { return Ok(Vec::new()) };
    if plan.backend.value == Backend::Native {
        return native::documents(model, node, stage).map_err(|issues| of_node(node, issues));
    }
    if carrier(plan) != Carrier::Official {
        return Ok(Vec::new());
    }
    Ok(native::speaker_link(model, node, stage))
}

/// Adds service and documents. They are the same before and after the installation, but for an anycast address: the node is
/// reached by BGP in both.
pub fn add(
    draft: &mut ConfigDraft,
    ground: Ground<'_>,
    made: &NodeRouting,
    node: &NodePlan,
    stage: ConfigStage,
    errors: &mut Vec<Issue>,
) {
    let Some(model) = &made.model else { return };
    match documents(model, node, stage) {
        Ok(documents) => draft.documents.extend(documents),
        Err(mut found) => return errors.append(&mut found),
    }
    let service = match &made.service {
        Ok(Some(service)) => service,
        Ok(None) => return,
        Err(found) => return errors.extend_from_slice(found),
    };
    let named = node.routing.as_deref().and_then(|plan| plan.service.as_ref());
    let mount =
        |name: &str, text: &str| json!({"content": text, "mountPath": format!("{}/{name}", service.folder)});
    let files: Vec<_> = match duty::of(ground, model, node, stage) {
        Ok(Some(duty)) => vec![mount(config::FILE, &duty.text())],
        Ok(None) => service.files.iter().map(|file| mount(file.name, &file.text)).collect(),
        Err(mut found) => return errors.append(&mut found),
    };
    let name = named.map_or(service.name, |name| name.value.as_str());
    draft.document("ExtensionServiceConfig", json!({"name": name, "configFiles": files}));
}
