//! Installation: the disk and the image.

use serde_json::{Value, json};

use super::contract::{Contract, Trait};
use super::{ConfigBuilder, document};
use ichor_values::TalosVersion;

/// The schematic without any customization.
const EMPTY_SCHEMATIC: &str = "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba";

/// The default installer image of a release.
///
/// From 1.14 on, only Image Factory publishes it.
pub fn installer_image(talos: &TalosVersion) -> String {
    if Contract::for_release(talos).has(Trait::InstallDocument) {
        format!("factory.talos.dev/metal-installer/{EMPTY_SCHEMATIC}:{talos}")
    } else {
        format!("ghcr.io/siderolabs/installer:{talos}")
    }
}

impl ConfigBuilder<'_> {
    /// `machine.install`, of the contracts that have it.
    pub(super) fn legacy_install(self) -> Option<Value> {
        let input = self.input;
        let args = &input.install_kernel_args;
        (!self.has(Trait::InstallDocument)).then(|| {
            json!({
                "disk": input.install_disk,
                "extraKernelArgs": (!args.is_empty()).then_some(args),
                "image": input.install_image,
                "wipe": false,
                "grubUseUKICmdline": self.has(Trait::GrubUkiCmdline).then_some(true),
            })
        })
    }

    /// UnattendedInstallConfig, which needs a disk.
    pub(super) fn install_document(self) -> Option<Value> {
        let disk = self.input.install_disk.as_ref().filter(|_| self.has(Trait::InstallDocument))?;
        let body = json!({
            "installer": {"image": self.input.install_image},
            "provisioning": {
                "diskSelector": {"match": format!("disk.dev_path == {disk:?}")},
                "wipe": false,
            },
        });
        Some(document("UnattendedInstallConfig", body))
    }
}
