//! Configuration volumes: an ISO, and for physical machines a USB image with the same files.

use std::sync::Arc;

use super::{medium_error, path};
use crate::plan::NodePlan;
use crate::render::artifact::Artifact;
use ichor_image::media::{Volume, VolumeError, fat, iso9660};
use ichor_values::Issue;

/// A volume that is written on demand: a cluster may have thousands.
#[derive(Clone, PartialEq, Eq)]
pub struct BootVolume {
    form: VolumeFormat,
    label: &'static str,
    files: Arc<Vec<(&'static str, String)>>,
}

/// Format of a volume.
#[derive(Clone, Copy, PartialEq, Eq)]
enum VolumeFormat {
    Cd,
    Stick,
}

impl BootVolume {
    /// Writes the image.
    pub fn bytes(&self) -> Vec<u8> {
        let volume = volume(self.label, &self.files).expect("validated in `render`");
        match self.form {
            VolumeFormat::Cd => iso9660::write(&volume),
            VolumeFormat::Stick => fat::write(&volume),
        }
    }
}

/// Renders a volume with this label, which is also the name of its image files.
pub(crate) fn render(
    node: &NodePlan,
    label: &'static str,
    files: Vec<(&'static str, String)>,
) -> Result<Vec<Artifact>, Issue> {
    volume(label, &files).map_err(|errors| {
        let reasons: Vec<String> = errors.iter().map(ToString::to_string).collect();
        medium_error(node, &reasons.join("; "))
    })?;
    let files = Arc::new(files);
    let artifact = |form, ending| {
        let image = BootVolume { form, label, files: Arc::clone(&files) };
        Artifact::private(path(node, &format!("{label}.{ending}")), image)
    };
    let stick = node.vm.is_none().then(|| artifact(VolumeFormat::Stick, "img"));
    Ok([artifact(VolumeFormat::Cd, "iso")].into_iter().chain(stick).collect())
}

fn volume<'a>(label: &'a str, files: &'a [(&str, String)]) -> Result<Volume<'a>, Vec<VolumeError>> {
    Volume::new(label, files.iter().map(|(name, text)| (*name, text.as_bytes())).collect())
}
