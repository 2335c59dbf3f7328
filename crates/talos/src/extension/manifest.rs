//! `manifest.yaml`: the name of an extension, and the releases it is for.

use super::compatibility;
use super::metadata::ExtensionMetadata;
use super::reader::{self, ManifestReader};
use super::tree::{FileKind, MANIFEST, Tree};
use super::verdict::{Remark, Verdict};
use ichor_values::TalosVersion;
use ichor_values::go_yaml::reader::YamlNode;

/// The version of the format, of which there is one.
const VERSION: &str = "v1alpha1";

#[derive(Default)]
struct Manifest {
    version: String,
    metadata: ExtensionMetadata,
}

/// The metadata of the extension in a tree; none if its manifest cannot be read.
pub(super) fn metadata(tree: &Tree, talos: &TalosVersion) -> Option<ExtensionMetadata> {
    let bytes = tree.resolve("", MANIFEST).and_then(|target| tree.text(&target))?;
    let root = reader::document(MANIFEST, bytes, talos).ok()?;
    Manifest::read(&root, talos).ok().map(|(manifest, _)| manifest.metadata)
}

/// Validates the manifest at the top.
pub(super) fn check_manifest(tree: &Tree, talos: &TalosVersion, verdict: &mut Verdict) {
    let target = tree.resolve("", MANIFEST);
    let Some(bytes) = target.as_deref().and_then(|target| tree.text(target)) else {
        let is_link = matches!(tree.get(MANIFEST).map(|entry| &entry.kind), Some(FileKind::Link(_)));
        let message = if is_link { "a link to no file of the extension" } else { "not a file" };
        return verdict.problem(Remark::for_file(MANIFEST, message, "put the manifest itself there"));
    };
    let root = match reader::document(MANIFEST, bytes, talos) {
        Ok(root) => root,
        Err(problem) => return verdict.problem(problem),
    };
    let (manifest, passed_over) = match Manifest::read(&root, talos) {
        Ok(read) => read,
        Err(problems) => return problems.into_iter().for_each(|problem| verdict.problem(problem)),
    };
    let at = |path: &str, message: &str, fix: &str| {
        Remark::for_file(MANIFEST, message, fix).at(root.line_at(path), path)
    };
    if manifest.version != VERSION {
        let message = match manifest.version.as_str() {
            "" => "missing: Talos reads a manifest by its version".to_owned(),
            other => format!("`{other}` is not a manifest version that Talos knows"),
        };
        verdict.problem(at("version", &message, "write `version: v1alpha1`"));
    }
    let path = "metadata.compatibility.talos.version";
    let metadata = &manifest.metadata;
    if let Some((message, fix)) = compatibility::refusal(&metadata.constraint, talos) {
        verdict.problem(at(path, &message, &fix));
    }
    if metadata.constraint.is_empty() {
        let fix = "say which releases it was made for, such as `\">= v1.12.0\"`";
        verdict.warn(at(path, "missing: Talos takes the extension in every release", fix));
    }
    for (name, _) in metadata.texts().into_iter().filter(|(_, text)| text.is_empty()) {
        let message = "missing: Talos accepts that, and lists the extension without it";
        verdict.warn(at(&format!("metadata.{name}"), message, &format!("write `{name}` below `metadata`")));
    }
    verdict.warn_all(passed_over);
    verdict.warn_all(reader::further_documents(MANIFEST, bytes));
}

impl Manifest {
    fn read(root: &YamlNode, talos: &TalosVersion) -> Result<(Manifest, Vec<Remark>), Vec<Remark>> {
        let mut reader = ManifestReader::new(MANIFEST, talos);
        let mut manifest = Manifest::default();
        for (name, path, value) in reader.fields(root, "", &["version", "metadata"]) {
            match name {
                "version" => manifest.version = reader.text(value, &path),
                _ => manifest.metadata = ExtensionMetadata::read(&mut reader, value, &path),
            }
        }
        reader.finish(manifest)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tree::FileEntry;
    use super::*;

    fn judged(text: &str, talos: &str) -> Verdict {
        let mut tree = Tree::default();
        tree.add(MANIFEST, FileEntry { kind: FileKind::File, mode: 0o644 });
        tree.fill(MANIFEST, text.as_bytes().to_vec());
        let mut verdict = Verdict::default();
        check_manifest(&tree, &TalosVersion::parse(talos).unwrap(), &mut verdict);
        verdict
    }

    const GOOD: &str = "version: v1alpha1\nmetadata: {name: a, version: '1', author: b, description: c, compatibility: \
                        {talos: {version: '>= v1.11.0'}}}\n";

    #[test]
    fn a_complete_manifest_has_no_remarks() {
        assert_eq!(judged(GOOD, "1.13"), Verdict::default());
        assert_eq!(judged(&GOOD.replace("author: b", "author: b, extraInfo: d"), "1.13"), Verdict::default());
    }

    #[test]
    fn manifests_that_talos_rejects_are_problems() {
        for (text, said) in [
            (String::new(), "empty"),
            ("---\n".to_owned(), "missing"),
            (GOOD.replace("v1alpha1", "v1beta1"), "`v1beta1`"),
            (GOOD.replace("v1alpha1", "[v1alpha1]"), "takes text"),
            (GOOD.replace("name: a", "name: {a: b}"), "takes text"),
            (GOOD.replace("{talos:", "{talos: [], talos:"), "written twice"),
            (format!("{GOOD}version: v1alpha1\n"), "written twice"),
            (GOOD.replace(">= v1.11.0", "< v1.13.0"), "leaves out"),
            ("- a\n".to_owned(), "takes a map"),
        ] {
            let problems = judged(&text, "1.13").problems;
            assert!(problems.iter().any(|it| it.issue.message.contains(said)), "{text}: {problems:?}");
        }
    }

    #[test]
    fn ignored_manifest_keys_are_warnings() {
        for (text, path) in [
            (GOOD.replace("author", "Author"), "metadata.Author"),
            (GOOD.replace("compatibility", "compat"), "metadata.compatibility.talos.version"),
            (GOOD.replace("name: a, ", ""), "metadata.name"),
            (format!("{GOOD}apiVersion: v1\n"), "apiVersion"),
            (format!("{GOOD}---\nversion: x\n"), ""),
        ] {
            let verdict = judged(&text, "1.13");
            assert!(verdict.is_valid(), "{text}");
            assert!(
                verdict.warnings.iter().any(|it| it.issue.subject == path),
                "{text}: {:?}",
                verdict.warnings
            );
        }
    }
}
