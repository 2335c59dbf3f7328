//! Volumes: a CD, and for machines that are none of a hypervisor an image for a USB stick with the same files.

use super::{path, refused};
use crate::media::{Volume, fat, iso9660};
use crate::plan::NodePlan;
use crate::render::artifact::Artifact;
use crate::render::machine::RenderError;

/// A volume with this label, which is also the name of its files.
pub fn render(node: &NodePlan, label: &str, files: &[(&str, String)]) -> Result<Vec<Artifact>, RenderError> {
    let files = files.iter().map(|(name, text)| (*name, text.as_bytes())).collect();
    let volume = Volume::new(label, files).map_err(|errors| {
        let told: Vec<String> = errors.iter().map(ToString::to_string).collect();
        refused(node, &told.join("; "))
    })?;
    let mut made = vec![Artifact::private(path(node, &format!("{label}.iso")), iso9660::write(&volume))];
    if node.vm.is_none() {
        made.push(Artifact::private(path(node, &format!("{label}.img")), fat::write(&volume)));
    }
    Ok(made)
}
