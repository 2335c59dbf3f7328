//! Base images: what ichor makes once for all nodes that are alike.
//!
//! [`BaseImage::of`] is the image of a node, where ichor makes it, and [`bases`] are those of a cluster, each with its nodes. A name follows
//! from what goes in: nodes that need the same share a file and an installer, and a new one never takes the place of an old one. So
//! everything else can name them before there are any.
//!
//! Not here: making them ([`image`](ichor_image::build)), and those of the Image Factory ([`schematic`]).

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::schematic::{self, NodeSchematicError, line};
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

/// Where `ichor build` writes which images have to be made.
pub const LIST: &str = "images.json";

/// So much of a sum tells images apart.
const DIGITS: usize = 12;

/// What goes into the images of nodes that are alike.
#[derive(Clone, Debug, PartialEq)]
pub struct BaseImage {
    /// The release.
    pub talos: TalosVersion,
    /// What the machines are.
    pub platform: Platform,
    /// Their architecture.
    pub arch: Arch,
    /// Whether they boot nothing that is not signed.
    pub secure_boot: bool,
    /// Extensions, kernel arguments and META.
    pub schematic: Schematic,
    /// The extension with the routing daemon and the agent, by the name of its service; none where no node needs it.
    pub routing: Option<String>,
    /// The node whose first configuration is inside of what it boots, where there is one.
    pub embeds: Option<String>,
    /// Where installers and extensions are.
    pub registry: Option<String>,
}

impl BaseImage {
    /// What a node boots; none where it is not ichor that makes it.
    pub fn of(node: &NodePlan) -> Result<Option<Self>, NodeSchematicError> {
        if node.boot.image.value != ImagePlan::Made(ImageSource::Ichor) {
            return Ok(None);
        }
        let embeds = (node.boot.from.value == BootFrom::Embedded).then(|| node.name.to_string());
        Ok(Some(Self {
            talos: node.talos.value.clone(),
            platform: node.platform.value,
            arch: node.arch.value,
            secure_boot: node.boot.secure_boot.value,
            schematic: schematic::of(node, None)?,
            routing: routing(node),
            embeds,
            registry: node.boot.registry.as_ref().map(|registry| registry.value.to_string()),
        }))
    }

    /// What the installer of these images is: it has neither META nor a first configuration, which an installed machine has on its disk.
    fn installed(&self) -> Self {
        let schematic = Schematic { meta: Vec::new(), ..self.schematic.clone() };
        Self { schematic, embeds: None, ..self.clone() }
    }

    /// The first digits of the sum of what goes in.
    fn id(&self) -> String {
        let routing = self.routing.as_ref().map(|name| format!("routing: {name}\n")).unwrap_or_default();
        let mut id = digest::sha256(format!("{}{routing}", self.schematic.canonical()).as_bytes());
        id.truncate(DIGITS);
        id
    }

    /// What its files are called, without what they end in.
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

    /// What the installer is called in a registry, after the release, what it runs on, and what is in it.
    pub fn tag(&self) -> String {
        let Self { talos, platform, arch, .. } = self;
        let secure = if self.secure_boot { "-secureboot" } else { "" };
        format!("{talos}-{}-{}{secure}-{}", platform.word(), arch.word(), self.installed().id())
    }

    /// The reference of the installer; none where no registry is named.
    pub fn installer(&self) -> Option<String> {
        self.registry.as_ref().map(|registry| format!("{registry}/installer:{}", self.tag()))
    }

    /// What the kernel is told, without META.
    pub fn command_line(&self) -> Line {
        line(&self.talos, self.platform.word(), self.arch, self.secure_boot, &[], &self.schematic.kernel_args)
    }

    /// What META holds.
    pub fn meta(&self) -> Vec<meta::Value> {
        let value = |(key, value): &(u8, String)| meta::Value { key: *key, value: value.clone() };
        self.schematic.meta.iter().map(value).collect()
    }
}

/// The extension service of a node's routing, where it is ichor's own.
pub fn routing(node: &NodePlan) -> Option<String> {
    let routing = node.routing.as_deref()?;
    routing.carrier.as_ref().filter(|carrier| carrier.value == Carrier::Ichor)?;
    routing.service.as_ref().map(|service| service.value.clone())
}

/// A base image, who needs it, and as what.
#[derive(Clone, Debug)]
pub struct RequiredImage {
    /// What goes in.
    pub base: BaseImage,
    /// The nodes, in the order of the file.
    pub nodes: Vec<String>,
    /// What is made of it, in the order of the products.
    pub products: Vec<Product>,
}

/// The base images that the nodes of a cluster need, in the order of their names.
pub fn bases(plan: &Plan) -> Result<Vec<RequiredImage>, (&NodePlan, NodeSchematicError)> {
    let mut bases: BTreeMap<String, RequiredImage> = BTreeMap::new();
    for node in &plan.nodes {
        let Some(base) = BaseImage::of(node).map_err(|error| (node, error))? else { continue };
        let entry = bases.entry(base.stem());
        let wanted = entry.or_insert_with(|| RequiredImage { base, nodes: Vec::new(), products: Vec::new() });
        wanted.nodes.push(node.name.to_string());
        wanted.products.extend(products(node));
        wanted.products.sort_unstable();
        wanted.products.dedup();
    }
    Ok(bases.into_values().collect())
}

/// What a node needs of its image: something to boot, and what installs it.
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

/// The list of the images that have to be made, for programs.
pub fn list(wanted: &[RequiredImage]) -> String {
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
        bases(&crate::plan::plan(&cluster)).unwrap()
    }

    #[test]
    fn nodes_that_need_the_same_share_an_image() {
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
