//! The installer image: a machine runs it to install or upgrade Talos on its disk.
//!
//! [`installer`] adds a layer with boot files to the layers of a base, which are copied as stored:
//! `ghcr.io/siderolabs/installer-base`, or any installer. [`ImageLayout::pack`](crate::oci::ImageLayout::pack) packs the result, alone or
//! with that for the other architecture.

use std::collections::BTreeSet;
use std::io;

use crate::media::Content;
use crate::oci::{
    BlobSource, BlobStore, Digest, FileTree, Layer, LayerError, LayerUnpacker, LengthStore, NewImage,
    OciError, OciImage, TreeEntry, pack,
};
use ichor_values::Moment;

/// The folder of boot files in an installer.
const FOLDER: &str = "usr/install";

/// The programs that identify an installer image.
const PROGRAMS: [&str; 2] = ["usr/bin/installer", "bin/installer"];

/// The boot files of other installers, which would precede ours: before Talos 1.10 there was no unified kernel image, and that of
/// Secure Boot had a name of its own.
const OTHERS: [&str; 3] = ["initramfs.xz", "vmlinuz", "vmlinuz.efi.signed"];

/// The creator of the layer in the image history.
const MAKER: &str = "ichor image build";

/// The files that an installer writes to the disk.
#[derive(Clone, Debug)]
pub struct BootFiles {
    /// The UEFI boot loader: systemd-boot.
    pub loader: Content,
    /// The unified kernel image.
    pub kernel: Content,
}

/// An installer that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum InstallerError {
    /// Its base cannot be read.
    #[error("cannot read the installer base image")]
    Read(#[from] OciError),
    /// A layer of its base cannot be unpacked.
    #[error("cannot unpack layer {digest} of the installer base image")]
    Layer {
        /// The layer.
        digest: Digest,
        /// The problem.
        source: LayerError,
    },
    /// Its base is not an installer.
    #[error(
        "the base image is not an installer: /{} is missing; want ghcr.io/siderolabs/installer-base of the same release",
        PROGRAMS[0]
    )]
    Base,
    /// The store has no space for it.
    #[error("cannot pack the installer")]
    Pack(#[source] io::Error),
}

/// The installer for the architecture of its base.
pub fn installer(
    base: &OciImage,
    source: &mut dyn BlobSource,
    boot: &BootFiles,
    created: Moment,
    spool: &mut dyn BlobStore,
) -> Result<NewImage, InstallerError> {
    // As in Talos' imager: of two layers, the second has the boot files.
    let count = if base.layers() == 2 { 1 } else { base.layers() };
    let mut layers = base.store_layers(count, source, spool)?;
    let mut paths = paths(&layers)?;
    while layers.len() > 1 && paths.last().is_some_and(is_boot_layer) {
        layers.pop();
        paths.pop();
    }
    let files = files(base, boot, &paths);
    // The base has the folders already.
    let entries = files.iter().filter(|(path, _)| files.below(path).next().is_none());
    let top = pack(entries, spool).map_err(InstallerError::Pack)?;
    Ok(base.with_layers(layers, top, created, MAKER))
}

/// The paths that come with each layer of an installer.
fn paths(layers: &[Layer]) -> Result<Vec<BTreeSet<String>>, InstallerError> {
    let mut lengths = LengthStore;
    let mut unpack = LayerUnpacker::new(&mut lengths);
    let mut paths = Vec::new();
    for layer in layers {
        let unpacked = unpack.paths(layer.content.reader(), Some(&layer.diff_id));
        let digest = layer.descriptor.digest.clone();
        paths.push(unpacked.map_err(|source| InstallerError::Layer { digest, source })?);
    }
    let root = unpack.finish();
    if PROGRAMS.iter().all(|program| root.file(program).is_none()) {
        return Err(InstallerError::Base);
    }
    Ok(paths)
}

/// Whether a layer has only boot files.
fn is_boot_layer(paths: &BTreeSet<String>) -> bool {
    let is_below = |path: &String| path.starts_with(FOLDER) && path[FOLDER.len()..].starts_with('/');
    let is_above = |path: &String| FOLDER.starts_with(path.as_str());
    paths.iter().any(is_below) && paths.iter().all(|path| is_below(path) || is_above(path))
}

/// The files of the top layer: the boot files, and whiteouts of those of the base.
fn files(base: &OciImage, boot: &BootFiles, paths: &[BTreeSet<String>]) -> FileTree {
    let folder = format!("{FOLDER}/{}", base.arch);
    let mut root = FileTree::default();
    root.put(&format!("{folder}/systemd-boot.efi"), TreeEntry::file(0o644, boot.loader.clone()));
    root.put(&format!("{folder}/vmlinuz.efi"), TreeEntry::file(0o644, boot.kernel.clone()));
    for name in OTHERS {
        let other = format!("{folder}/{name}");
        if paths.iter().any(|layer| layer.contains(&other)) {
            root.put(&format!("{folder}/.wh.{name}"), TreeEntry::file(0o644, Content::default()));
        }
    }
    root
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use serde_json::{Value, json};

    use super::*;
    use crate::oci::{ImageLayout, MemoryStore, layer};
    use ichor_values::Arch;

    const KERNEL: &[u8] = b"a kernel";

    /// A layer with empty files.
    fn with(paths: &[&str]) -> Layer {
        let mut root = FileTree::default();
        for path in paths {
            root.put(path, TreeEntry::file(0o755, b""));
        }
        layer(&root, &mut MemoryStore::default()).unwrap()
    }

    fn program() -> Layer {
        with(&["usr/bin/installer", "usr/share/grub/x"])
    }

    /// An installer as others publish it, for amd64, with a line of history for each layer and one for none.
    fn base(layers: Vec<Layer>) -> ImageLayout {
        let sums: Vec<_> = layers.iter().map(|layer| layer.diff_id.to_string()).collect();
        let mut history: Vec<_> =
            (0..layers.len()).map(|nth| json!({"created_by": format!("{nth}")})).collect();
        history.insert(1, json!({"created_by": "ENTRYPOINT", "empty_layer": true}));
        let config = json!({
            "architecture": "amd64",
            "os": "linux",
            "config": {"Entrypoint": ["/bin/installer"], "Env": ["VERSION=v1.13.9"], "Labels": {"a": "b"}},
            "rootfs": {"type": "layers", "diff_ids": sums},
            "history": history,
        });
        ImageLayout::pack(
            &[NewImage { arch: Arch::Amd64, config: config.to_string().into_bytes(), layers }],
            "base",
        )
    }

    fn made(mut base: ImageLayout) -> Result<NewImage, InstallerError> {
        let image = OciImage::find(&mut base, Arch::Amd64)?;
        let boot = BootFiles { loader: b"systemd-boot".into(), kernel: KERNEL.into() };
        installer(&image, &mut base, &boot, Moment::from_unix(0).unwrap(), &mut MemoryStore::default())
    }

    /// The headers of the archive in a layer: path, mode and time.
    fn entries(layer: &Layer) -> Vec<(String, u32, u64)> {
        let mut plain = Vec::new();
        flate2::read::GzDecoder::new(layer.content.reader()).read_to_end(&mut plain).unwrap();
        let mut archive = tar::Archive::new(plain.as_slice());
        let entries = archive.entries().unwrap().map(|entry| {
            let entry = entry.unwrap();
            let (header, path) = (entry.header(), entry.path().unwrap().display().to_string());
            (path, header.mode().unwrap(), header.mtime().unwrap())
        });
        entries.collect()
    }

    fn names(layer: &Layer) -> Vec<String> {
        entries(layer).into_iter().map(|(path, ..)| path).collect()
    }

    fn digests(layers: &[Layer]) -> Vec<Digest> {
        layers.iter().map(|layer| layer.descriptor.digest.clone()).collect()
    }

    const OURS: [&str; 2] = ["usr/install/amd64/systemd-boot.efi", "usr/install/amd64/vmlinuz.efi"];

    #[test]
    fn one_layer_with_boot_files_is_added_to_the_base() {
        let program = program();
        let packed = made(base(vec![program.clone()])).unwrap();

        assert_eq!(packed.layers.len(), 2);
        assert_eq!(packed.layers[0].descriptor, program.descriptor);
        assert_eq!(packed.layers[0].content, program.content, "as it was stored");
        let want = OURS.map(|path| (path.to_owned(), 0o644, 0));
        assert_eq!(entries(&packed.layers[1]), want, "and no folders");

        let config: Value = serde_json::from_slice(&packed.config).unwrap();
        assert_eq!(config["config"]["Entrypoint"], json!(["/bin/installer"]));
        assert_eq!(config["config"]["Env"], json!(["VERSION=v1.13.9"]));
        assert_eq!(config["config"]["Labels"], json!({"a": "b"}));
        assert_eq!((&config["architecture"], &config["os"]), (&json!("amd64"), &json!("linux")));
        let sums = packed.layers.iter().map(|layer| json!(layer.diff_id.to_string()));
        assert_eq!(config["rootfs"]["diff_ids"], sums.collect::<Value>());
        let history: Vec<_> = config["history"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["created_by"].as_str().unwrap())
            .collect();
        assert_eq!(history, ["0", "ENTRYPOINT", MAKER]);
    }

    #[test]
    fn the_installer_is_reproducible() {
        let packed = || made(base(vec![program()])).unwrap();
        let mut layout = ImageLayout::pack(&[packed()], "v1.13.9");
        assert_eq!(layout.files, ImageLayout::pack(&[packed()], "v1.13.9").files);

        let image = OciImage::find(&mut layout, Arch::Amd64).unwrap();
        let root = image.unpack(&mut layout, &mut MemoryStore::default(), &|| {}).unwrap();

        assert_eq!(root.read(OURS[1]), Some(KERNEL));
        assert!(root.file("usr/bin/installer").is_some());
    }

    #[test]
    fn a_boot_layer_of_the_base_is_replaced() {
        let (program, theirs) = (program(), with(&OURS));
        let overlay = with(&["overlay/profile"]);
        let kept = |layers: &[&Layer]| {
            let packed = made(base(layers.iter().map(|layer| (*layer).clone()).collect())).unwrap();
            digests(&packed.layers[..packed.layers.len() - 1])
        };
        let digest = |layer: &Layer| layer.descriptor.digest.clone();

        assert_eq!(kept(&[&program, &theirs]), [digest(&program)]);
        assert_eq!(kept(&[&program, &overlay, &theirs]), [digest(&program), digest(&overlay)]);
        assert_eq!(kept(&[&program, &overlay, &overlay]).len(), 3, "what is something else stays");
    }

    #[test]
    fn boot_files_in_the_program_layer_get_whiteouts() {
        let squashed =
            with(&["bin/installer", "usr/install/amd64/vmlinuz", "usr/install/amd64/vmlinuz.efi", "usr/x"]);
        let packed = made(base(vec![squashed])).unwrap();
        assert_eq!(names(&packed.layers[1]), ["usr/install/amd64/.wh.vmlinuz", OURS[0], OURS[1]]);

        let mut layout = ImageLayout::pack(&[packed], "v1.13.9");
        let image = OciImage::find(&mut layout, Arch::Amd64).unwrap();
        let root = image.unpack(&mut layout, &mut MemoryStore::default(), &|| {}).unwrap();

        let left: Vec<_> = root.below("usr/install/amd64").map(|(path, _)| path).collect();
        assert_eq!(left, OURS);
        assert_eq!(root.read(OURS[1]), Some(KERNEL));
    }

    #[test]
    fn history_that_does_not_match_the_layers_is_dropped_and_media_types_become_oci() {
        let mut layers = vec![program(), with(&["a"]), with(&["b"])];
        let config = json!({
            "architecture": "amd64",
            "os": "linux",
            "rootfs": {"diff_ids": layers.iter().map(|layer| layer.diff_id.to_string()).collect::<Vec<_>>()},
            "history": [{"created_by": "all at once"}],
        });
        for layer in &mut layers {
            layer.descriptor.media_type = "application/vnd.docker.image.rootfs.diff.tar.gzip".to_owned();
        }
        let odd = NewImage { arch: Arch::Amd64, config: config.to_string().into_bytes(), layers };

        let packed = made(ImageLayout::pack(&[odd], "base")).unwrap();

        let config: Value = serde_json::from_slice(&packed.config).unwrap();
        assert_eq!(config["history"].as_array().unwrap().len(), 4, "one for each layer");
        assert_eq!(config["config"], json!({}));
        let kinds: BTreeSet<_> =
            packed.layers.iter().map(|layer| layer.descriptor.media_type.as_str()).collect();
        assert_eq!(kinds, BTreeSet::from(["application/vnd.oci.image.layer.v1.tar+gzip"]));
    }

    #[test]
    fn a_base_without_an_installer_is_rejected() {
        let refused = made(base(vec![with(&["usr/bin/imager"])])).unwrap_err();
        assert!(refused.to_string().contains("not an installer: /usr/bin/installer is missing"), "{refused}");

        let mut changed = base(vec![program()]);
        let largest = changed.files.values_mut().max_by_key(|content| content.len()).unwrap();
        let mut bytes = largest.read().unwrap();
        bytes[20] ^= 1;
        *largest = bytes.into();
        assert!(matches!(made(changed), Err(InstallerError::Read(OciError::Digest { .. }))));
    }
}
