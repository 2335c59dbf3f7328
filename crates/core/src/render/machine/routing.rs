//! BGP on a node, in its configuration: the extension service of the daemon with what it reads, or the documents by which Talos
//! itself speaks; and the link to the speaker, where no agent makes it.

use serde_json::{Value, json};

use super::{Draft, Ground, RenderError, duty};
use crate::agent::config;
use crate::cluster::section::{Backend, Carrier, Routing};
use crate::model::Cluster;
use crate::plan::{NodePlan, RoutingPlan, Stage};
use crate::render::routing::{self, Order, Refusal, Routers, Service, Template, native};
use crate::routing::{Model, Protected};
use crate::rules::attachment::Attachments;

/// The service that runs a node's routing daemon; none where there is none.
pub fn service(
    ground: Ground<'_>,
    protected: &Protected,
    node: &NodePlan,
) -> Result<Option<Service>, Vec<RenderError>> {
    let (Some(plan), Some(routing)) = (node.routing.as_deref(), node.settings.routing.get()) else {
        return Ok(None);
    };
    let Some(model) = model(ground.cluster, protected, node)? else { return Ok(None) };
    let backend = plan.backend.value;
    let template = template(ground.attachments, routing, backend)
        .map_err(|reason| vec![RenderError::new(node.path(routing::TEMPLATE), reason)])?;
    let (version, options) = (routing.version.get(), routing::options(routing));
    let (carrier, routers) = (carrier(plan), &Routers::new());
    let order = Order { backend, carrier, model: &model, version, options: &options, template, routers };
    routing::render(order, ground.secret).map_err(|refusals| told(node, refusals))
}

pub(super) fn model(
    cluster: &Cluster,
    protected: &Protected,
    node: &NodePlan,
) -> Result<Option<Model>, Vec<RenderError>> {
    Model::of(cluster, node, protected).map_err(|error| {
        vec![RenderError::new(node.path(error.key), "it could not be derived, and nobody wrote it")]
    })
}

/// The template for a backend among the files of a cluster, if it has one.
pub fn template<'a>(
    attachments: &'a Attachments,
    routing: &'a Routing,
    backend: Backend,
) -> Result<Option<Template<'a>>, String> {
    let Some((_, path)) = routing.template.entries().find(|(of, _)| **of == backend) else { return Ok(None) };
    let path = path.value.as_str();
    match attachments.texts.get(path) {
        Some(Ok(text)) => Ok(Some(Template { path, text })),
        Some(Err(reason)) => Err(format!("{path} cannot be read: {reason}")),
        None => Err(format!("{path} was not read")),
    }
}

pub(super) fn carrier(plan: &RoutingPlan) -> Carrier {
    plan.carrier.as_ref().map_or(Carrier::Ichor, |carrier| carrier.value)
}

pub(super) fn told(node: &NodePlan, refusals: Vec<Refusal>) -> Vec<RenderError> {
    let told = |refusal: Refusal| RenderError::new(node.path(refusal.key), refusal.reason);
    refusals.into_iter().map(told).collect()
}

/// The documents by which Talos itself speaks BGP or makes the link to the speaker.
fn documents(
    ground: Ground<'_>,
    protected: &Protected,
    node: &NodePlan,
    stage: Stage,
) -> Result<Vec<Value>, Vec<RenderError>> {
    let Some(plan) = node.routing.as_deref() else { return Ok(Vec::new()) };
    let native = plan.backend.value == Backend::Native;
    if !native && carrier(plan) != Carrier::Official {
        return Ok(Vec::new());
    }
    let Some(model) = model(ground.cluster, protected, node)? else { return Ok(Vec::new()) };
    if native {
        return native::documents(&model, node, stage).map_err(|refusals| told(node, refusals));
    }
    Ok(native::speaker_link(&model, node, stage))
}

/// Adds service and documents. They are the same before and after the installation, but for an anycast address: the node is
/// reached by BGP in both.
pub fn add(
    draft: &mut Draft,
    ground: Ground<'_>,
    protected: &Protected,
    node: &NodePlan,
    stage: Stage,
    errors: &mut Vec<RenderError>,
) {
    match documents(ground, protected, node, stage) {
        Ok(documents) => draft.documents.extend(documents),
        Err(mut found) => return errors.append(&mut found),
    }
    let service = match service(ground, protected, node) {
        Ok(Some(service)) => service,
        Ok(None) => return,
        Err(mut found) => return errors.append(&mut found),
    };
    let named = node.settings.routing.get().and_then(|routing| routing.service.get());
    let mount =
        |name: &str, text: &str| json!({"content": text, "mountPath": format!("{}/{name}", service.folder)});
    let files: Vec<_> = match duty::of(ground, protected, node, stage) {
        Ok(Some(duty)) => vec![mount(config::FILE, &duty.text())],
        Ok(None) => service.files.iter().map(|file| mount(file.name, &file.text)).collect(),
        Err(mut found) => return errors.append(&mut found),
    };
    let name = named.map_or(service.name, |name| name.as_str());
    draft.document("ExtensionServiceConfig", json!({"name": name, "configFiles": files}));
}
