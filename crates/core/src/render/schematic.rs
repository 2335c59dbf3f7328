//! The schematic of one node for the Image Factory.
//!
//! [`node_schematic`] starts from `image.schematic` and adds extensions, kernel arguments, the overlay of a single-board
//! computer, META, the embedded configuration, and the argument for the configuration volume. Everyone who knows its ID can
//! read a schematic, so one with a secret is rejected. [`command_line`] is the kernel command line of its images.
//!
//! Not here: the schematic's text and ID ([`talos::schematic`](ichor_talos::schematic)).

use crate::cluster::section::BootFrom;
use crate::plan::NodePlan;
use ichor_talos::kernel_args::Line;
use ichor_talos::schematic::{Overlay, Schematic, SchematicError};
use ichor_talos::{document, meta, release, secret_value};
use ichor_values::Arch;
use ichor_values::TalosVersion;
use ichor_values::go_yaml::emit;

use super::platform_network;

/// Why a node has no schematic.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NodeSchematicError {
    /// `image.schematic` is invalid.
    #[error("`image.schematic` of {node}: {source}")]
    Written {
        /// The node.
        node: String,
        /// The error.
        source: SchematicError,
    },
    /// It would publish a secret.
    #[error("the schematic of {node} would publish a secret: {}; everyone who knows its ID can read it", keys.join(", "))]
    Secret {
        /// The node.
        node: String,
        /// Key paths of the secrets.
        keys: Vec<String>,
    },
    /// The overlay is unknown, and so is its image.
    #[error(
        "`{name}` is not an official overlay; write it as `image: {{schematic: {{overlay: {{image: …, name: {name}}}}}}}`"
    )]
    Overlay {
        /// The overlay.
        name: String,
    },
    /// The release does not support embedded configurations.
    #[error("{node}: an embedded configuration requires Talos 1.12, and its release is {talos}")]
    Embedded {
        /// The node.
        node: String,
        /// Its release.
        talos: String,
    },
}

/// Official overlays by image.
const OVERLAYS: [(&str, &[&str]); 4] = [
    ("siderolabs/sbc-raspberrypi", &["rpi_generic", "rpi_5"]),
    (
        "siderolabs/sbc-rockchip",
        &[
            "helios64",
            "nanopi-r4s",
            "nanopi-r5s",
            "orangepi-5",
            "orangepi-5-plus",
            "orangepi-r1-plus-lts",
            "rock4cplus",
            "rock4se",
            "rock5a",
            "rock5b",
            "rock64",
            "rockpi4",
            "rockpi4c",
            "turingrk1",
        ],
    ),
    ("siderolabs/sbc-allwinner", &["bananapi_m64", "libretech_all_h3_cc_h5", "pine64"]),
    ("siderolabs/sbc-jetson", &["jetson_nano"]),
];

/// The schematic of `node`; `embedded` is the configuration embedded in its image, if any.
pub fn node_schematic(node: &NodePlan, embedded: Option<&str>) -> Result<Schematic, NodeSchematicError> {
    let name = || node.name.to_string();
    let mut schematic = match &node.boot.schematic {
        Some(any) => Schematic::read(&emit::emit(&document::from_any(&any.value)))
            .map_err(|source| NodeSchematicError::Written { node: name(), source })?,
        None => Schematic::default(),
    };
    for extension in &node.boot.extensions {
        if !schematic.extensions.contains(&extension.value) {
            schematic.extensions.push(extension.value.clone());
        }
    }
    schematic.kernel_args.extend(node.kernel.args.iter().map(|arg| arg.value.clone()));
    let is_set = schematic.kernel_args.iter().any(|arg| arg.starts_with("talos.config="));
    if node.boot.from.value == BootFrom::MetalIso && !is_set {
        schematic.kernel_args.push("talos.config=metal-iso".to_owned());
    }
    if let Some(sbc) = &node.boot.sbc
        && schematic.overlay == Overlay::default()
    {
        schematic.overlay = overlay(sbc.value.as_str())?;
    }
    if node.boot.from.value == BootFrom::Meta && !schematic.meta.iter().any(|(key, _)| *key == meta::NETWORK)
    {
        schematic.meta.push((meta::NETWORK, platform_network::text(node)));
    }
    if let Some(config) = embedded {
        if !release::at_least(&node.talos.value, 12) {
            let talos = node.talos.value.to_string();
            return Err(NodeSchematicError::Embedded { node: name(), talos });
        }
        config.clone_into(&mut schematic.embedded_config);
    }
    reject_secrets(node, schematic)
}

/// The command line of a node's images with META values, as on ISOs and in netboot; disk images have them in a partition.
pub fn command_line(node: &NodePlan, schematic: &Schematic) -> Line {
    let values: Vec<_> =
        schematic.meta.iter().map(|(key, value)| meta::Value { key: *key, value: value.clone() }).collect();
    let (talos, platform, arch) = (&node.talos.value, node.platform.value.word(), node.arch.value);
    image_command_line(talos, platform, arch, node.boot.secure_boot.value, &values, &schematic.kernel_args)
}

/// The command line of an image: arguments of the release and platform, META values, and additional arguments.
pub fn image_command_line(
    talos: &TalosVersion,
    platform: &str,
    arch: Arch,
    secure_boot: bool,
    values: &[meta::Value],
    args: &[String],
) -> Line {
    let mut line = Line::defaults(talos, platform, arch.word());
    if secure_boot {
        line.add("lockdown=confidentiality");
    }
    if !values.is_empty() {
        line.add(&format!("talos.environment={}={}", meta::VARIABLE, meta::encode(values, true)));
    }
    line.customize(args);
    line
}

fn overlay(name: &str) -> Result<Overlay, NodeSchematicError> {
    let image = OVERLAYS.iter().find(|(_, names)| names.contains(&name)).map(|(image, _)| *image);
    let image = image.ok_or_else(|| NodeSchematicError::Overlay { name: name.to_owned() })?;
    Ok(Overlay::new(image, name))
}

fn reject_secrets(node: &NodePlan, schematic: Schematic) -> Result<Schematic, NodeSchematicError> {
    let keys = secret_value::in_schematic(&schematic.to_value());
    if keys.is_empty() {
        Ok(schematic)
    } else {
        Err(NodeSchematicError::Secret { node: node.name.to_string(), keys })
    }
}
