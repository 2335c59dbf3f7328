//! Processor architectures of machines.

use crate::choice;

choice! {
    /// Architecture of a machine.
    Arch "architecture" {
        /// 64-bit x86.
        Amd64 = "amd64",
        /// 64-bit ARM.
        Arm64 = "arm64",
    }
}
