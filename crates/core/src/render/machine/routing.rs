//! The routing daemon's extension service: what it reads, in the configuration.

use serde_json::json;

use super::{Draft, Ground, RenderError};
use crate::cluster::section::{Backend, BootFrom, Carrier};
use crate::plan::{NodePlan, Stage};
use crate::render::routing::frr::{self, Files};
use crate::routing::{Model, Protected};

/// Folder of FRR's files on the node.
const FOLDER: &str = "/usr/local/etc/frr";

/// What FRR reads on a node; none where it does not run.
pub fn files(
    ground: Ground<'_>,
    protected: &Protected,
    node: &NodePlan,
) -> Result<Option<Files>, Vec<RenderError>> {
    let (Some(plan), Some(routing)) = (node.routing.as_deref(), node.settings.routing.get()) else {
        return Ok(None);
    };
    let carried = plan.carrier.as_ref().is_some_and(|carrier| carrier.value == Carrier::Ichor);
    if plan.backend.value != Backend::Frr || !carried {
        return Ok(None);
    }
    let model = Model::of(ground.cluster, node, protected).map_err(|error| {
        vec![RenderError::new(node.path(error.key), "it could not be derived, and nobody wrote it")]
    })?;
    let Some(model) = model else { return Ok(None) };
    let files = frr::render(&model, routing, ground.secret).map_err(|refusals| {
        refusals
            .into_iter()
            .map(|refusal| RenderError::new(node.path(refusal.key), refusal.reason))
            .collect::<Vec<_>>()
    })?;
    Ok(Some(files))
}

/// Adds the service. It is the same before and after the installation: the node is reached by BGP in both.
pub fn add(
    draft: &mut Draft,
    ground: Ground<'_>,
    protected: &Protected,
    node: &NodePlan,
    stage: Stage,
    errors: &mut Vec<RenderError>,
) {
    let files = match files(ground, protected, node) {
        Ok(Some(files)) => files,
        Ok(None) => return,
        Err(mut found) => return errors.append(&mut found),
    };
    if stage == Stage::Boot && node.boot.from.value == BootFrom::Embedded && has_password(node) {
        let reason = "the image carries the configuration, and with it the password of a session to everybody who has the \
                      image; start the machine another way than `embedded`";
        return errors.push(RenderError::new(node.path("boot.from"), reason));
    }
    let service = node.settings.routing.get().and_then(|routing| routing.service.get());
    let file =
        |name: &str, content: &str| json!({"content": content, "mountPath": format!("{FOLDER}/{name}")});
    draft.document(
        "ExtensionServiceConfig",
        json!({
            "name": service.map_or("frr", |service| service.as_str()),
            "configFiles": [file("frr.conf", &files.conf), file("daemons", &files.daemons)],
        }),
    );
}

fn has_password(node: &NodePlan) -> bool {
    let routing = node.routing.as_deref();
    routing.is_some_and(|routing| routing.neighbors.iter().any(|neighbor| neighbor.password.is_some()))
}
