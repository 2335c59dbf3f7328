//! Images as they are read from others: whole, broken and hostile.

use std::collections::BTreeMap;

use ichor_core::cluster::section::Arch;
use ichor_core::moment::Moment;
use ichor_core::oci::{
    Archive, Descriptor, Entry, Failure, Image, LAYOUT, LIST, Layout, Packed, ReadError, Root, Shipment,
    Source, layer,
};
use serde_json::{Value, json};

/// A layout in memory, whose files can be changed.
struct Memory(BTreeMap<String, Vec<u8>>);

impl Source for Memory {
    fn top(&mut self) -> Result<Vec<u8>, Failure> {
        Ok(self.0.get(LIST).ok_or("no list")?.clone())
    }

    fn blob(&mut self, descriptor: &Descriptor) -> Result<Vec<u8>, Failure> {
        Ok(self.0.get(&descriptor.digest.path()).ok_or("no such blob")?.clone())
    }
}

fn root(text: &str) -> Root {
    let mut root = Root::default();
    root.put("usr/bin/x", Entry::file(0o755, text.as_bytes()));
    root.put("bin", Entry::link("usr/bin"));
    root
}

fn packed(archs: &[Arch]) -> Layout {
    let pack = |arch: &Arch| Packed { arch: *arch, layer: layer(&root(arch.word())) };
    let images: Vec<_> = archs.iter().map(pack).collect();
    Layout::pack(&images, "1.0", Moment::from_unix(0).unwrap())
}

fn memory(layout: &Layout) -> Memory {
    Memory(layout.files.iter().map(|(path, bytes)| (path.clone(), bytes.to_vec())).collect())
}

fn list(memory: &Memory) -> Value {
    serde_json::from_slice(&memory.0[LIST]).unwrap()
}

#[test]
fn what_is_packed_is_read_back() {
    for archs in [&[Arch::Amd64][..], &[Arch::Arm64], &[Arch::Amd64, Arch::Arm64]] {
        let layout = packed(archs);
        let mut archive = Archive::open(&layout.archive()).unwrap();
        for (source, what) in [(&mut memory(&layout) as &mut dyn Source, "layout"), (&mut archive, "archive")]
        {
            let images = Image::all(source).unwrap();
            assert_eq!(images.iter().map(|image| image.arch).collect::<Vec<_>>(), archs, "{what}");
            for image in images {
                assert_eq!(image.unpack(source, &|| {}).unwrap(), root(image.arch.word()), "{what}");
            }
        }
    }
}

#[test]
fn the_same_files_give_the_same_bytes() {
    let both = [Arch::Amd64, Arch::Arm64];
    assert_eq!(packed(&both).archive(), packed(&both).archive());
}

#[test]
fn several_architectures_are_one_image_and_each_by_itself() {
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

    let shipment = Shipment::of(&mut memory).unwrap();
    assert_eq!(shipment.blobs.len(), 4);
    let kinds: Vec<_> = shipment.documents.iter().map(|(descriptor, _)| descriptor.is_index()).collect();
    assert_eq!(kinds, [false, false, true], "each after what it names");
    assert_eq!(shipment.documents[2].0.digest, layout.digest);
}

#[test]
fn an_architecture_that_is_not_there_is_told_with_those_that_are() {
    let mut memory = memory(&packed(&[Arch::Amd64]));

    let refused = Image::find(&mut memory, Arch::Arm64).unwrap_err().to_string();

    assert_eq!(refused, "there is no image for linux/arm64 in it; it has linux/amd64");
}

#[test]
fn nothing_that_was_changed_is_read() {
    let whole = packed(&[Arch::Amd64]);
    let blobs: Vec<_> = whole.files.keys().filter(|path| path.starts_with("blobs/")).cloned().collect();
    assert_eq!(blobs.len(), 3);
    for path in &blobs {
        for (change, want) in [
            ((|bytes: &mut Vec<u8>| bytes[10] ^= 1) as fn(&mut Vec<u8>), "is not what it is called"),
            (|bytes| bytes.truncate(bytes.len() - 1), "cut off"),
            (|bytes| bytes.push(0), "cut off"),
        ] {
            let mut memory = memory(&whole);
            change(memory.0.get_mut(path).unwrap());
            let read =
                Image::find(&mut memory, Arch::Amd64).and_then(|image| image.unpack(&mut memory, &|| {}));
            let error = read.unwrap_err().to_string();
            assert!(error.contains(want), "{path}: {error}");
        }
        let mut memory = memory(&whole);
        memory.0.remove(path);
        let read = Image::find(&mut memory, Arch::Amd64).and_then(|image| image.unpack(&mut memory, &|| {}));
        assert!(matches!(read, Err(ReadError::Source { .. })), "{path}");
    }
}

/// The list of a layout with another text in it.
fn refusal(list: impl Into<Vec<u8>>) -> String {
    let mut memory = memory(&packed(&[Arch::Amd64]));
    memory.0.insert(LIST.to_owned(), list.into());
    Image::all(&mut memory).unwrap_err().to_string()
}

#[test]
fn documents_that_make_no_sense_are_refused() {
    let digest = format!("sha256:{}", "0".repeat(64));
    let kind = "application/vnd.oci.image.manifest.v1+json";
    let item = json!({"mediaType": kind, "digest": digest, "size": 1_u64 << 40});
    for (list, want) in [
        (json!([]), "neither an image manifest nor a list"),
        (json!({"manifests": {}}), "`manifests` is not a list"),
        (json!({"manifests": [{}]}), "without a digest"),
        (json!({"manifests": [{"digest": "sha256:../../etc/passwd"}]}), "no SHA-256 digest"),
        (json!({"manifests": [{"digest": digest, "size": -1}]}), "without a size"),
        (json!({"manifests": [item]}), "more than 4194304 are not read"),
        (json!({"manifests": vec![item.clone(); 1001]}), "more than 1000 items"),
        (json!({"schemaVersion": 1}), "Docker's first sort"),
    ] {
        let said = refusal(list.to_string());
        assert!(said.contains(want), "{want}: {said}");
    }
    assert!(refusal("{").contains("not JSON"));
    assert!(refusal("[".repeat(100_000)).contains("not JSON"));
    assert!(refusal(vec![b' '; (4 << 20) + 1]).contains("more than 4194304"));
}

#[test]
fn lists_in_lists_come_to_an_end() {
    let mut memory = memory(&packed(&[Arch::Amd64]));
    for _ in 0..5 {
        let bytes = memory.0[LIST].clone();
        let descriptor = Descriptor::of("application/vnd.oci.image.index.v1+json", &bytes);
        let (digest, size) = (descriptor.digest.to_string(), descriptor.size);
        memory.0.insert(descriptor.digest.path(), bytes);
        let list =
            json!({"manifests": [{"mediaType": descriptor.media_type, "digest": digest, "size": size}]});
        memory.0.insert(LIST.to_owned(), list.to_string().into_bytes());
    }

    assert!(Image::all(&mut memory).unwrap_err().to_string().contains("a list in a list"));
    assert!(Shipment::of(&mut memory).unwrap_err().to_string().contains("a list in a list"));
}

#[test]
fn what_is_no_image_in_a_list_is_passed_over() {
    let whole = packed(&[Arch::Amd64]);
    let mut memory = memory(&whole);
    let mut list = list(&memory);
    let digest = format!("sha256:{}", "0".repeat(64));
    let kind = "application/vnd.oci.image.manifest.v1+json";
    let items = list["manifests"].as_array_mut().unwrap();
    let attestation = json!({"architecture": "unknown", "os": "unknown"});
    items.insert(0, json!({"mediaType": kind, "digest": digest, "size": 1, "platform": attestation}));
    items.insert(0, json!({"mediaType": "application/x-other", "digest": digest, "size": 1}));
    memory.0.insert(LIST.to_owned(), list.to_string().into_bytes());

    assert_eq!(Image::find(&mut memory, Arch::Amd64).unwrap().digest, whole.digest);
}

#[test]
fn archives_of_something_else_are_told() {
    let said = |root: &Root| {
        let tar = layer(root).bytes;
        Archive::open(&tar).err().unwrap().to_string()
    };
    let mut docker = Root::default();
    docker.put("manifest.json", Entry::file(0o644, b"[]"));

    assert!(said(&root("x")).contains("no index.json in it"));
    assert!(said(&docker).contains("skopeo copy docker-archive:"));
    assert!(Archive::open(b"not a tar archive, and not empty").is_err());
}
