//! Physical machines with an IPMI BMC, through ipmitool. Power control only.

use std::net::IpAddr;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use ichor_core::machines::Drives;
use ichor_core::render::hypervisor::medium::Medium;
use ichor_talos::secrets::Hidden;
use ichor_values::Issue;

use super::program::{ExternalTool, ToolError};
use super::{
    Capabilities, Creation, FailureKind, MachineError, MachineProvider, MachineState, MediaSource, PowerOff,
    ProgressSink,
};

const IPMITOOL: ExternalTool =
    ExternalTool { name: "ipmitool", install_hint: "install the package ipmitool" };

/// Time limit for one call; ipmitool retries on its own.
const CALL_TIMEOUT: Duration = Duration::from_mins(1);

/// Time limit for a power state change.
const STATE_TIMEOUT: Duration = Duration::from_mins(2);

/// Interval between polls of the power state.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// A failed power operation.
#[derive(Debug, thiserror::Error)]
enum IpmiError {
    #[error(transparent)]
    Tool(#[from] ToolError),
    #[error("`{call}` printed {output:?}, which is neither on nor off")]
    Odd { call: String, output: String },
    #[error("still {0} after {secs} s", secs = STATE_TIMEOUT.as_secs())]
    Slow(&'static str),
}

impl IpmiError {
    fn kind(&self) -> FailureKind {
        match self {
            Self::Tool(ToolError::Failed { output, .. }) if output.contains("Unable to establish") => {
                FailureKind::Unreachable
            }
            Self::Tool(error) => error.kind(),
            Self::Odd { .. } | Self::Slow(_) => FailureKind::Rejected,
        }
    }
}

/// A machine and its BMC.
#[derive(Debug)]
pub(super) struct Ipmi {
    host: String,
    login: Option<(String, Hidden)>,
}

impl Ipmi {
    pub(super) fn new(host: &str, login: Option<(String, Hidden)>) -> Self {
        Self { host: host.to_owned(), login }
    }

    fn step<T>(&self, node: &str, what: &str, done: Result<T, IpmiError>) -> Result<T, MachineError> {
        done.map_err(|source| {
            let (node, operation, location) = (node.to_owned(), what.to_owned(), self.location());
            MachineError { node, operation, location, kind: source.kind(), source: Box::new(source) }
        })
    }

    /// Runs `chassis power`. The password is in the environment because arguments are visible to all users.
    fn chassis_power(&self, word: &str) -> Result<String, ToolError> {
        let mut command = Command::new(IPMITOOL.name);
        command.args(["-I", "lanplus", "-H", &self.host]);
        if let Some((user, password)) = &self.login {
            command.args(["-U", user, "-E"]).env("IPMI_PASSWORD", password.as_str());
        }
        command.args(["chassis", "power", word]);
        IPMITOOL.run(&format!("ipmitool chassis power {word}"), command, None, CALL_TIMEOUT)
    }

    fn is_on(&self) -> Result<bool, IpmiError> {
        let output = self.chassis_power("status")?;
        match output.trim().to_lowercase().rsplit(' ').next() {
            Some("on") => Ok(true),
            Some("off") => Ok(false),
            _ => Err(IpmiError::Odd {
                call: "ipmitool chassis power status".to_owned(),
                output: output.trim().to_owned(),
            }),
        }
    }

    fn set_power(&self, word: &str, want: bool) -> Result<(), IpmiError> {
        if self.is_on()? == want {
            return Ok(());
        }
        self.chassis_power(word)?;
        let start = Instant::now();
        while self.is_on()? != want {
            if start.elapsed() > STATE_TIMEOUT {
                return Err(IpmiError::Slow(if want { "off" } else { "on" }));
            }
            thread::sleep(POLL_INTERVAL);
        }
        Ok(())
    }
}

impl MachineProvider for Ipmi {
    fn location(&self) -> String {
        format!("ipmi://{}", self.host)
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { creates_vms: false, attaches_media: false, reports_addresses: false }
    }

    fn check(&self, _: &[&str]) -> Vec<Issue> {
        match self.is_on() {
            Ok(_) => Vec::new(),
            Err(error) => vec![super::unreachable_issue(&self.location(), error.kind(), &error)],
        }
    }

    fn state(&self, node: &str) -> Result<MachineState, MachineError> {
        let is_on = self.step(node, "query the power state of its machine", self.is_on())?;
        Ok(if is_on { MachineState::On } else { MachineState::Off })
    }

    fn create(&self, _: &str, _: &dyn MediaSource, _: &dyn ProgressSink) -> Result<Creation, MachineError> {
        Ok(Creation::Existed)
    }

    fn media(&self, _: &str) -> Vec<Medium> {
        Vec::new()
    }

    fn attach(&self, _: &str, _: &dyn MediaSource, _: &dyn ProgressSink) -> Result<(), MachineError> {
        Ok(())
    }

    fn drives(&self, _: &str) -> Result<Option<Drives>, MachineError> {
        Ok(None)
    }

    fn start(&self, node: &str) -> Result<(), MachineError> {
        self.step(node, "power on its machine", self.set_power("on", true))
    }

    fn stop(&self, node: &str, how: PowerOff) -> Result<(), MachineError> {
        let word = if how == PowerOff::Graceful { "soft" } else { "off" };
        self.step(node, "power off its machine", self.set_power(word, false))
    }

    fn eject(&self, _: &str) -> Result<(), MachineError> {
        Ok(())
    }

    fn delete(&self, node: &str) -> Result<(), MachineError> {
        Err(super::physical_machine_error(node, self.location()))
    }

    fn addresses(&self, _: &str) -> Result<Vec<IpAddr>, MachineError> {
        Ok(Vec::new())
    }
}
