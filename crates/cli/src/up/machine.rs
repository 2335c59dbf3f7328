//! A node's machine at its provider. Providers block, so each call runs on its own thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ichor_core::bringup::{AddressOrigin, AddressStage, Blocker, NodeAddress, NodeStep, ObservedVm};
use tokio::task::spawn_blocking;

use super::media::RunMedia;
use super::talos_steps::StepError;
use crate::chain::chain;
use crate::machines::{MachineError, MachineProvider, MachineState, ProgressSink};

/// A node's machine and its provider.
#[derive(Clone)]
pub(super) struct ProvidedMachine {
    pub node: String,
    pub provider: Arc<dyn MachineProvider>,
    pub media: Arc<RunMedia>,
}

/// State and addresses of a machine, as reported by its provider.
pub(super) struct MachineReport {
    pub vm: ObservedVm,
    pub addresses: Vec<NodeAddress>,
}

impl ProvidedMachine {
    /// Queries the state and the known addresses of the machine.
    pub(super) async fn report(&self) -> Result<MachineReport, StepError> {
        let machine = self.clone();
        self.blocking(move || {
            let capabilities = machine.provider.capabilities();
            let (made, on) = match machine.provider.state(&machine.node)? {
                MachineState::Absent => (!capabilities.creates_vms, false),
                MachineState::Off => (true, false),
                MachineState::On => (true, true),
                MachineState::Foreign(description) => {
                    let reason = format!(
                        "another machine has its name or ID at {}: {description}",
                        machine.provider.location()
                    );
                    let remedy = "set another `vm.id` for the node, or delete that machine manually";
                    return Ok(Err(Blocker::new(None, reason, remedy)));
                }
            };
            // Addresses are optional here: the machine may answer at an address of the cluster file.
            let found = if on && capabilities.reports_addresses {
                machine.provider.addresses(&machine.node)
            } else {
                Ok(Vec::new())
            };
            let contact = |address| NodeAddress {
                address,
                stage: AddressStage::Dhcp,
                source: AddressOrigin::Hypervisor,
            };
            let addresses = found.unwrap_or_default().into_iter().map(contact).collect();
            Ok(Ok(MachineReport {
                vm: ObservedVm { made, takes_media: capabilities.attaches_media, on },
                addresses,
            }))
        })
        .await?
        .map_err(StepError::Refused)
    }

    /// Runs a machine step; steps on the Talos API are ignored.
    pub(super) async fn run_step(
        &self,
        step: NodeStep,
        say: impl Fn(String) + Send + Sync + 'static,
    ) -> Result<(), StepError> {
        let machine = self.clone();
        self.blocking(move || {
            let (provider, node) = (&machine.provider, machine.node.as_str());
            let progress = StepMessages { say, tenths: AtomicU64::new(0) };
            match step {
                NodeStep::Make => provider.create(node, &*machine.media, &progress).map(drop),
                NodeStep::Attach => provider.attach(node, &*machine.media, &progress),
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
    ) -> Result<T, StepError> {
        match spawn_blocking(work).await {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(error)) if error.is_transient() => Err(StepError::Later(chain(&error))),
            Ok(Err(error)) => {
                let remedy = "run `ichor machine check` for the preflight checks of its machine";
                Err(StepError::Refused(Blocker::new(None, chain(&error), remedy)))
            }
            Err(_) => Err(StepError::Later("a provider thread panicked".to_owned())),
        }
    }
}

/// Marks a machine as created.
pub(super) fn mark_created(vm: ObservedVm) -> ObservedVm {
    ObservedVm { made: true, ..vm }
}

/// Marks a machine as powered on.
pub(super) fn mark_started(vm: ObservedVm) -> ObservedVm {
    ObservedVm { on: true, ..vm }
}

/// Prints provider messages, and the progress of transfers in steps of 10 %.
struct StepMessages<F> {
    say: F,
    tenths: AtomicU64,
}

impl<F: Fn(String) + Sync> ProgressSink for StepMessages<F> {
    fn transferred(&self, what: &str, done: u64, total: u64) {
        let tenth = done.saturating_mul(10).checked_div(total).unwrap_or(10);
        if self.tenths.swap(tenth, Ordering::Relaxed) != tenth {
            (self.say)(format!("{what}: {} %", tenth * 10));
        }
    }

    fn message(&self, text: &str) {
        (self.say)(text.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::net::IpAddr;
    use std::sync::Mutex;

    use ichor_core::machines::Drives;
    use ichor_core::render::hypervisor::medium::{Medium, MediumSource as From};
    use ichor_values::Issue;

    use super::*;
    use crate::machines::{
        Capabilities, Creation, FailureKind, MediaFolders, MediaSource, MediumContent, PowerOff,
    };

    /// A fake provider of one machine that records its calls.
    #[derive(Debug)]
    struct FakeProvider {
        state: MachineState,
        fails: Option<FailureKind>,
        done: Mutex<Vec<String>>,
    }

    impl FakeProvider {
        fn record(&self, what: &str) -> Result<(), MachineError> {
            self.done.lock().unwrap().push(what.to_owned());
            match self.fails {
                None => Ok(()),
                Some(kind) => Err(MachineError {
                    node: "a".to_owned(),
                    operation: what.to_owned(),
                    location: "here".to_owned(),
                    kind,
                    source: "because".into(),
                }),
            }
        }
    }

    impl MachineProvider for FakeProvider {
        fn location(&self) -> String {
            "here".to_owned()
        }

        fn capabilities(&self) -> Capabilities {
            Capabilities { creates_vms: true, attaches_media: true, reports_addresses: true }
        }

        fn check(&self, _: &[&str]) -> Vec<Issue> {
            Vec::new()
        }

        fn state(&self, _: &str) -> Result<MachineState, MachineError> {
            self.record("state").map(|()| self.state.clone())
        }

        fn create(
            &self,
            _: &str,
            _: &dyn MediaSource,
            _: &dyn ProgressSink,
        ) -> Result<Creation, MachineError> {
            self.record("make").map(|()| Creation::Created)
        }

        fn media(&self, _: &str) -> Vec<Medium> {
            Vec::new()
        }

        fn attach(
            &self,
            _: &str,
            source: &dyn MediaSource,
            _: &dyn ProgressSink,
        ) -> Result<(), MachineError> {
            let medium = Medium {
                name: "a.iso".to_owned(),
                source: From::Built("nodes/a/cidata.iso".to_owned()),
                boots: false,
                own: true,
            };
            let Ok(MediumContent::Bytes(bytes)) = source.content(&medium) else {
                panic!("the medium is in memory")
            };
            self.record(&format!("attach {}", bytes.len()))
        }

        fn drives(&self, _: &str) -> Result<Option<Drives>, MachineError> {
            self.record("drives").map(|()| None)
        }

        fn start(&self, _: &str) -> Result<(), MachineError> {
            self.record("start")
        }

        fn stop(&self, _: &str, _: PowerOff) -> Result<(), MachineError> {
            self.record("stop")
        }

        fn eject(&self, _: &str) -> Result<(), MachineError> {
            self.record("eject")
        }

        fn delete(&self, _: &str) -> Result<(), MachineError> {
            self.record("delete")
        }

        fn addresses(&self, _: &str) -> Result<Vec<IpAddr>, MachineError> {
            Ok(vec!["10.0.0.5".parse().unwrap()])
        }
    }

    fn machine(state: MachineState, fails: Option<FailureKind>) -> (Arc<FakeProvider>, ProvidedMachine) {
        let fake = Arc::new(FakeProvider { state, fails, done: Mutex::default() });
        let built = HashMap::from([("nodes/a/cidata.iso".to_owned(), Arc::from(vec![0; 7]))]);
        let others = MediaFolders { build: "".into(), images: "images".into(), file: "ichor.yaml".into() };
        let media = Arc::new(RunMedia { built, others });
        let provider: Arc<dyn MachineProvider> = Arc::clone(&fake) as _;
        (fake, ProvidedMachine { node: "a".to_owned(), provider, media })
    }

    #[tokio::test]
    async fn a_machine_is_created_with_media_from_memory_and_started() {
        let (fake, machine) = machine(MachineState::Off, None);

        for step in [NodeStep::Make, NodeStep::Attach, NodeStep::Start, NodeStep::Eject] {
            machine.run_step(step, drop).await.unwrap();
        }

        assert_eq!(*fake.done.lock().unwrap(), ["make", "attach 7", "start", "eject"]);
    }

    #[tokio::test]
    async fn addresses_are_queried_only_while_the_machine_is_on() {
        let report = machine(MachineState::On, None).1.report().await.unwrap();
        let off = machine(MachineState::Off, None).1.report().await.unwrap();

        assert_eq!(report.addresses[0].to_string(), "10.0.0.5 (dhcp, from the hypervisor)");
        assert_eq!((report.vm.on, off.vm.on, off.addresses.len()), (true, false, 0));
    }

    #[tokio::test]
    async fn a_foreign_machine_is_refused_and_an_unreachable_provider_is_retried() {
        let foreign = machine(MachineState::Foreign("vm 101, web".to_owned()), None).1.report().await;
        let unreachable = machine(MachineState::Off, Some(FailureKind::Unreachable))
            .1
            .run_step(NodeStep::Start, drop)
            .await;
        let denied =
            machine(MachineState::Off, Some(FailureKind::Denied)).1.run_step(NodeStep::Start, drop).await;

        assert!(
            matches!(foreign, Err(StepError::Refused(blocker)) if blocker.issue.message.contains("vm 101, web"))
        );
        assert!(matches!(unreachable, Err(StepError::Later(reason)) if reason.contains("because")));
        assert!(matches!(denied, Err(StepError::Refused(_))));
    }
}
