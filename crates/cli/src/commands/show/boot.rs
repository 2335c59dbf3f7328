//! `show boot`: the image, boot media and install disk of each machine.

use std::io::Write;

use ichor_core::plan::NodePlan;
use ichor_core::render::base_image::BaseImage;
use ichor_core::render::boot_media;
use serde_json::{Value, json};

use super::{lines, text, write_list};
use crate::project::Project;
use crate::table;

pub(super) fn print(project: &Project, as_json: bool, out: &mut dyn Write) -> anyhow::Result<()> {
    if as_json {
        return write_list(out, project.plan.nodes.iter().map(object));
    }
    let rows: Vec<_> = project.plan.nodes.iter().map(row).collect();
    Ok(table::print(
        out,
        &["NODE", "TALOS", "PLATFORM", "IMAGE", "BOOT MEDIA", "INSTALL DISK", "PORTS"],
        &rows,
    )?)
}

fn extensions(node: &NodePlan) -> Vec<&str> {
    node.boot.extensions.iter().map(|extension| extension.value.as_str()).collect()
}

/// The base image that ichor builds for a node; `ichor build` reports errors.
fn base(node: &NodePlan) -> Option<BaseImage> {
    BaseImage::from_node(node).ok().flatten()
}

fn image(node: &NodePlan) -> String {
    lines([node.boot.image.value.to_string(), text(base(node).map(|base| base.stem()))])
}

fn row(node: &NodePlan) -> Vec<String> {
    let ports = node.ports.iter().map(|port| {
        format!("{} {}", port.name, text(port.mac.as_ref().map(|mac| mac.value))).trim_end().to_owned()
    });
    let server = node.boot.server.as_ref().map(|server| &server.value);
    vec![
        node.name.to_string(),
        node.talos.value.to_string(),
        format!("{} {}", node.platform.value, node.arch.value),
        image(node),
        lines([node.boot.from.value.to_string(), text(server), text(boot_media::file_name(node))]),
        text(node.boot.disk.as_ref().map(|disk| &disk.value)),
        lines(ports),
    ]
}

fn object(node: &NodePlan) -> Value {
    json!({
        "node": node.name.as_str(),
        "talos_version": node.talos.value.to_string(),
        "platform": node.platform.value.word(),
        "arch": node.arch.value.word(),
        "image": node.boot.image.value.to_string(),
        "image_name": base(node).map(|base| base.stem()),
        "installer_image": base(node).and_then(|base| base.installer()),
        "secure_boot": node.boot.secure_boot.value,
        "config_source": node.boot.from.value.word(),
        "config_media": boot_media::file_name(node).map(|name| format!("nodes/{}/{name}", node.name)),
        "boot_server": node.boot.server.as_ref().map(|server| server.value.as_str()),
        "install_disk": node.boot.disk.as_ref().map(|disk| &disk.value),
        "extensions": extensions(node),
    })
}
