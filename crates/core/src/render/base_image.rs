//! Base images, which ichor builds once for all nodes that can share them.
//!
//! [`BaseImage::from_node`] is the image of a node, and [`required_images`] are those of a cluster with their nodes. The name
//! is derived from the contents: nodes with the same requirements share a file and an installer, a new image never replaces an
//! old one, and other files can refer to an image before it is built.
//!
//! Not here: building them ([`image`](ichor_image::build)), and images of the Image Factory ([`schematic`]).

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::schematic::{self, NodeSchematicError, image_command_line};
use crate::cluster::section::{BootDevice, BootFrom, ImageSource, Platform};
use crate::plan::{ImagePlan, NodePlan, Plan};
use ichor_bgp::setting::Carrier;
use ichor_image::build::Product;
use ichor_talos::digest;
use ichor_talos::kernel_args::Line;
use ichor_talos::meta;
use ichor_talos::schematic::Schematic;
use ichor_values::Arch;
use ichor_values::TalosVersion;

/// File with the list of images to build.
pub const LIST: &str = "images.json";

/// Number of digits of the digest in a name.
const DIGITS: usize = 12;

/// The contents of an image that several nodes can share.
#[derive(Clone, Debug, PartialEq)]
pub struct BaseImage {
    /// Talos release.
    pub talos: TalosVersion,
    /// Talos platform.
    pub platform: Platform,
    /// Architecture.
    pub arch: Arch,
    /// Whether it is for secure boot.
    pub secure_boot: bool,
    /// Extensions, kernel arguments and META.
    pub schematic: Schematic,
    /// Service name of the extension with the routing daemon and the agent; none without it.
    pub routing: Option<String>,
    /// The node whose first configuration is embedded, if any.
    pub embeds: Option<String>,
    /// Registry of installers and extensions.
    pub registry: Option<String>,
}

impl BaseImage {
    /// The image of a node; none if ichor does not build it.
    pub fn from_node(node: &NodePlan) -> Result<Option<Self>, NodeSchematicError> {
        if node.boot.image.value != ImagePlan::Made(ImageSource::Ichor) {
            return Ok(None);
        }
        let embeds = (node.boot.from.value == BootFrom::Embedded).then(|| node.name.to_string());
        Ok(Some(Self {
            talos: node.talos.value.clone(),
            platform: node.platform.value,
            arch: node.arch.value,
            secure_boot: node.boot.secure_boot.value,
            schematic: schematic::node_schematic(node, None)?,
            routing: routing_extension(node),
            embeds,
            registry: node.boot.registry.as_ref().map(|registry| registry.value.to_string()),
        }))
    }

    /// The contents of the installer: without META and first configuration, which an installed machine has on its disk.
    fn installer_contents(&self) -> Self {
        let schematic = Schematic { meta: Vec::new(), ..self.schematic.clone() };
        Self { schematic, embeds: None, ..self.clone() }
    }

    /// The first digits of a digest of the contents.
    fn id(&self) -> String {
        let routing = self.routing.as_ref().map(|name| format!("routing: {name}\n")).unwrap_or_default();
        let mut id = digest::sha256(format!("{}{routing}", self.schematic.canonical()).as_bytes());
        id.truncate(DIGITS);
        id
    }

    /// The name of its files without extension.
    pub fn stem(&self) -> String {
        let Self { talos, platform, arch, .. } = self;
        match &self.embeds {
            Some(node) => format!("{node}-talos-{talos}"),
            None => {
                let secure = if self.secure_boot { "-secureboot" } else { "" };
                format!("talos-{talos}-{}-{}-{}{secure}", self.id(), platform.word(), arch.word())
            }
        }
    }

    /// The tag of the installer in a registry: release, platform, architecture and digest of the contents.
    pub fn tag(&self) -> String {
        let Self { talos, platform, arch, .. } = self;
        let secure = if self.secure_boot { "-secureboot" } else { "" };
        format!("{talos}-{}-{}{secure}-{}", platform.word(), arch.word(), self.installer_contents().id())
    }

    /// The image reference of the installer; none without a registry.
    pub fn installer(&self) -> Option<String> {
        self.registry.as_ref().map(|registry| format!("{registry}/installer:{}", self.tag()))
    }

    /// The kernel command line, without META.
    pub fn command_line(&self) -> Line {
        image_command_line(
            &self.talos,
            self.platform.word(),
            self.arch,
            self.secure_boot,
            &[],
            &self.schematic.kernel_args,
        )
    }

    /// The values in META.
    pub fn meta(&self) -> Vec<meta::Value> {
        let value = |(key, value): &(u8, String)| meta::Value { key: *key, value: value.clone() };
        self.schematic.meta.iter().map(value).collect()
    }
}

/// The service name of ichor's routing extension on a node, if the node has it.
pub fn routing_extension(node: &NodePlan) -> Option<String> {
    let routing = node.routing.as_deref()?;
    routing.carrier.as_ref().filter(|carrier| carrier.value == Carrier::Ichor)?;
    routing.service.as_ref().map(|service| service.value.clone())
}

/// A base image with its nodes and products.
#[derive(Clone, Debug)]
pub struct RequiredImage {
    /// The contents.
    pub base: BaseImage,
    /// The nodes, in the order of the file.
    pub nodes: Vec<String>,
    /// The products to build, sorted.
    pub products: Vec<Product>,
}

/// The base images that the nodes of a cluster require, sorted by name.
pub fn required_images(plan: &Plan) -> Result<Vec<RequiredImage>, (&NodePlan, NodeSchematicError)> {
    let mut bases: BTreeMap<String, RequiredImage> = BTreeMap::new();
    for node in &plan.nodes {
        let Some(base) = BaseImage::from_node(node).map_err(|error| (node, error))? else { continue };
        let entry = bases.entry(base.stem());
        let wanted = entry.or_insert_with(|| RequiredImage { base, nodes: Vec::new(), products: Vec::new() });
        wanted.nodes.push(node.name.to_string());
        wanted.products.extend(products(node));
        wanted.products.sort_unstable();
        wanted.products.dedup();
    }
    Ok(bases.into_values().collect())
}

/// The products that a node requires: one to boot, and the installer.
fn products(node: &NodePlan) -> Vec<Product> {
    let boots = match (node.platform.value, node.boot.from.value) {
        (Platform::Gcp, _) => Product::Gcp,
        (_, BootFrom::Netboot | BootFrom::Early | BootFrom::Inline) => Product::Netboot,
        (Platform::Metal | Platform::Nocloud, _) => match &node.vm {
            None => Product::Iso,
            Some(vm) if vm.boot.value.contains(&BootDevice::Cdrom) => Product::Iso,
            Some(vm) if vm.boot.value.contains(&BootDevice::Net) => Product::Netboot,
            Some(_) => Product::Qcow2,
        },
        _ => Product::Disk,
    };
    let installs = node.boot.disk.is_some().then_some(Product::Installer);
    [boots].into_iter().chain(installs).collect()
}

/// The list of images to build, as JSON.
pub fn images_json(wanted: &[RequiredImage]) -> String {
    let image = |wanted: &RequiredImage| {
        let RequiredImage { base, nodes, products } = wanted;
        let stem = base.stem();
        let files: Vec<_> = products.iter().flat_map(|product| product.files(&stem)).collect();
        let installer = products.contains(&Product::Installer).then(|| base.installer()).flatten();
        json!({
            "name": stem,
            "talos_version": base.talos.to_string(),
            "platform": base.platform.word(),
            "arch": base.arch.word(),
            "secure_boot": base.secure_boot,
            "extensions": base.schematic.extensions,
            "routing_extension": base.routing,
            "kernel_arguments": base.schematic.kernel_args,
            "embedded_config_node": base.embeds,
            "products": products.iter().map(|product| product.word()).collect::<Vec<_>>(),
            "file_names": files,
            "installer_image": installer,
            "nodes": nodes,
        })
    };
    let images: Vec<Value> = wanted.iter().map(image).collect();
    format!("{:#}\n", json!({"images": images}))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::{FileError, Files, load};

    struct SingleFileSource(&'static str);

    impl Files for SingleFileSource {
        fn read(&mut self, _: &str) -> Result<Vec<u8>, FileError> {
            Ok(self.0.as_bytes().to_vec())
        }

        fn find(&mut self, _: &str) -> Result<Vec<String>, FileError> {
            Ok(Vec::new())
        }
    }

    fn wanted(nodes: &'static str) -> Vec<RequiredImage> {
        let loaded = load("ichor.yaml", &mut SingleFileSource(nodes));
        let cluster = crate::model::validate(loaded.file, loaded.problems).unwrap();
        required_images(&crate::plan::plan(&cluster)).unwrap()
    }

    #[test]
    fn nodes_with_equal_requirements_share_an_image() {
        let found = wanted(concat!(
            "cluster: {name: sol, id: 101, talos: v1.13.9}\n",
            "image: {source: ichor, registry: ghcr.io/me}\n",
            "defaults: {platform: nocloud, install: {disk: /dev/sda}}\n",
            "nodes:\n",
            "  - {name: a, role: controlplane, index: 1, macs: [bc:24:11:00:00:11]}\n",
            "  - {name: b, role: worker, index: 2, macs: [bc:24:11:00:00:12]}\n",
            "  - {name: c, role: worker, index: 3, macs: [bc:24:11:00:00:13], extensions: [siderolabs/gvisor]}\n",
            "  - {name: d, role: worker, index: 4, macs: [bc:24:11:00:00:14], arch: arm64}\n",
        ));

        let nodes: Vec<_> = found.iter().map(|wanted| wanted.nodes.join(" ")).collect();
        assert_eq!(nodes.len(), 3, "{nodes:?}");
        assert!(nodes.contains(&"a b".to_owned()), "{nodes:?}");
        for wanted in &found {
            assert_eq!(wanted.products, [Product::Iso, Product::Installer]);
            let reference = wanted.base.installer().unwrap();
            assert_eq!(reference, format!("ghcr.io/me/installer:{}", wanted.base.tag()));
        }
    }
}
