//! The delays of a simulated machine.

use std::time::Duration;

/// The delays of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delays {
    /// From power on, or from a reboot, until a port is open.
    pub boot: Duration,
    /// Writing Talos to the disk.
    pub install: Duration,
    /// Until a service that was started is healthy: containerd's CRI, etcd, the API server, the kubelet.
    pub start: Duration,
}

impl Default for Delays {
    fn default() -> Self {
        Self {
            boot: Duration::from_secs(2),
            install: Duration::from_secs(3),
            start: Duration::from_millis(500),
        }
    }
}
