//! The boot media of a cluster's nodes, by file and by text.

use std::path::Path;

use ichor_core::cluster::load;
use ichor_core::cluster::load::Files;
use ichor_core::plan::NodePlan;
use ichor_core::render::artifact::Artifact;
use ichor_core::render::boot_media;
use ichor_values::Issue;
use ichor_values::go_yaml::emit::emit_all;

/// A node, its first configuration and its boot media.
pub struct Carried {
    pub node: NodePlan,
    pub boot: String,
    pub files: Result<Vec<Artifact>, Issue>,
}

impl Carried {
    /// A file of the node.
    pub fn file(&self, name: &str) -> &Artifact {
        let path = format!("nodes/{}/{name}", self.node.name);
        let files = self.files.as_ref().unwrap();
        files.iter().find(|file| file.path == path).unwrap_or_else(|| panic!("no {path}: {files:?}"))
    }

    /// The text of a file.
    pub fn text(&self, name: &str) -> &str {
        self.file(name).text().unwrap_or_else(|| panic!("{name} is no text"))
    }

    /// The bytes of a file.
    pub fn bytes(&self, name: &str) -> Vec<u8> {
        self.file(name).contents.bytes().into_owned()
    }

    /// The names of all files.
    pub fn names(&self) -> Vec<&str> {
        let folder = format!("nodes/{}/", self.node.name);
        self.files.as_ref().unwrap().iter().map(|file| file.path.strip_prefix(&folder).unwrap()).collect()
    }

    /// Why there are no boot media.
    pub fn refusal(&self) -> String {
        self.files.as_ref().unwrap_err().to_string()
    }
}

/// The nodes of a folder, for a release.
pub fn of_case(case: &Path, release: &str) -> Vec<Carried> {
    all(&mut ichor_testbed::ReleaseFiles(ichor_testbed::FolderFiles(case.to_owned()), release))
}

/// The only node of a text.
pub fn of_text(text: &str) -> Carried {
    all(&mut ichor_testbed::SingleFile(text.as_bytes().to_vec())).remove(0)
}

fn all(files: &mut dyn Files) -> Vec<Carried> {
    let (_, plan) = ichor_testbed::planned(load("ichor.yaml", files));
    let made = ichor_testbed::machine::of_files(files, |renderer, plan| {
        plan.nodes.iter().map(|node| Ok(emit_all(&renderer.boot(node)?.documents))).collect()
    });
    let boots: Vec<String> = made.unwrap_or_else(|errors| panic!("{errors:#?}"));
    let carried = |(node, boot): (NodePlan, String)| {
        let files = boot_media::render(&node, &boot);
        Carried { node, boot, files }
    };
    plan.nodes.into_iter().zip(boots).map(carried).collect()
}
