//! Installation disk and installer image.

use serde_json::{Map, Value, json};

use super::ConfigDraft;
use crate::cluster::section::{DiskSelect, DiskType, ImageSource};
use crate::plan::{ImagePlan, NodePlan};
use crate::render::base_image::BaseImage;
use crate::render::node_issue;
use crate::render::{image as images, schematic};
use ichor_talos::generate::contract::Trait;
use ichor_values::Issue;

/// Adds disk and image. A machine without an installation disk runs from the image it booted.
pub fn add(draft: &mut ConfigDraft, node: &NodePlan, errors: &mut Vec<Issue>) {
    let Some(disk) = &node.boot.disk else { return };
    let image = match installer(node) {
        Ok(image) => image,
        Err(error) => {
            errors.push(error);
            return;
        }
    };
    let (select, wipe) = (node.boot.select.as_ref().map(|select| &select.value), node.boot.wipe.value);
    if draft.has(Trait::InstallDocument) {
        let matches = match select {
            Some(select) => cel_expression(select),
            None => format!("disk.dev_path == {:?}", disk.value),
        };
        draft.document(
            "UnattendedInstallConfig",
            json!({
                "installer": {"image": image.unwrap_or_default()},
                "provisioning": {"diskSelector": {"match": matches}, "wipe": wipe},
            }),
        );
        return;
    }
    let mut install = Map::new();
    match select {
        Some(select) => install.insert("diskSelector".to_owned(), selector(select)),
        None => install.insert("disk".to_owned(), json!(disk.value)),
    };
    if let Some(image) = image {
        install.insert("image".to_owned(), json!(image));
    }
    install.insert("wipe".to_owned(), json!(wipe));
    if draft.has(Trait::GrubUkiCmdline) {
        install.insert("grubUseUKICmdline".to_owned(), json!(true));
    }
    draft.set("machine.install", Value::Object(install));
}

/// The installer image of a node, without its patches; none for Talos' default.
pub fn installer(node: &NodePlan) -> Result<Option<String>, Issue> {
    match &node.boot.image.value {
        ImagePlan::Given => {
            let given = node.boot.given.as_ref().and_then(|given| given.installer.as_ref());
            Ok(given.map(|installer| installer.value.to_string()))
        }
        ImagePlan::Made(ImageSource::Ichor) => {
            let base = BaseImage::from_node(node).map_err(|error| node_issue(node, &error))?;
            Ok(base.and_then(|base| base.installer()))
        }
        ImagePlan::Made(ImageSource::Factory) => {
            let schematic = schematic::node_schematic(node, None)
                .map_err(|error| Issue::error(node.path("image"), error.to_string()))?;
            Ok(Some(images::asset_request(node, &schematic.id()).installer(&images::factory(node))))
        }
    }
}

fn selector(select: &DiskSelect) -> Value {
    let mut selector = Map::new();
    let mut put = |key: &str, value: Option<String>| {
        if let Some(value) = value {
            selector.insert(key.to_owned(), json!(value));
        }
    };
    put("size", select.size.get().map(ToString::to_string));
    put("model", select.model.get().map(ToString::to_string));
    put("serial", select.serial.get().map(ToString::to_string));
    put("wwid", select.wwid.get().map(ToString::to_string));
    put("type", select.r#type.value().map(|kind| kind.word().to_owned()));
    put("busPath", select.bus_path.get().map(ToString::to_string));
    Value::Object(selector)
}

/// The selector as a CEL expression over `disk`, for documents.
fn cel_expression(select: &DiskSelect) -> String {
    let mut terms = Vec::new();
    if let Some(size) = select.size.get() {
        terms.push(size_term(size.as_str()));
    }
    for (field, pattern) in [
        ("model", select.model.get().map(ToString::to_string)),
        ("serial", select.serial.get().map(ToString::to_string)),
        ("wwid", select.wwid.get().map(ToString::to_string)),
        ("bus_path", select.bus_path.get().map(ToString::to_string)),
    ] {
        if let Some(pattern) = pattern {
            terms.push(if pattern.contains('*') {
                format!("glob({pattern:?}, disk.{field})")
            } else {
                format!("disk.{field} == {pattern:?}")
            });
        }
    }
    terms.extend(select.r#type.value().map(|kind| match kind {
        DiskType::Nvme => "disk.transport == \"nvme\"".to_owned(),
        DiskType::Ssd => "!disk.rotational && disk.transport != \"nvme\"".to_owned(),
        DiskType::Hdd => "disk.rotational".to_owned(),
        DiskType::Sd => "disk.transport == \"mmc\"".to_owned(),
    }));
    // Excludes the boot medium.
    terms.push("!system_disk".to_owned());
    terms.join(" && ")
}

/// Converts `>= 100GB` to a CEL term; unsigned numbers have the suffix `u`.
fn size_term(range: &str) -> String {
    let operators = [">=", "<=", "==", ">", "<"];
    let operator = operators.into_iter().find(|operator| range.starts_with(operator)).unwrap_or("==");
    let size = range.trim_start_matches(operator).trim();
    let bytes = ichor_talos::go::humanize::parse_bytes(size).unwrap_or_default();
    format!("disk.size {operator} {bytes}u")
}
