//! The list of everything in an extension: SPDX 2.3, in JSON.
//!
//! Files are written as packages of the purpose FILE: SPDX' own records of files need a SHA-1 each, which is insecure.

use serde_json::{Value, json};

use super::ExtensionRequest;
use super::container::{AGENT, Container};
use super::recipe::DaemonRecipe;
use crate::oci::{Digest, FileTree, TreeEntry};

const UNKNOWN: &str = "NOASSERTION";

/// The id of the extension's own package.
const EXTENSION: &str = "SPDXRef-Extension";

struct SpdxDocument<'l> {
    container: &'l FileTree,
    packages: Vec<Value>,
    relations: Vec<Value>,
    files: usize,
}

/// The text of the list. `tree` is everything in the extension but the list itself.
pub(super) fn text(
    order: &ExtensionRequest<'_>,
    recipe: &DaemonRecipe,
    version: &str,
    container: &Container,
    tree: &FileTree,
) -> Vec<u8> {
    let mut list =
        SpdxDocument { container: &container.root, packages: Vec::new(), relations: Vec::new(), files: 0 };
    list.packages.push(json!({
        "SPDXID": EXTENSION,
        "name": order.name,
        "versionInfo": version,
        "downloadLocation": UNKNOWN,
        "filesAnalyzed": false,
        "licenseConcluded": UNKNOWN,
        "licenseDeclared": UNKNOWN,
        "copyrightText": UNKNOWN,
        "primaryPackagePurpose": "CONTAINER",
        "comment": format!("Talos system extension for {}, taken from {}", order.arch, order.origin),
    }));
    list.relate("SPDXRef-DOCUMENT", "DESCRIBES", EXTENSION);
    for (nth, (package, files)) in container.packages.iter().enumerate() {
        let id = format!("SPDXRef-Package-{nth}");
        let is_daemon = container.daemon.as_ref() == Some(package);
        let licence = package.licence.as_deref().or(is_daemon.then_some(recipe.licence));
        list.packages.push(json!({
            "SPDXID": id,
            "name": package.name,
            "versionInfo": package.version,
            "downloadLocation": UNKNOWN,
            "homepage": if is_daemon { recipe.home } else { UNKNOWN },
            "sourceInfo": package.sources(),
            "filesAnalyzed": false,
            "licenseConcluded": UNKNOWN,
            "licenseDeclared": licence.unwrap_or(UNKNOWN),
            "copyrightText": UNKNOWN,
            "externalRefs": [{
                "referenceCategory": "PACKAGE-MANAGER",
                "referenceType": "purl",
                "referenceLocator": package.url(),
            }],
        }));
        list.relate(EXTENSION, "CONTAINS", &id);
        for path in files {
            list.file(&id, path, UNKNOWN);
        }
    }
    for path in &container.strays {
        list.file(EXTENSION, path, UNKNOWN);
    }
    list.file(EXTENSION, AGENT, "MPL-2.0");
    let name = format!("{}-{version}-{}", order.name, order.arch);
    let value = json!({
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": name,
        // Every document has a name of its own, and the same document always the same one.
        "documentNamespace": format!("https://ichor.invalid/spdx/{name}-{}", sum(tree).hex()),
        "creationInfo": {
            "created": order.created.to_string(),
            "creators": [concat!("Tool: ichor-", env!("CARGO_PKG_VERSION"))],
        },
        "packages": list.packages,
        "relationships": list.relations,
    });
    format!("{value:#}\n").into_bytes()
}

impl SpdxDocument<'_> {
    fn relate(&mut self, from: &str, kind: &str, to: &str) {
        let relation = json!({"spdxElementId": from, "relationshipType": kind, "relatedSpdxElement": to});
        self.relations.push(relation);
    }

    fn file(&mut self, of: &str, path: &str, licence: &str) {
        let Some(bytes) = self.container.get(path).and_then(TreeEntry::memory) else { return };
        let id = format!("SPDXRef-File-{}", self.files);
        self.packages.push(json!({
            "SPDXID": id,
            "name": path.rsplit('/').next().unwrap_or(path),
            "packageFileName": format!("/{path}"),
            "downloadLocation": UNKNOWN,
            "filesAnalyzed": false,
            "checksums": [{"algorithm": "SHA256", "checksumValue": Digest::of_bytes(bytes).hex()}],
            "licenseConcluded": UNKNOWN,
            "licenseDeclared": licence,
            "copyrightText": UNKNOWN,
            "primaryPackagePurpose": "FILE",
        }));
        self.relate(of, "CONTAINS", &id);
        self.files += 1;
    }
}

/// The sum of all files and their names.
fn sum(tree: &FileTree) -> Digest {
    let line =
        |(path, entry): (&str, &TreeEntry)| Some(format!("{path}\0{}\n", Digest::of_bytes(entry.memory()?)));
    let lines: String = tree.iter().filter_map(line).collect();
    Digest::of_bytes(lines.as_bytes())
}
