//! Accelerators of virtual machines: KVM, or emulation if KVM does not work.

use std::fs::{self, OpenOptions};
use std::io;
use std::process::Command;
use std::time::Duration;

use ichor_system::program::{ProgramError, ProgramRun};

/// The qemu executable.
pub(crate) const QEMU: &str = "qemu-system-x86_64";

/// A qemu accelerator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Accelerator {
    /// Hardware virtualization
    Kvm,
    /// Emulation by QEMU: slow, and measured times are not meaningful
    Tcg,
}

/// The emulated processor. Without AVX: programs that detect it use it, and its emulation makes them three times as slow.
const PROCESSOR: &str = "qemu64,+rdrand,+ssse3,+sse4.1,+sse4.2,+popcnt,+aes,+pclmulqdq";

/// A boot sector that ends qemu: `mov al, 16; out 0xf4, al; hlt`.
const END: [u8; 5] = [0xb0, 0x10, 0xe6, 0xf4, 0xf4];
const SECTOR: usize = 512;

/// The resulting exit code of qemu: isa-debug-exit doubles the number and adds one.
const ENDED: i32 = 33;

/// Time limit of the probe; with KVM it ends within a second or never.
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);

impl Accelerator {
    /// The qemu arguments.
    pub(crate) fn qemu_args(self) -> [&'static str; 4] {
        let (accelerator, processor) = match self {
            Self::Kvm => ("kvm", "host"),
            Self::Tcg => ("tcg,thread=multi", PROCESSOR),
        };
        ["-accel", accelerator, "-cpu", processor]
    }

    /// Whether this user can open KVM.
    pub(crate) fn has_kvm() -> bool {
        OpenOptions::new().read(true).write(true).open("/dev/kvm").is_ok()
    }

    /// The best accelerator: KVM if a probe VM runs with it.
    pub(crate) fn best() -> io::Result<Self> {
        Ok(if Self::has_kvm() && Self::Kvm.works(PROBE_TIMEOUT)? { Self::Kvm } else { Self::Tcg })
    }

    /// Whether a probe VM ends in time.
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
