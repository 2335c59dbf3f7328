//! A configuration on the kernel command line.

use super::{medium_error, path};
use crate::plan::NodePlan;
use crate::render::artifact::Artifact;
use crate::render::schematic::command_line;
use ichor_talos::command_line::{LONGEST, pack};
use ichor_talos::kernel_args::LOADER;
use ichor_talos::schematic::Schematic;
use ichor_values::Issue;

/// The command line of a node: that of its image, and the configuration in the parameter `key`.
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
        return Err(medium_error(
            node,
            &format!(
                "the command line would have {} bytes, but an x86 kernel silently cuts it at {LONGEST}: {before} of Talos and \
                 the schematic, {added} for {key}, {LOADER} reserved for the boot loader",
                text.len() + LOADER
            ),
        ));
    }
    Ok(Artifact::public(path(node, "cmdline"), format!("{text}\n")))
}
