//! The report of built images, as a table and JSON.

use std::io::{self, Write};
use std::path::Path;

use indicatif::BinaryBytes;
use serde_json::{Value, json};

use super::product::BuiltProduct;
use super::recipe::ImageRecipe;
use crate::image::Initramfs;
use crate::{style, table};

/// A built image.
pub(super) struct ImageReport<'a> {
    pub recipe: &'a ImageRecipe,
    pub initramfs: &'a Initramfs,
    pub made: &'a [BuiltProduct],
    /// Reference of the pushed installer, by digest.
    pub pushed: Option<String>,
}

impl ImageReport<'_> {
    /// Sizes of all parts.
    pub(super) fn rows(&self) -> Vec<Vec<String>> {
        let mut rows = Vec::new();
        let mut add = |image: &str, part: &str, size: u64| {
            rows.push(vec![image.to_owned(), part.to_owned(), BinaryBytes(size).to_string()]);
        };
        add(&self.recipe.stem, "initramfs", self.initramfs.content.len());
        for (part, size) in &self.initramfs.sizes {
            add("", &format!("  {part}"), *size);
        }
        for made in self.made {
            for (name, size) in &made.files {
                add(name, made.product.word(), *size);
            }
            for (part, size) in &made.sizes {
                add("", &format!("  {part}"), *size);
            }
        }
        rows
    }

    pub(super) fn json(&self, folder: &Path) -> Value {
        let part = |(name, size): &(String, u64)| json!({"part": name, "size_bytes": size});
        let product = |made: &BuiltProduct| {
            let file = |(name, size): &(String, u64)| json!({"path": folder.join(name).display().to_string(), "size_bytes": size});
            json!({
                "product": made.product.word(),
                "files": made.files.iter().map(file).collect::<Vec<_>>(),
                "parts": made.sizes.iter().map(part).collect::<Vec<_>>(),
                "warnings": made.warnings,
            })
        };
        let extension = |(name, version): &(String, String)| json!({"name": name, "version": version});
        let profile = &self.recipe.profile;
        json!({
            "name": self.recipe.stem,
            "talos_version": profile.talos.to_string(),
            "platform": profile.platform,
            "arch": profile.arch.word(),
            "kernel_command_line": profile.line.to_string(),
            "extensions": self.initramfs.extensions.iter().map(extension).collect::<Vec<_>>(),
            "initramfs": self.initramfs.sizes.iter().map(part).collect::<Vec<_>>(),
            "products": self.made.iter().map(product).collect::<Vec<_>>(),
            "installer_image": self.recipe.installer,
            "pinned_reference": self.pushed,
            "nodes": self.recipe.nodes,
        })
    }

    /// Prints each warning once.
    pub(super) fn warn(&self) {
        let mut printed: Vec<&str> = Vec::new();
        for warning in self.made.iter().flat_map(|made| &made.warnings) {
            if !printed.contains(&warning.as_str()) {
                printed.push(warning);
                let colour = style::WARNING;
                style::say(&format!("{colour}warning:{colour:#} {}: {warning}", self.recipe.stem));
            }
        }
    }
}

/// Prints a table of all images.
pub(super) fn print(out: &mut dyn Write, reports: &[ImageReport<'_>]) -> io::Result<()> {
    let rows: Vec<_> = reports.iter().flat_map(ImageReport::rows).collect();
    table::print(out, &["FILE", "PART", "SIZE"], &rows)
}
