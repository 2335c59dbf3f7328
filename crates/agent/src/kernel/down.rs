//! Removing everything that the agent created.

use std::{fmt, io};

use ichor_bgp::agent::Wiring;
use ichor_bgp::agent::wiring::{Removal, Sysctls, removals};
use nix::errno::Errno;

use super::{HINT, Kernel, ObserveError, apply, ignore_errors, namespace, sysctl};

/// Everything that could not be removed.
#[derive(Debug)]
pub struct DownError(pub Vec<RemovalError>);

/// One object that could not be removed.
#[derive(Debug)]
pub struct RemovalError {
    /// The object.
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
    /// A hint for the operator.
    pub fn hint(&self) -> Option<&'static str> {
        let denied = |failure: &RemovalError| failure.reason.kind() == io::ErrorKind::PermissionDenied;
        self.0.iter().any(denied).then_some(HINT)
    }
}

impl Kernel {
    /// Removes what the agent created. Tries everything, and then reports all failures; missing objects are not
    /// failures. `before` has the recorded values of sysctls. The outer error: the state of the kernel cannot be read.
    pub async fn down(
        &self,
        wiring: &Wiring,
        before: &Sysctls,
    ) -> Result<Result<(), DownError>, ObserveError> {
        let mut failures = Vec::new();
        for removal in removals(wiring, &self.observe(wiring).await?, before) {
            if let Err(reason) = self.remove(&removal).await {
                failures.push(RemovalError { removal, reason });
            }
        }
        Ok(if failures.is_empty() { Ok(()) } else { Err(DownError(failures)) })
    }

    async fn remove(&self, removal: &Removal) -> io::Result<()> {
        match removal {
            Removal::Address { link, net } => self.remove_address(link, *net).await,
            Removal::Link { name } => match self.index(name) {
                Ok(index) => ignore_errors(self.handle.link().del(index).execute().await, &[Errno::ENODEV]),
                Err(error) if error.raw_os_error() == Some(Errno::ENODEV as i32) => Ok(()),
                Err(error) => Err(error),
            },
            Removal::UnreachableDefault(default) => {
                let route = apply::unreachable_route(default.table, default.family);
                ignore_errors(self.handle.route().del(route).execute().await, &[Errno::ESRCH])
            }
            Removal::Namespace { name } => namespace::remove(name),
            Removal::Sysctl { path, value } => match sysctl::write(path, value) {
                // It disappeared with its link.
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                done => done,
            },
        }
    }
}
