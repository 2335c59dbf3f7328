//! Images of other builders: valid, corrupt and hostile.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::{self, Cursor, Read, Write};
use std::rc::Rc;
use std::sync::Arc;

use ichor_image::media::Content;
use ichor_image::oci::{
    Archive, ArchiveError, ArchivedLayout, BlobSource, BlobStore, BlobWriter, Descriptor, Digest, FileTree,
    ImageLayout, ImageUpload, LAYOUT, LIST, Layer, LayerError, MemoryStore, NewImage, OciError, OciImage,
    SourceError, TreeEntry, layer,
};
use ichor_values::Arch;
use ichor_values::Moment;
use proptest::prelude::*;
use serde_json::{Value, json};

/// A layout in memory, whose files can be changed.
struct LayoutFiles(BTreeMap<String, Vec<u8>>);

impl BlobSource for LayoutFiles {
    fn top(&mut self) -> Result<Vec<u8>, SourceError> {
        Ok(self.0.get(LIST).ok_or("no list")?.clone())
    }

    fn blob(&mut self, descriptor: &Descriptor) -> Result<Box<dyn Read + '_>, SourceError> {
        Ok(Box::new(self.0.get(&descriptor.digest.path()).ok_or("no such blob")?.as_slice()))
    }
}

fn root(text: &str) -> FileTree {
    let mut root = FileTree::default();
    root.put("usr/bin/x", TreeEntry::file(0o755, text.as_bytes()));
    root.put("bin", TreeEntry::link("usr/bin"));
    root
}

fn packed(archs: &[Arch]) -> ImageLayout {
    let pack = |arch: &Arch| {
        let layer = layer(&root(arch.word()), &mut MemoryStore::default()).unwrap();
        NewImage::single_layer(*arch, layer, Moment::from_unix(0).unwrap())
    };
    let images: Vec<_> = archs.iter().map(pack).collect();
    ImageLayout::pack(&images, "1.0")
}

fn memory(layout: &ImageLayout) -> LayoutFiles {
    LayoutFiles(layout.files.iter().map(|(path, content)| (path.clone(), content.read().unwrap())).collect())
}

fn archive(layout: &ImageLayout) -> Vec<u8> {
    let mut bytes = Vec::new();
    layout.archive(&mut bytes).unwrap();
    bytes
}

fn open(bytes: &[u8]) -> Result<ArchivedLayout, ArchiveError> {
    Archive::open(bytes, &mut MemoryStore::default())?.layout()
}

fn unpack(image: &OciImage, source: &mut dyn BlobSource) -> Result<FileTree, OciError> {
    image.unpack(source, &mut MemoryStore::default(), &|| {})
}

fn list(memory: &LayoutFiles) -> Value {
    serde_json::from_slice(&memory.0[LIST]).unwrap()
}

#[test]
fn a_packed_image_is_read_back() {
    for archs in [&[Arch::Amd64][..], &[Arch::Arm64], &[Arch::Amd64, Arch::Arm64]] {
        let mut layout = packed(archs);
        let mut archive = open(&archive(&layout)).unwrap();
        let mut files = memory(&layout);
        for (source, what) in
            [(&mut layout as &mut dyn BlobSource, "made"), (&mut files, "files"), (&mut archive, "archive")]
        {
            let images = OciImage::all(source).unwrap();
            assert_eq!(images.iter().map(|image| image.arch).collect::<Vec<_>>(), archs, "{what}");
            for image in images {
                assert_eq!(unpack(&image, source).unwrap(), root(image.arch.word()), "{what}");
            }
        }
    }
}

#[test]
fn the_same_files_give_the_same_bytes() {
    let both = [Arch::Amd64, Arch::Arm64];
    assert_eq!(archive(&packed(&both)), archive(&packed(&both)));
}

#[test]
fn several_architectures_form_one_index() {
    let layout = packed(&[Arch::Amd64, Arch::Arm64]);
    let mut memory = memory(&layout);
    assert_eq!(memory.0[LAYOUT], br#"{"imageLayoutVersion":"1.0.0"}"#);

    let list = list(&memory);
    let items = list["manifests"].as_array().unwrap();
    let names: Vec<_> = items
        .iter()
        .map(|it| it["annotations"]["org.opencontainers.image.ref.name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["1.0-amd64", "1.0-arm64", "1.0"]);

    let shipment = ImageUpload::collect(&mut memory).unwrap();
    assert_eq!(shipment.blobs.len(), 4);
    let kinds: Vec<_> = shipment.documents.iter().map(|(descriptor, _)| descriptor.is_index()).collect();
    assert_eq!(kinds, [false, false, true], "each after what it names");
    assert_eq!(shipment.documents[2].0.digest, layout.digest);
}

#[test]
fn a_missing_architecture_is_reported_with_the_existing_ones() {
    let mut memory = memory(&packed(&[Arch::Amd64]));

    let refused = OciImage::find(&mut memory, Arch::Arm64).unwrap_err().to_string();

    assert_eq!(refused, "no image for linux/arm64; found linux/amd64");
}

#[test]
fn changed_blobs_are_rejected() {
    let packed_image = packed(&[Arch::Amd64]);
    let blobs: Vec<_> =
        packed_image.files.keys().filter(|path| path.starts_with("blobs/")).cloned().collect();
    assert_eq!(blobs.len(), 3);
    for path in &blobs {
        for (change, want) in [
            ((|bytes: &mut Vec<u8>| bytes[10] ^= 1) as fn(&mut Vec<u8>), "is corrupt: its SHA-256 is"),
            (|bytes| bytes.truncate(bytes.len() - 1), "it may be truncated"),
            (|bytes| bytes.push(0), "it may be truncated"),
        ] {
            let mut memory = memory(&packed_image);
            change(memory.0.get_mut(path).unwrap());
            let read = OciImage::find(&mut memory, Arch::Amd64).and_then(|image| unpack(&image, &mut memory));
            let error = read.unwrap_err().to_string();
            assert!(error.contains(want), "{path}: {error}");
        }
        let mut memory = memory(&packed_image);
        memory.0.remove(path);
        let read = OciImage::find(&mut memory, Arch::Amd64).and_then(|image| unpack(&image, &mut memory));
        assert!(matches!(read, Err(OciError::Source { .. })), "{path}");
    }
}

/// The list of a layout with another text in it.
fn refusal(list: impl Into<Vec<u8>>) -> String {
    let mut memory = memory(&packed(&[Arch::Amd64]));
    memory.0.insert(LIST.to_owned(), list.into());
    OciImage::all(&mut memory).unwrap_err().to_string()
}

#[test]
fn invalid_documents_are_rejected() {
    let digest = format!("sha256:{}", "0".repeat(64));
    let kind = "application/vnd.oci.image.manifest.v1+json";
    let item = json!({"mediaType": kind, "digest": digest, "size": 1_u64 << 40});
    for (list, want) in [
        (json!([]), "neither an image manifest nor an index"),
        (json!({"manifests": {}}), "`manifests` is not a list"),
        (json!({"manifests": [{}]}), "has no digest"),
        (json!({"manifests": [{"digest": "sha256:../../etc/passwd"}]}), "is not a SHA-256 digest"),
        (json!({"manifests": [{"digest": digest, "size": -1}]}), "has no size"),
        (json!({"manifests": [item]}), "at most 4194304"),
        (json!({"manifests": vec![item.clone(); 1001]}), "more than 1000 items"),
        (json!({"schemaVersion": 1}), "Docker schema 1 manifest"),
    ] {
        let message = refusal(list.to_string());
        assert!(message.contains(want), "{want}: {message}");
    }
    assert!(refusal("{").contains("not JSON"));
    assert!(refusal("[".repeat(100_000)).contains("not JSON"));
    assert!(refusal(vec![b' '; (4 << 20) + 1]).contains("at most 4194304"));
}

#[test]
fn nested_indexes_are_limited() {
    let mut memory = memory(&packed(&[Arch::Amd64]));
    for _ in 0..5 {
        let bytes = memory.0[LIST].clone();
        let descriptor = Descriptor::of_blob("application/vnd.oci.image.index.v1+json", &bytes);
        let (digest, size) = (descriptor.digest.to_string(), descriptor.size);
        memory.0.insert(descriptor.digest.path(), bytes);
        let list =
            json!({"manifests": [{"mediaType": descriptor.media_type, "digest": digest, "size": size}]});
        memory.0.insert(LIST.to_owned(), list.to_string().into_bytes());
    }

    assert!(OciImage::all(&mut memory).unwrap_err().to_string().contains("indexes are nested too deeply"));
    assert!(
        ImageUpload::collect(&mut memory).unwrap_err().to_string().contains("indexes are nested too deeply")
    );
}

#[test]
fn index_entries_that_are_not_images_are_skipped() {
    let packed_image = packed(&[Arch::Amd64]);
    let mut memory = memory(&packed_image);
    let mut list = list(&memory);
    let digest = format!("sha256:{}", "0".repeat(64));
    let kind = "application/vnd.oci.image.manifest.v1+json";
    let items = list["manifests"].as_array_mut().unwrap();
    let attestation = json!({"architecture": "unknown", "os": "unknown"});
    items.insert(0, json!({"mediaType": kind, "digest": digest, "size": 1, "platform": attestation}));
    items.insert(0, json!({"mediaType": "application/x-other", "digest": digest, "size": 1}));
    memory.0.insert(LIST.to_owned(), list.to_string().into_bytes());

    assert_eq!(OciImage::find(&mut memory, Arch::Amd64).unwrap().digest, packed_image.digest);
}

#[test]
fn other_archives_are_rejected_with_a_hint() {
    let message = |root: &FileTree| {
        let tar = layer(root, &mut MemoryStore::default()).unwrap().content.read().unwrap();
        open(&tar).unwrap_err().to_string()
    };
    let mut docker = FileTree::default();
    docker.put("manifest.json", TreeEntry::file(0o644, b"[]"));

    assert!(message(&root("x")).contains("index.json is missing"));
    assert!(message(&docker).contains("skopeo copy docker-archive:"));
    assert!(open(b"not a tar archive, and not empty").is_err());
}

#[test]
fn an_extension_archive_needs_no_image() {
    let mut root = FileTree::default();
    root.put("manifest.yaml", TreeEntry::file(0o644, b"version: v1alpha1\n"));
    root.put("rootfs/usr/local/bin/x", TreeEntry::file(0o755, b"x"));
    let tar = || layer(&root, &mut MemoryStore::default()).unwrap().content.read().unwrap();

    let Ok(Archive::Extension(found)) = Archive::open(tar().as_slice(), &mut MemoryStore::default()) else {
        panic!("not seen")
    };

    assert_eq!(found, root);
    assert!(open(&tar()).unwrap_err().to_string().contains("an extension without an image"));
}

/// Gives a few bytes at a time, as a network may.
struct ChunkReader<'b>(&'b [u8], usize);

impl Read for ChunkReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = buffer.len().min(self.1);
        self.0.read(&mut buffer[..length])
    }
}

/// A layout whose blobs come so.
struct SlowSource(LayoutFiles, usize);

impl BlobSource for SlowSource {
    fn top(&mut self) -> Result<Vec<u8>, SourceError> {
        self.0.top()
    }

    fn blob(&mut self, descriptor: &Descriptor) -> Result<Box<dyn Read + '_>, SourceError> {
        let blob = self.0.0.get(&descriptor.digest.path()).ok_or("no such blob")?;
        Ok(Box::new(ChunkReader(blob, self.1)))
    }
}

/// Pretends to keep contents outside of memory.
struct ExternalStore;

impl BlobStore for ExternalStore {
    fn write(&mut self, fill: BlobWriter<'_>) -> io::Result<Content> {
        let mut bytes = Vec::new();
        fill(&mut bytes)?;
        Ok(Content::from_image(Arc::new(bytes)))
    }
}

fn entry() -> impl Strategy<Value = TreeEntry> {
    let label = prop::option::of("[a-z:_]{1,200}");
    let kind = prop_oneof![
        Just(TreeEntry::folder()),
        prop_oneof!["[a-z./]{1,100}", "[a-z]{101,300}"].prop_map(TreeEntry::link),
        (0_u32..0o10000, prop::collection::vec(any::<u8>(), 0..2000))
            .prop_map(|(mode, bytes)| TreeEntry::file(mode, bytes)),
        // Longer than what stays in memory.
        Just(TreeEntry::file(0o644, vec![7; (1 << 20) + 1])),
    ];
    (label, kind).prop_map(|(label, entry)| TreeEntry { label, ..entry })
}

fn tree() -> impl Strategy<Value = FileTree> {
    let path = prop::collection::vec("[a-z]{1,60}", 1..5).prop_map(|steps| steps.join("/"));
    prop::collection::vec((path, entry()), 0..8).prop_map(|entries| {
        let mut root = FileTree::default();
        for (path, entry) in entries {
            root.put(&path, entry);
        }
        root
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn every_tree_is_read_back_in_chunks_of_any_size(tree in tree(), step in 1_usize..5000, place in any::<prop::sample::Index>()) {
        let made = layer(&tree, &mut ExternalStore).unwrap();
        let again = layer(&tree, &mut MemoryStore::default()).unwrap();
        prop_assert_eq!(&made.content, &again.content);
        let (digest, size) = (made.descriptor.digest.path(), made.descriptor.size);
        let image = NewImage::single_layer(Arch::Amd64, made, Moment::from_unix(0).unwrap());
        let mut network = SlowSource(memory(&ImageLayout::pack(&[image], "1")), step);
        let image = OciImage::find(&mut network, Arch::Amd64).unwrap();

        prop_assert_eq!(image.unpack(&mut network, &mut ExternalStore, &|| {}).unwrap(), tree.clone());

        let at = place.index(usize::try_from(size).unwrap());
        network.0.0.get_mut(&digest).unwrap()[at] ^= 1;
        let changed = image.unpack(&mut network, &mut ExternalStore, &|| {});
        prop_assert!(matches!(changed, Err(OciError::Digest { .. })), "{:?}", changed.err());
    }
}

/// How many bytes were read, and how many of them are kept.
#[derive(Clone, Default)]
struct ReadProgress {
    read: Rc<Cell<u64>>,
    kept: Rc<Cell<u64>>,
}

impl ReadProgress {
    /// Asserts that little data is buffered.
    fn assert_streamed(&self) {
        assert!(self.read.get() - self.kept.get() < 1 << 20, "{} of {}", self.kept.get(), self.read.get());
    }
}

struct CountingReader<R>(R, ReadProgress);

impl<R: Read> Read for CountingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.0.read(buffer)?;
        self.1.read.set(self.1.read.get() + read as u64);
        self.1.assert_streamed();
        Ok(read)
    }
}

impl Write for ReadProgress {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.kept.set(self.kept.get() + bytes.len() as u64);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl BlobStore for ReadProgress {
    fn write(&mut self, fill: BlobWriter<'_>) -> io::Result<Content> {
        let before = self.kept.get();
        fill(self)?;
        Ok(Content::zeros(self.kept.get() - before))
    }
}

/// Has no room.
struct FullStore;

impl BlobStore for FullStore {
    fn write(&mut self, _: BlobWriter<'_>) -> io::Result<Content> {
        Err(io::ErrorKind::StorageFull.into())
    }
}

const LONG: u64 = 48 << 20;

/// A tar archive with one long file, which is nowhere.
fn long_layer() -> impl Read {
    let mut header = tar::Header::new_gnu();
    header.set_path("long").unwrap();
    header.set_mode(0o644);
    header.set_size(LONG);
    header.set_cksum();
    Cursor::new(header.as_bytes().to_vec()).chain(io::repeat(0).take(LONG + 1024))
}

/// An image with that layer.
struct LongImage(LayoutFiles, ReadProgress);

impl BlobSource for LongImage {
    fn top(&mut self) -> Result<Vec<u8>, SourceError> {
        self.0.top()
    }

    fn blob(&mut self, descriptor: &Descriptor) -> Result<Box<dyn Read + '_>, SourceError> {
        if descriptor.size > LONG {
            return Ok(Box::new(CountingReader(long_layer(), self.1.clone())));
        }
        self.0.blob(descriptor)
    }
}

#[test]
fn a_long_layer_is_streamed() {
    let mut bytes = Vec::new();
    long_layer().read_to_end(&mut bytes).unwrap();
    let descriptor = Descriptor::of_blob("application/vnd.oci.image.layer.v1.tar", &bytes);
    let layer = Layer { descriptor, diff_id: Digest::of_bytes(&bytes), content: Content::default() };
    drop(bytes);
    let image = NewImage::single_layer(Arch::Amd64, layer, Moment::from_unix(0).unwrap());
    let mut pipe = ReadProgress::default();
    let mut long = LongImage(memory(&ImageLayout::pack(&[image], "1")), pipe.clone());
    let image = OciImage::find(&mut long, Arch::Amd64).unwrap();

    let full = image.unpack(&mut long, &mut FullStore, &|| {});
    let begun = pipe.read.replace(0);
    let root = image.unpack(&mut long, &mut pipe, &|| {}).unwrap();

    assert!(matches!(full, Err(OciError::Layer { source: LayerError::Keep { .. }, .. })), "{full:?}");
    assert!(begun < 1 << 20, "where there is no room, the rest is not waited for");
    assert_eq!(pipe.kept.get(), LONG);
    assert_eq!(root.file("long").unwrap().len(), LONG);
}
