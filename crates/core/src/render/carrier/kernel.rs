//! A configuration on the kernel command line.

use super::{path, refused};
use crate::plan::NodePlan;
use crate::render::artifact::Artifact;
use crate::render::schematic::command_line;
use ichor_talos::command_line::{LONGEST, pack};
use ichor_talos::kernel_args::LOADER;
use ichor_talos::schematic::Schematic;
use ichor_values::Issue;

/// The whole command line of a node: what its image has, and the configuration in the parameter `key`.
pub(crate) fn render(
    node: &NodePlan,
    schematic: &Schematic,
    key: &str,
    boot: &str,
) -> Result<Artifact, Issue> {
    let mut line = command_line(node, schematic);
    let before = line.to_string().len();
    line.add(&format!("{key}={}", pack(boot.as_bytes())));
    let text = line.to_string();
    if text.len() + LOADER > LONGEST {
        let added = text.len() - before;
        return Err(refused(
            node,
            &format!(
                "the command line would have {} bytes, and a kernel on x86 cuts it at {LONGEST} without a word: {before} of \
                 Talos and the schematic, {added} for {key}, {LOADER} kept for the boot loader",
                text.len() + LOADER
            ),
        ));
    }
    Ok(Artifact::public(path(node, "cmdline"), format!("{text}\n")))
}
