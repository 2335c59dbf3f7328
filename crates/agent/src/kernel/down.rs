//! Taking away what the agent made.

use std::{fmt, io};

use ichor_bgp::agent::Wiring;
use ichor_bgp::agent::wiring::{Removal, Sysctls, removals};
use nix::errno::Errno;

use super::{HINT, Kernel, ObserveError, apply, namespace, switch, unless};

/// What is still there, all of it.
#[derive(Debug)]
pub struct DownError(pub Vec<RemovalError>);

/// One thing that could not be removed.
#[derive(Debug)]
pub struct RemovalError {
    /// What.
    pub removal: Removal,
    /// The kernel's reason.
    pub reason: io::Error,
}

impl fmt::Display for RemovalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {}: {}", self.removal, self.reason)
    }
}

impl fmt::Display for DownError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<_> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl std::error::Error for DownError {}

impl DownError {
    /// What may help.
    pub fn hint(&self) -> Option<&'static str> {
        let denied = |left: &RemovalError| left.reason.kind() == io::ErrorKind::PermissionDenied;
        self.0.iter().any(denied).then_some(HINT)
    }
}

impl Kernel {
    /// Removes what the agent made, and nothing else. Tries everything, then tells everything that is left; what is gone
    /// already is fine. `before` is what is remembered of switches. The outer error is that the kernel could not even be asked.
    pub async fn down(
        &self,
        wiring: &Wiring,
        before: &Sysctls,
    ) -> Result<Result<(), DownError>, ObserveError> {
        let mut left = Vec::new();
        for removal in removals(wiring, &self.observe(wiring).await?, before) {
            if let Err(reason) = self.remove(&removal).await {
                left.push(RemovalError { removal, reason });
            }
        }
        Ok(if left.is_empty() { Ok(()) } else { Err(DownError(left)) })
    }

    async fn remove(&self, removal: &Removal) -> io::Result<()> {
        match removal {
            Removal::Address { link, net } => self.withdraw(link, *net).await,
            Removal::Link { name } => match self.index(name) {
                Ok(index) => unless(self.handle.link().del(index).execute().await, &[Errno::ENODEV]),
                Err(error) if error.raw_os_error() == Some(Errno::ENODEV as i32) => Ok(()),
                Err(error) => Err(error),
            },
            Removal::Fence(fence) => {
                let route = apply::fence(fence.table, fence.family);
                unless(self.handle.route().del(route).execute().await, &[Errno::ESRCH])
            }
            Removal::Namespace { name } => namespace::remove(name),
            Removal::Switch { path, value } => match switch::write(path, value) {
                // It went with its link.
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                done => done,
            },
        }
    }
}
