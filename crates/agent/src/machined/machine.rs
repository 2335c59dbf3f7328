//! The state of a machine, from its events.

use std::fmt;

use prost::Message;

use super::message::{EventData, MachineStatusEvent, SequenceAction, SequenceEvent, Stage};

/// Why a node leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaveReason {
    /// It reboots.
    Reboots,
    /// It shuts down.
    ShutsDown,
    /// It is reset.
    Reset,
    /// It reboots into another release.
    Upgraded,
}

impl LeaveReason {
    /// The reason of a stage, if the node leaves.
    fn from_stage(stage: Stage) -> Option<Self> {
        match stage {
            Stage::Rebooting => Some(Self::Reboots),
            Stage::ShuttingDown => Some(Self::ShutsDown),
            Stage::Resetting => Some(Self::Reset),
            Stage::Upgrading => Some(Self::Upgraded),
            Stage::Unknown | Stage::Booting | Stage::Installing | Stage::Maintenance | Stage::Running => None,
        }
    }

    fn from_sequence(sequence: &str) -> Option<Self> {
        match sequence {
            "reboot" => Some(Self::Reboots),
            "shutdown" => Some(Self::ShutsDown),
            "reset" => Some(Self::Reset),
            "upgrade" | "stageUpgrade" | "maintenanceUpgrade" => Some(Self::Upgraded),
            _ => None,
        }
    }
}

impl fmt::Display for LeaveReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Reboots => "the node reboots",
            Self::ShutsDown => "the node shuts down",
            Self::Reset => "the node is reset",
            Self::Upgraded => "the node is upgraded",
        })
    }
}

/// What is known of a machine.
///
/// Its stage is decisive. The sequence behind it is reported a moment earlier, and its end clears it: after a failed
/// one, the machine keeps running.
#[derive(Debug, Default)]
pub(super) struct MachineState {
    stage: Option<LeaveReason>,
    sequence: Option<LeaveReason>,
}

impl MachineState {
    /// Handles an event; malformed and other events change nothing.
    pub(super) fn handle(&mut self, event: &EventData) {
        match event.type_url.rsplit('/').next() {
            Some("machine.MachineStatusEvent") => {
                if let Ok(event) = MachineStatusEvent::decode(&event.value[..]) {
                    self.stage = LeaveReason::from_stage(event.stage());
                }
            }
            Some("machine.SequenceEvent") => {
                if let Ok(event) = SequenceEvent::decode(&event.value[..]) {
                    self.sequence = match event.action() {
                        SequenceAction::Start => LeaveReason::from_sequence(&event.sequence),
                        SequenceAction::Stop => None,
                        SequenceAction::Noop => self.sequence,
                    };
                }
            }
            _ => {}
        }
    }

    pub(super) fn leaving(&self) -> Option<LeaveReason> {
        self.stage.or(self.sequence)
    }
}

#[cfg(test)]
mod tests {
    use super::SequenceAction::{Start, Stop};
    use super::*;

    fn stage(stage: i32) -> EventData {
        let value = MachineStatusEvent { stage }.encode_to_vec();
        EventData { type_url: "talos/runtime/machine.MachineStatusEvent".into(), value }
    }

    fn sequence(sequence: &str, action: SequenceAction) -> EventData {
        let value = SequenceEvent { sequence: sequence.into(), action: action.into() }.encode_to_vec();
        EventData { type_url: "talos/runtime/machine.SequenceEvent".into(), value }
    }

    fn after(events: &[EventData]) -> Option<LeaveReason> {
        let mut machine = MachineState::default();
        for event in events {
            machine.handle(event);
        }
        machine.leaving()
    }

    #[test]
    fn four_stages_are_those_of_a_leaving_node() {
        let found: Vec<_> = (0..10).map(|number| after(&[stage(number)])).collect();

        let four = [LeaveReason::Reboots, LeaveReason::ShutsDown, LeaveReason::Reset, LeaveReason::Upgraded]
            .map(Some);
        assert_eq!(found[5..9], four);
        assert!(found[..5].iter().chain(&found[9..]).all(Option::is_none));
    }

    #[test]
    fn a_sequence_is_reported_before_the_stage_and_a_late_event_of_the_old_stage_changes_nothing() {
        assert_eq!(after(&[sequence("reboot", Start)]), Some(LeaveReason::Reboots));
        assert_eq!(after(&[sequence("reboot", Start), stage(4)]), Some(LeaveReason::Reboots));
        for upgrade in ["upgrade", "stageUpgrade", "maintenanceUpgrade"] {
            assert_eq!(after(&[sequence(upgrade, Start)]), Some(LeaveReason::Upgraded));
        }
        for other in ["boot", "initialize", "install", "noop", "emergencyVolumeCleanup"] {
            assert_eq!(after(&[sequence(other, Start)]), None);
        }
    }

    #[test]
    fn a_failed_sequence_is_over() {
        let failed = [sequence("upgrade", Start), stage(8), sequence("upgrade", Stop), stage(4)];

        assert_eq!(after(&failed[..3]), Some(LeaveReason::Upgraded), "the stage has the last word");
        assert_eq!(after(&failed), None);
    }

    #[test]
    fn malformed_events_change_nothing() {
        let broken = EventData { value: vec![0xff], ..stage(5) };
        let foreign = EventData { type_url: "talos/runtime/machine.TaskEvent".into(), ..stage(4) };

        assert_eq!(after(&[stage(5), broken, foreign, EventData::default()]), Some(LeaveReason::Reboots));
    }
}
