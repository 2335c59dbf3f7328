//! `schema`: the JSON Schema of the cluster file.

use std::io::Write;
use std::process::ExitCode;

use ichor_core::cluster::File;
use ichor_values::read::Read;
use ichor_values::schema::json_schema;

/// Print the JSON Schema of the cluster file, for editors
#[derive(Debug, clap::Args)]
#[command(after_help = "Save the schema beside the cluster file and reference it in the first line:\n  \
                        ichor schema > ichor.schema.json\n  \
                        # yaml-language-server: $schema=ichor.schema.json")]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    serde_json::to_writer_pretty(&mut *out, &json_schema(&File::shape()))?;
    writeln!(out)?;
    Ok(ExitCode::SUCCESS)
}
