//! Volumes: a CD, and for machines that are none of a hypervisor an image for a USB stick with the same files.

use std::sync::Arc;

use super::{path, refused};
use crate::plan::NodePlan;
use crate::render::artifact::Artifact;
use ichor_image::media::{Volume, VolumeError, fat, iso9660};
use ichor_values::Issue;

/// What a volume has, before there are bytes of it: a cluster may have thousands.
#[derive(Clone, PartialEq, Eq)]
pub struct BootVolume {
    form: VolumeFormat,
    label: &'static str,
    files: Arc<Vec<(&'static str, String)>>,
}

/// What a volume is on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum VolumeFormat {
    Cd,
    Stick,
}

impl BootVolume {
    /// The image.
    pub fn bytes(&self) -> Vec<u8> {
        let volume = volume(self.label, &self.files).expect("tried when it was made");
        match self.form {
            VolumeFormat::Cd => iso9660::write(&volume),
            VolumeFormat::Stick => fat::write(&volume),
        }
    }
}

/// A volume with this label, which is also the name of its files.
pub(crate) fn render(
    node: &NodePlan,
    label: &'static str,
    files: Vec<(&'static str, String)>,
) -> Result<Vec<Artifact>, Issue> {
    volume(label, &files).map_err(|errors| {
        let told: Vec<String> = errors.iter().map(ToString::to_string).collect();
        refused(node, &told.join("; "))
    })?;
    let files = Arc::new(files);
    let made = |form, ending| {
        let image = BootVolume { form, label, files: Arc::clone(&files) };
        Artifact::private(path(node, &format!("{label}.{ending}")), image)
    };
    let stick = node.vm.is_none().then(|| made(VolumeFormat::Stick, "img"));
    Ok([made(VolumeFormat::Cd, "iso")].into_iter().chain(stick).collect())
}

fn volume<'a>(label: &'a str, files: &'a [(&str, String)]) -> Result<Volume<'a>, Vec<VolumeError>> {
    Volume::new(label, files.iter().map(|(name, text)| (*name, text.as_bytes())).collect())
}
