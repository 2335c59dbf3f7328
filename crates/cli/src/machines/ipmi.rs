//! Real machines whose controller speaks IPMI, through ipmitool: power, and nothing else.

use std::net::IpAddr;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use ichor_core::machines::Drives;
use ichor_core::render::hypervisor::medium::Medium;
use ichor_talos::secrets::Hidden;
use ichor_values::Issue;

use super::program::{Program, ProgramError};
use super::{Kind, MachineError, Machines, Made, Onlooker, Powers, Shelf, State, Stop};

const IPMITOOL: Program = Program { name: "ipmitool", remedy: "install the package ipmitool" };

/// How long one call may take: ipmitool itself gives up after some tries.
const CALL: Duration = Duration::from_mins(1);

/// How long a machine may take until it is as it was told.
const PATIENCE: Duration = Duration::from_mins(2);

/// The time between two looks at it.
const PAUSE: Duration = Duration::from_millis(500);

/// A step that was not done.
#[derive(Debug, thiserror::Error)]
enum IpmiError {
    #[error(transparent)]
    Tool(#[from] ProgramError),
    #[error("`{call}` says {said:?}, and that is neither on nor off")]
    Odd { call: String, said: String },
    #[error("it is still {0} after {secs} s", secs = PATIENCE.as_secs())]
    Slow(&'static str),
}

impl IpmiError {
    fn kind(&self) -> Kind {
        match self {
            Self::Tool(ProgramError::Failed { said, .. }) if said.contains("Unable to establish") => {
                Kind::Unreachable
            }
            Self::Tool(error) => error.kind(),
            Self::Odd { .. } | Self::Slow(_) => Kind::Refused,
        }
    }
}

/// One machine and its controller.
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
            let (node, what, place) = (node.to_owned(), what.to_owned(), self.place());
            MachineError { node, what, place, kind: source.kind(), source: Box::new(source) }
        })
    }

    /// Says something about the machine's power. The password is in the environment: arguments are for all to see.
    fn power(&self, word: &str) -> Result<String, ProgramError> {
        let mut command = Command::new(IPMITOOL.name);
        command.args(["-I", "lanplus", "-H", &self.host]);
        if let Some((user, password)) = &self.login {
            command.args(["-U", user, "-E"]).env("IPMI_PASSWORD", password.as_str());
        }
        command.args(["chassis", "power", word]);
        IPMITOOL.run(&format!("ipmitool chassis power {word}"), command, None, CALL)
    }

    fn is_on(&self) -> Result<bool, IpmiError> {
        let said = self.power("status")?;
        match said.trim().to_lowercase().rsplit(' ').next() {
            Some("on") => Ok(true),
            Some("off") => Ok(false),
            _ => Err(IpmiError::Odd {
                call: "ipmitool chassis power status".to_owned(),
                said: said.trim().to_owned(),
            }),
        }
    }

    fn switch(&self, word: &str, want: bool) -> Result<(), IpmiError> {
        if self.is_on()? == want {
            return Ok(());
        }
        self.power(word)?;
        let start = Instant::now();
        while self.is_on()? != want {
            if start.elapsed() > PATIENCE {
                return Err(IpmiError::Slow(if want { "off" } else { "on" }));
            }
            thread::sleep(PAUSE);
        }
        Ok(())
    }
}

impl Machines for Ipmi {
    fn place(&self) -> String {
        format!("ipmi://{}", self.host)
    }

    fn powers(&self) -> Powers {
        Powers { makes: false, media: false, addresses: false }
    }

    fn check(&self, _: &[&str]) -> Vec<Issue> {
        match self.is_on() {
            Ok(_) => Vec::new(),
            Err(error) => vec![super::unasked(&self.place(), error.kind(), &error)],
        }
    }

    fn state(&self, node: &str) -> Result<State, MachineError> {
        let is_on = self.step(node, "look at its machine", self.is_on())?;
        Ok(if is_on { State::On } else { State::Off })
    }

    fn make(&self, _: &str, _: &dyn Shelf, _: &dyn Onlooker) -> Result<Made, MachineError> {
        Ok(Made::Before)
    }

    fn media(&self, _: &str) -> Vec<Medium> {
        Vec::new()
    }

    fn attach(&self, _: &str, _: &dyn Shelf, _: &dyn Onlooker) -> Result<(), MachineError> {
        Ok(())
    }

    fn drives(&self, _: &str) -> Result<Option<Drives>, MachineError> {
        Ok(None)
    }

    fn start(&self, node: &str) -> Result<(), MachineError> {
        self.step(node, "switch its machine on", self.switch("on", true))
    }

    fn stop(&self, node: &str, how: Stop) -> Result<(), MachineError> {
        let word = if how == Stop::Asked { "soft" } else { "off" };
        self.step(node, "switch its machine off", self.switch(word, false))
    }

    fn eject(&self, _: &str) -> Result<(), MachineError> {
        Ok(())
    }

    fn delete(&self, node: &str) -> Result<(), MachineError> {
        Err(super::is_real(node, self.place()))
    }

    fn addresses(&self, _: &str) -> Result<Vec<IpAddr>, MachineError> {
        Ok(Vec::new())
    }
}
