//! What runs the code of virtual machines, and whether it does.

use std::fs::{self, OpenOptions};
use std::io;
use std::process::Command;
use std::time::Duration;

use ichor_system::program::{ProgramError, ProgramRun};

/// The program that is a virtual machine.
pub(crate) const QEMU: &str = "qemu-system-x86_64";

/// What runs a machine's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Accelerator {
    /// The processor itself.
    Kvm,
    /// qemu, which emulates one: slow, and times say nothing.
    Tcg,
}

/// The processor that is emulated. Without AVX: programs that find it use it, and its emulation made them three times as slow.
const PROCESSOR: &str = "qemu64,+rdrand,+ssse3,+sse4.1,+sse4.2,+popcnt,+aes,+pclmulqdq";

/// A disk that ends qemu as soon as it is booted: `mov al, 16; out 0xf4, al; hlt`, and the end of a boot sector.
const END: [u8; 5] = [0xb0, 0x10, 0xe6, 0xf4, 0xf4];
const SECTOR: usize = 512;

/// What qemu makes of that number (isa-debug-exit): twice it, and one.
const ENDED: i32 = 33;

/// A machine that runs on the processor ends in a second, or never.
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);

impl Accelerator {
    /// What qemu is told.
    pub(crate) fn qemu_args(self) -> [&'static str; 4] {
        let (accelerator, processor) = match self {
            Self::Kvm => ("kvm", "host"),
            Self::Tcg => ("tcg,thread=multi", PROCESSOR),
        };
        ["-accel", accelerator, "-cpu", processor]
    }

    /// Whether the processor's own virtual machines can be had.
    pub(crate) fn has_kvm() -> bool {
        OpenOptions::new().read(true).write(true).open("/dev/kvm").is_ok()
    }

    /// The best there is: KVM where a machine gets to its end with it.
    pub(crate) fn best() -> io::Result<Self> {
        Ok(if Self::has_kvm() && Self::Kvm.works(PROBE_TIMEOUT)? { Self::Kvm } else { Self::Tcg })
    }

    /// Whether a machine that does nothing but end gets there in time.
    fn works(self, timeout: Duration) -> io::Result<bool> {
        let mut sector = [0; SECTOR];
        sector[..END.len()].copy_from_slice(&END);
        sector[SECTOR - 2..].copy_from_slice(&[0x55, 0xaa]);
        let folder = tempfile::tempdir()?;
        fs::write(folder.path().join("end"), sector)?;
        let mut command = Command::new(QEMU);
        command.args(self.qemu_args()).args([
            "-nodefaults",
            "-no-user-config",
            "-display",
            "none",
            "-m",
            "16",
        ]);
        command.args(["-drive", "file=end,format=raw,if=ide", "-device", "isa-debug-exit,iobase=0xf4"]);
        command.current_dir(folder.path());
        match ProgramRun::new(command, timeout).without_stdout().without_stderr().run() {
            Ok(output) => Ok(output.status.code() == Some(ENDED)),
            Err(ProgramError::TimedOut { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}
