//! The commands, one file each.

mod build;
pub(crate) mod check;
mod completions;
mod diff;
mod discover;
mod down;
mod explain;
mod extension;
mod image;
mod lab;
mod logs;
mod machine;
mod man;
mod media;
mod meta;
mod migrate;
mod new;
pub(crate) mod prove;
mod reset;
mod schema;
mod schematic;
mod secrets;
mod show;
mod status;
mod talos;
mod up;
mod upgrade;
mod verify;

use std::io::Write;
use std::process::ExitCode;

/// What `ichor` can do.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    New(new::Args),
    Check(check::Args),
    Show(show::Args),
    Build(build::Args),
    Prove(prove::Args),
    Up(up::Args),
    Upgrade(upgrade::Args),
    Reset(reset::Args),
    Down(down::Args),
    Lab(lab::Args),
    Discover(discover::Args),
    Status(status::Args),
    Verify(verify::Args),
    Diff(diff::Args),
    Logs(logs::Args),
    Machine(machine::Args),
    Migrate(migrate::Args),
    Secrets(secrets::Args),
    Talos(talos::Args),
    Schematic(schematic::Args),
    Meta(meta::Args),
    Media(media::Args),
    Extension(extension::Args),
    Image(image::Args),
    Explain(explain::Args),
    Schema(schema::Args),
    Completions(completions::Args),
    Man(man::Args),
}

impl Command {
    pub(crate) fn run(&self, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
        match self {
            Self::New(args) => new::run(args, out),
            Self::Check(args) => check::run(args, out),
            Self::Show(args) => show::run(args, out),
            Self::Build(args) => build::run(args, out),
            Self::Prove(args) => prove::run(args, out),
            Self::Up(args) => up::run(args, out),
            Self::Upgrade(args) => upgrade::run(args, out),
            Self::Reset(args) => reset::run(args, out),
            Self::Down(args) => down::run(args, out),
            Self::Lab(args) => lab::run(args, out),
            Self::Discover(args) => discover::run(args, out),
            Self::Status(args) => status::run(args, out),
            Self::Verify(args) => verify::run(args, out),
            Self::Diff(args) => diff::run(args, out),
            Self::Logs(args) => logs::run(args, out),
            Self::Machine(args) => machine::run(args, out),
            Self::Migrate(args) => migrate::run(args, out),
            Self::Secrets(args) => secrets::run(args, out),
            Self::Talos(args) => talos::run(args, out),
            Self::Schematic(args) => schematic::run(args, out),
            Self::Meta(args) => meta::run(args, out),
            Self::Media(args) => media::run(args, out),
            Self::Extension(args) => extension::run(args, out),
            Self::Image(args) => image::run(args, out),
            Self::Explain(args) => explain::run(args, out),
            Self::Schema(args) => schema::run(args, out),
            Self::Completions(args) => completions::run(args, out),
            Self::Man(args) => man::run(args, out),
        }
    }
}
