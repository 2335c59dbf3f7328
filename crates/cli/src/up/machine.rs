//! A node's machine, by whoever provides it. Providers block, so each call has a thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ichor_core::bringup::{Blocker, Contact, MachineSeen, NodeStep, Source, Stage};
use tokio::task::spawn_blocking;

use super::act::Ended;
use super::shelf::Media;
use crate::chain::chain;
use crate::machines::{MachineError, Machines, Onlooker, State};

/// A node's machine.
#[derive(Clone)]
pub(super) struct Machine {
    pub node: String,
    pub provider: Arc<dyn Machines>,
    pub media: Arc<Media>,
}

/// What a provider says of a machine.
pub(super) struct Told {
    pub seen: MachineSeen,
    pub addresses: Vec<Contact>,
}

impl Machine {
    /// What there is of it, and where it answers as far as the provider knows.
    pub(super) async fn look(&self) -> Result<Told, Ended> {
        let machine = self.clone();
        self.blocking(move || {
            let powers = machine.provider.powers();
            let (made, on) = match machine.provider.state(&machine.node)? {
                State::Absent => (!powers.makes, false),
                State::Off => (true, false),
                State::On => (true, true),
                State::Foreign(whose) => {
                    let reason =
                        format!("another machine is in its place at {}: {whose}", machine.provider.place());
                    let remedy = "give the node another `vm.id`, or take that machine away yourself";
                    return Ok(Err(Blocker::new(None, reason, remedy)));
                }
            };
            // Where it is nobody has to know: it may answer at an address of the file.
            let found = if on && powers.addresses {
                machine.provider.addresses(&machine.node)
            } else {
                Ok(Vec::new())
            };
            let contact = |address| Contact { address, stage: Stage::Dhcp, source: Source::Hypervisor };
            let addresses = found.unwrap_or_default().into_iter().map(contact).collect();
            Ok(Ok(Told { seen: MachineSeen { made, takes_media: powers.media, on }, addresses }))
        })
        .await?
        .map_err(Ended::Refused)
    }

    /// Does a step; others than those of machines are none here.
    pub(super) async fn act(
        &self,
        step: NodeStep,
        say: impl Fn(String) + Send + Sync + 'static,
    ) -> Result<(), Ended> {
        let machine = self.clone();
        self.blocking(move || {
            let (provider, node) = (&machine.provider, machine.node.as_str());
            let onlooker = Listener { say, tenths: AtomicU64::new(0) };
            match step {
                NodeStep::Make => provider.make(node, &*machine.media, &onlooker).map(drop),
                NodeStep::Attach => provider.attach(node, &*machine.media, &onlooker),
                NodeStep::Start => provider.start(node),
                NodeStep::Eject => provider.eject(node),
                NodeStep::Apply | NodeStep::Reconfigure => Ok(()),
            }
        })
        .await
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, MachineError> + Send + 'static,
    ) -> Result<T, Ended> {
        match spawn_blocking(work).await {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(error)) if error.may_pass() => Err(Ended::Later(chain(&error))),
            Ok(Err(error)) => {
                let remedy = "`ichor machine check` says what keeps its machine from being made or used";
                Err(Ended::Refused(Blocker::new(None, chain(&error), remedy)))
            }
            Err(_) => Err(Ended::Later("the thread of its provider failed".to_owned())),
        }
    }
}

/// A machine that was just made.
pub(super) fn made(seen: MachineSeen) -> MachineSeen {
    MachineSeen { made: true, ..seen }
}

/// A machine that was just switched on.
pub(super) fn started(seen: MachineSeen) -> MachineSeen {
    MachineSeen { on: true, ..seen }
}

/// Tells what a provider says, and of long files every tenth.
struct Listener<F> {
    say: F,
    tenths: AtomicU64,
}

impl<F: Fn(String) + Sync> Onlooker for Listener<F> {
    fn bytes(&self, what: &str, done: u64, total: u64) {
        let tenth = done.saturating_mul(10).checked_div(total).unwrap_or(10);
        if self.tenths.swap(tenth, Ordering::Relaxed) != tenth {
            (self.say)(format!("{what}: {} %", tenth * 10));
        }
    }

    fn line(&self, text: &str) {
        (self.say)(text.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::net::IpAddr;
    use std::sync::Mutex;

    use ichor_core::machines::Drives;
    use ichor_core::render::hypervisor::medium::{Medium, Source as From};
    use ichor_values::Issue;

    use super::*;
    use crate::machines::{Folders, Kind, Made, Powers, Shelf, Stop, Supply};

    /// A provider of one machine, which remembers what was done.
    #[derive(Debug)]
    struct Fake {
        state: State,
        fails: Option<Kind>,
        done: Mutex<Vec<String>>,
    }

    impl Fake {
        fn note(&self, what: &str) -> Result<(), MachineError> {
            self.done.lock().unwrap().push(what.to_owned());
            match self.fails {
                None => Ok(()),
                Some(kind) => Err(MachineError {
                    node: "a".to_owned(),
                    what: what.to_owned(),
                    place: "here".to_owned(),
                    kind,
                    source: "because".into(),
                }),
            }
        }
    }

    impl Machines for Fake {
        fn place(&self) -> String {
            "here".to_owned()
        }

        fn powers(&self) -> Powers {
            Powers { makes: true, media: true, addresses: true }
        }

        fn check(&self, _: &[&str]) -> Vec<Issue> {
            Vec::new()
        }

        fn state(&self, _: &str) -> Result<State, MachineError> {
            self.note("state").map(|()| self.state.clone())
        }

        fn make(&self, _: &str, _: &dyn Shelf, _: &dyn Onlooker) -> Result<Made, MachineError> {
            self.note("make").map(|()| Made::Now)
        }

        fn media(&self, _: &str) -> Vec<Medium> {
            Vec::new()
        }

        fn attach(&self, _: &str, shelf: &dyn Shelf, _: &dyn Onlooker) -> Result<(), MachineError> {
            let source = From::Built("nodes/a/cidata.iso".to_owned());
            let medium = Medium { name: "a.iso".to_owned(), source, boots: false, own: true };
            let Ok(Supply::Bytes(bytes)) = shelf.supply(&medium) else { panic!("it is in memory") };
            self.note(&format!("attach {}", bytes.len()))
        }

        fn drives(&self, _: &str) -> Result<Option<Drives>, MachineError> {
            self.note("drives").map(|()| None)
        }

        fn start(&self, _: &str) -> Result<(), MachineError> {
            self.note("start")
        }

        fn stop(&self, _: &str, _: Stop) -> Result<(), MachineError> {
            self.note("stop")
        }

        fn eject(&self, _: &str) -> Result<(), MachineError> {
            self.note("eject")
        }

        fn delete(&self, _: &str) -> Result<(), MachineError> {
            self.note("delete")
        }

        fn addresses(&self, _: &str) -> Result<Vec<IpAddr>, MachineError> {
            Ok(vec!["10.0.0.5".parse().unwrap()])
        }
    }

    fn machine(state: State, fails: Option<Kind>) -> (Arc<Fake>, Machine) {
        let fake = Arc::new(Fake { state, fails, done: Mutex::default() });
        let built = HashMap::from([("nodes/a/cidata.iso".to_owned(), Arc::from(vec![0; 7]))]);
        let others = Folders { build: "".into(), images: "images".into(), file: "ichor.yaml".into() };
        let media = Arc::new(Media { built, others });
        let provider: Arc<dyn Machines> = Arc::clone(&fake) as _;
        (fake, Machine { node: "a".to_owned(), provider, media })
    }

    #[tokio::test]
    async fn a_machine_is_made_supplied_from_memory_and_started() {
        let (fake, machine) = machine(State::Off, None);

        for step in [NodeStep::Make, NodeStep::Attach, NodeStep::Start, NodeStep::Eject] {
            machine.act(step, drop).await.unwrap();
        }

        assert_eq!(*fake.done.lock().unwrap(), ["make", "attach 7", "start", "eject"]);
    }

    #[tokio::test]
    async fn its_addresses_are_asked_for_while_it_is_on() {
        let told = machine(State::On, None).1.look().await.unwrap();
        let off = machine(State::Off, None).1.look().await.unwrap();

        assert_eq!(told.addresses[0].to_string(), "10.0.0.5 (dhcp, by the hypervisor)");
        assert_eq!((told.seen.on, off.seen.on, off.addresses.len()), (true, false, 0));
    }

    #[tokio::test]
    async fn a_machine_of_somebody_else_is_refused_and_a_provider_that_is_away_asked_again() {
        let foreign = machine(State::Foreign("vm 101, web".to_owned()), None).1.look().await;
        let away = machine(State::Off, Some(Kind::Unreachable)).1.act(NodeStep::Start, drop).await;
        let denied = machine(State::Off, Some(Kind::Denied)).1.act(NodeStep::Start, drop).await;

        assert!(
            matches!(foreign, Err(Ended::Refused(blocker)) if blocker.issue.message.contains("vm 101, web"))
        );
        assert!(matches!(away, Err(Ended::Later(reason)) if reason.contains("because")));
        assert!(matches!(denied, Err(Ended::Refused(_))));
    }
}
