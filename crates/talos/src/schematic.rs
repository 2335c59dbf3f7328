//! Schematics: the input from which the Image Factory makes an image.
//!
//! [`Schematic::read`] is as strict as the factory is. [`Schematic::canonical`] is the text the factory makes of it, and
//! [`Schematic::id`] the hash of that text, which identifies its images. [`Schematic::factory_issues`] lists texts for which
//! releases of the factory have another ID or no image.
//!
//! Not here: where the images are ([`asset`](super::asset)), and the schematic of a node
//! (`ichor_core::render::schematic`).

mod factory_issue;

use serde_json::{Value, json};

pub use self::factory_issue::FactoryIssue;
use crate::digest;
use crate::go::key_order;
use crate::schema_reader::SchemaReader;
use ichor_values::go_yaml::emit;
use ichor_values::go_yaml::emit::{Emit as Emits, EmitContext, Emitter};
use ichor_values::go_yaml::reader as yaml;
use ichor_values::go_yaml::reader::{YamlNode, YamlValue};
use ichor_values::go_yaml::scalar::{Leniency, ScalarValue};

/// The extension that every image of the Image Factory has; its version is the id of the schematic.
pub const EXTENSION: &str = "schematic";

/// A customised image, described.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Schematic {
    /// The overlay of a single-board computer.
    pub overlay: Overlay,
    /// Machine configuration inside the image.
    pub embedded_config: String,
    /// Kernel arguments.
    pub kernel_args: Vec<String>,
    /// META values.
    pub meta: Vec<(u8, String)>,
    /// Official system extensions, such as `siderolabs/tailscale`.
    pub extensions: Vec<String>,
    /// Boot loader: `dual-boot`, `grub`, `sd-boot`, or nothing, which leaves it to the factory.
    pub bootloader: String,
    /// When keys are enrolled: `off`, `manual`, `if-safe`, `force`, or nothing.
    pub enroll_keys: String,
    /// Whether Microsoft's certificates are enrolled too.
    pub well_known_certificates: bool,
    /// Bytes per sector of the disk image; 0 for the usual.
    pub sector_size: u64,
}

/// The overlay of a single-board computer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overlay {
    /// Image it comes from.
    pub image: String,
    /// Its name in there.
    pub name: String,
    /// Its options, sorted the way Go sorts.
    options: Vec<(String, OptionValue)>,
}

/// A value of an overlay's options.
#[derive(Clone, Debug, PartialEq)]
enum OptionValue {
    /// Written without quotes.
    Word(String),
    Text(String),
    List(Vec<OptionValue>),
    Map(Vec<(String, OptionValue)>),
}

/// Why a schematic is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SchematicError {
    /// There is nothing in it.
    #[error("nothing in it; the smallest schematic is `customization: {{}}`")]
    Empty,
    /// It is not YAML.
    #[error(transparent)]
    NotYaml(#[from] yaml::SyntaxError),
    /// Some values do not fit.
    #[error("{}", .0.join("\n"))]
    Faults(Vec<String>),
}

/// The keys of `customization`.
pub const CUSTOMIZATION: [&str; 7] = [
    "embeddedMachineConfiguration",
    "extraKernelArgs",
    "meta",
    "systemExtensions",
    "bootloader",
    "secureboot",
    "diskImage",
];

impl Schematic {
    /// Reads a schematic from YAML or JSON. Documents after the first do not count, as for the factory.
    pub fn read(text: &str) -> Result<Schematic, SchematicError> {
        let root = yaml::first(text)?.ok_or(SchematicError::Empty)?;
        let mut typed = SchemaReader::new(Leniency::NONE);
        let mut schematic = Schematic::default();
        for (name, value) in
            typed.known_fields(&root, "", &["owner", "overlay", "customization"]).unwrap_or_default()
        {
            match name.as_str() {
                "owner" => refuse_owner(&mut typed, value),
                "overlay" => schematic.overlay = Overlay::read(&mut typed, value),
                "customization" => schematic.customize(&mut typed, value),
                _ => {}
            }
        }
        typed
            .finish(schematic)
            .map_err(|faults| SchematicError::Faults(faults.iter().map(ToString::to_string).collect()))
    }

    fn customize(&mut self, typed: &mut SchemaReader, node: &YamlNode) {
        for (name, value) in typed.known_fields(node, "customization", &CUSTOMIZATION).unwrap_or_default() {
            let path = format!("customization.{name}");
            match name.as_str() {
                "embeddedMachineConfiguration" => self.embedded_config = text(typed, value, &path),
                "extraKernelArgs" => self.kernel_args = texts(typed, value, &path),
                "meta" => self.meta = metas(typed, value, &path),
                "bootloader" => self.bootloader = bootloader(typed, value, &path),
                "systemExtensions" => {
                    for (name, value) in
                        typed.known_fields(value, &path, &["officialExtensions"]).unwrap_or_default()
                    {
                        if name == "officialExtensions" {
                            self.extensions = texts(typed, value, &format!("{path}.{name}"));
                        }
                    }
                }
                "secureboot" => self.secure(typed, value, &path),
                "diskImage" => {
                    for (name, value) in typed.known_fields(value, &path, &["sectorSize"]).unwrap_or_default()
                    {
                        if name == "sectorSize" {
                            let size = typed.number(value, &format!("{path}.{name}"), (0, u64::MAX.into()));
                            self.sector_size = size.and_then(|size| u64::try_from(size).ok()).unwrap_or(0);
                        }
                    }
                }
                _ => {}
            }
        }
    }

    fn secure(&mut self, typed: &mut SchemaReader, node: &YamlNode, path: &str) {
        let names = ["enrollKeys", "includeWellKnownCertificates"];
        for (name, value) in typed.known_fields(node, path, &names).unwrap_or_default() {
            let path = format!("{path}.{name}");
            match name.as_str() {
                "enrollKeys" => self.enroll_keys = text(typed, value, &path),
                "includeWellKnownCertificates" => {
                    self.well_known_certificates = typed.flag(value, &path).unwrap_or(false);
                }
                _ => {}
            }
        }
    }

    /// The text the factory makes of it.
    pub fn canonical(&self) -> String {
        emit::as_go(&self.tree())
    }

    /// Its name at the factory: the SHA-256 of its canonical text.
    pub fn id(&self) -> String {
        digest::sha256(self.canonical().as_bytes())
    }

    /// Its customisation as a value, for searches.
    pub fn to_value(&self) -> Value {
        let meta: Vec<_> = self.meta.iter().map(|(key, value)| json!({"key": key, "value": value})).collect();
        json!({"customization": {"embeddedMachineConfiguration": self.embedded_config,
            "extraKernelArgs": self.kernel_args, "meta": meta}})
    }

    /// Its fields in the factory's order, without empty ones.
    fn tree(&self) -> OptionValue {
        let mut root = Vec::new();
        if self.overlay != Overlay::default() {
            let Overlay { image, name, options } = &self.overlay;
            let mut overlay = vec![
                entry("image", OptionValue::Text(image.clone())),
                entry("name", OptionValue::Text(name.clone())),
            ];
            if !options.is_empty() {
                overlay.push(entry("options", OptionValue::Map(options.clone())));
            }
            root.push(entry("overlay", OptionValue::Map(overlay)));
        }
        root.push(entry("customization", OptionValue::Map(self.customization())));
        OptionValue::Map(root)
    }

    fn customization(&self) -> Vec<(String, OptionValue)> {
        let mut secure = Vec::new();
        push_text(&mut secure, "enrollKeys", &self.enroll_keys);
        if self.well_known_certificates {
            secure.push(entry("includeWellKnownCertificates", OptionValue::Word("true".to_owned())));
        }
        let meta = self.meta.iter().map(|(key, value)| {
            OptionValue::Map(vec![
                entry("key", OptionValue::Word(key.to_string())),
                entry("value", OptionValue::Text(value.clone())),
            ])
        });
        let mut all = Vec::new();
        push_text(&mut all, "embeddedMachineConfiguration", &self.embedded_config);
        push_list(
            &mut all,
            "extraKernelArgs",
            self.kernel_args.iter().cloned().map(OptionValue::Text).collect(),
        );
        push_list(&mut all, "meta", meta.collect());
        let mut extensions = Vec::new();
        push_list(
            &mut extensions,
            "officialExtensions",
            self.extensions.iter().cloned().map(OptionValue::Text).collect(),
        );
        push_map(&mut all, "systemExtensions", extensions);
        push_text(&mut all, "bootloader", &self.bootloader);
        push_map(&mut all, "secureboot", secure);
        if self.sector_size != 0 {
            let size = entry("sectorSize", OptionValue::Word(self.sector_size.to_string()));
            all.push(entry("diskImage", OptionValue::Map(vec![size])));
        }
        all
    }
}

/// Owners are for the enterprise edition of the factory.
fn refuse_owner(typed: &mut SchemaReader, node: &YamlNode) {
    if typed.text(node, "owner").is_some_and(|owner| !owner.is_empty()) {
        typed.fault(node, "`owner` is for the enterprise edition of the factory");
    }
}

fn entry(name: &str, value: OptionValue) -> (String, OptionValue) {
    (name.to_owned(), value)
}

fn push_text(entries: &mut Vec<(String, OptionValue)>, name: &str, text: &str) {
    if !text.is_empty() {
        entries.push(entry(name, OptionValue::Text(text.to_owned())));
    }
}

fn push_list(entries: &mut Vec<(String, OptionValue)>, name: &str, items: Vec<OptionValue>) {
    if !items.is_empty() {
        entries.push(entry(name, OptionValue::List(items)));
    }
}

fn push_map(entries: &mut Vec<(String, OptionValue)>, name: &str, map: Vec<(String, OptionValue)>) {
    if !map.is_empty() {
        entries.push(entry(name, OptionValue::Map(map)));
    }
}

fn text(typed: &mut SchemaReader, node: &YamlNode, path: &str) -> String {
    typed.text(node, path).unwrap_or_default()
}

fn texts(typed: &mut SchemaReader, node: &YamlNode, path: &str) -> Vec<String> {
    let items = typed.items(node, path).unwrap_or_default();
    items.iter().filter_map(|item| typed.text(item, path)).collect()
}

fn metas(typed: &mut SchemaReader, node: &YamlNode, path: &str) -> Vec<(u8, String)> {
    let mut all = Vec::new();
    for item in typed.items(node, path).unwrap_or_default() {
        let Some(entries) = typed.known_fields(item, path, &["key", "value"]) else { continue };
        let mut meta = (0, String::new());
        for (name, value) in entries {
            let path = format!("{path}.{name}");
            match name.as_str() {
                "key" => {
                    let key = typed.number(value, &path, (0, 255));
                    meta.0 = key.and_then(|key| u8::try_from(key).ok()).unwrap_or(0);
                }
                "value" => meta.1 = text(typed, value, &path),
                _ => {}
            }
        }
        all.push(meta);
    }
    all
}

impl Overlay {
    /// An overlay without options.
    pub fn new(image: impl Into<String>, name: impl Into<String>) -> Overlay {
        Overlay { image: image.into(), name: name.into(), options: Vec::new() }
    }

    fn read(typed: &mut SchemaReader, node: &YamlNode) -> Overlay {
        let mut overlay = Overlay::default();
        for (name, value) in
            typed.known_fields(node, "overlay", &["image", "name", "options"]).unwrap_or_default()
        {
            match name.as_str() {
                "image" => overlay.image = text(typed, value, "overlay.image"),
                "name" => overlay.name = text(typed, value, "overlay.name"),
                "options" => overlay.options = sorted_options(typed, value, "overlay.options"),
                _ => {}
            }
        }
        overlay
    }
}

fn sorted_options(typed: &mut SchemaReader, node: &YamlNode, path: &str) -> Vec<(String, OptionValue)> {
    let entries = typed.entries(node, path).unwrap_or_default();
    let mut entries: Vec<_> =
        entries.into_iter().map(|(name, value)| (name, OptionValue::read(typed, value, path))).collect();
    entries.sort_by(|(one, _), (other, _)| key_order::compare(one, other));
    entries
}

impl OptionValue {
    fn read(typed: &mut SchemaReader, node: &YamlNode, path: &str) -> OptionValue {
        let text = match &node.body {
            YamlValue::List(items) => {
                return OptionValue::List(
                    items.iter().map(|item| OptionValue::read(typed, item, path)).collect(),
                );
            }
            YamlValue::Map(_) => return OptionValue::Map(sorted_options(typed, node, path)),
            YamlValue::Plain(text) | YamlValue::Text(text) => text,
        };
        match node.word().unwrap_or(ScalarValue::Text) {
            ScalarValue::Null | ScalarValue::Merge => OptionValue::Word("null".to_owned()),
            ScalarValue::Bool(flag) => OptionValue::Word(flag.to_string()),
            ScalarValue::Int(number) => OptionValue::Word(number.to_string()),
            ScalarValue::Uint(number) => OptionValue::Word(number.to_string()),
            ScalarValue::Float(number) => OptionValue::Word(emit::float(number)),
            ScalarValue::Time(time) => OptionValue::Word(time),
            ScalarValue::Text => OptionValue::Text(text.clone()),
        }
    }
}

impl Emits for OptionValue {
    fn write(&self, page: &mut Emitter, inside: EmitContext) {
        match self {
            OptionValue::Word(word) => page.plain(word),
            OptionValue::Text(text) => page.text(text, inside),
            OptionValue::List(items) => page.list(items, inside),
            OptionValue::Map(entries) => {
                page.map(entries.iter().map(|(name, value)| (name.as_str(), value)), inside);
            }
        }
    }
}

/// The boot loaders that the factory's code accepts. Its manual has `auto` as well, which the code rejects.
const BOOTLOADERS: [&str; 4] = ["none", "dual-boot", "sd-boot", "grub"];

fn bootloader(typed: &mut SchemaReader, node: &YamlNode, path: &str) -> String {
    let Some(text) = typed.text(node, path) else { return String::new() };
    let word = text.to_lowercase();
    match BOOTLOADERS.iter().find(|known| **known == word) {
        Some(&"none") => String::new(),
        Some(known) => (*known).to_owned(),
        None => {
            let known = BOOTLOADERS[1..].join(", ");
            typed.fault(node, format_args!("`{path}` takes {known}; by default the factory chooses"));
            String::new()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(text: &str) -> Vec<String> {
        match Schematic::read(text) {
            Err(SchematicError::Faults(faults)) => faults,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn an_id_is_the_hash_of_the_canonical_text() {
        let tailscale =
            Schematic { extensions: vec!["siderolabs/tailscale".to_owned()], ..Schematic::default() };

        assert_eq!(Schematic::default().canonical(), "customization: {}\n");
        assert_eq!(
            Schematic::default().id(),
            "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba"
        );
        assert_eq!(tailscale.id(), "4a0d65c669d46663f377e7161e50cfd570c401f26fd9e7bda34a0216b6f1922b");
    }

    #[test]
    fn every_fault_is_named_with_its_line() {
        let text = "customisation: {}\ncustomization:\n  meta: [{key: 300}, {key: '1'}]\n  bootloader: auto\n  extraKernelArgs: a\n  \
                    embeddedMachineConfiguration: 2001-01-01\n";

        let faults = faults(text);

        assert_eq!(faults.len(), 6, "{faults:?}");
        assert_eq!(faults[0], "line 1: unknown key `customisation`; did you mean `customization`?");
        assert!(faults[1].starts_with("line 3: `customization.meta.key` takes a whole number"), "{faults:?}");
    }

    #[test]
    fn null_is_empty_and_words_are_text() {
        let text = "customization: {extraKernelArgs: [1, ~, on, 1.10], bootloader: SD-Boot, meta: ~, secureboot: \
                    {includeWellKnownCertificates: on, enrollKeys: off}}";

        let want = "customization:\n    extraKernelArgs:\n        - \"1\"\n        - 'on'\n        - \"1.10\"\n    bootloader: sd-boot\n    \
                    secureboot:\n        enrollKeys: 'off'\n        includeWellKnownCertificates: true\n";
        assert_eq!(Schematic::read(text).unwrap().canonical(), want);
        assert_eq!(Schematic::read("---\n").unwrap(), Schematic::default());
        assert_eq!(Schematic::read("# nothing\n"), Err(SchematicError::Empty));
        assert!(Schematic::read("a: [").is_err());
        assert!(Schematic::read("[]").is_err());
    }

    #[test]
    fn options_keep_their_types_and_are_sorted_as_go_sorts() {
        let text = "overlay: {name: n, image: i, options: {b10: .inf, b9: 2001-01-01, a: [~, 0x10, x], B: {z: 1, y: '1'}, _: 1e6}}";

        let want = "overlay:\n    image: i\n    name: \"n\"\n    options:\n        _: 1e+06\n        B:\n            \"y\": \"1\"\n";
        let text = Schematic::read(text).unwrap().canonical();
        assert!(text.contains("b9: 2001-01-01T00:00:00Z\n        b10: .inf\n"), "{text}");
        assert!(text.contains("a:\n            - null\n            - 16\n            - x\n"), "{text}");
        assert!(text.starts_with(&want.replace('"', "'").replace("'1'", "\"1\"")), "{text}");
    }

    #[test]
    fn aliases_and_merge_keys_are_expanded() {
        let text = "customization: {<<: &x {extraKernelArgs: [a]}}\noverlay: {image: &i img, name: *i}\n";

        let schematic = Schematic::read(text).unwrap();

        assert_eq!((schematic.kernel_args, schematic.overlay.name), (vec!["a".to_owned()], "img".to_owned()));
    }
}
