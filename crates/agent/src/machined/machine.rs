//! What a machine is about, from its events.

use std::fmt;

use prost::Message;

use super::message::{EventData, MachineStatusEvent, SequenceAction, SequenceEvent, Stage};

/// Why a node leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaveReason {
    /// It comes back.
    Reboots,
    /// It does not.
    ShutsDown,
    /// It forgets everything.
    Reset,
    /// It comes back as another release.
    Upgraded,
}

impl LeaveReason {
    /// The stages that are the end of one.
    fn of_stage(stage: Stage) -> Option<Self> {
        match stage {
            Stage::Rebooting => Some(Self::Reboots),
            Stage::ShuttingDown => Some(Self::ShutsDown),
            Stage::Resetting => Some(Self::Reset),
            Stage::Upgrading => Some(Self::Upgraded),
            Stage::Unknown | Stage::Booting | Stage::Installing | Stage::Maintenance | Stage::Running => None,
        }
    }

    fn of_sequence(sequence: &str) -> Option<Self> {
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
/// Its stage says it all. The sequence behind it is heard a moment earlier, and is over when it ends: one that fails
/// leaves the machine running.
#[derive(Debug, Default)]
pub(super) struct MachineState {
    stage: Option<LeaveReason>,
    sequence: Option<LeaveReason>,
}

impl MachineState {
    /// Takes an event in; what cannot be read, or is about something else, changes nothing.
    pub(super) fn hear(&mut self, event: &EventData) {
        match event.type_url.rsplit('/').next() {
            Some("machine.MachineStatusEvent") => {
                if let Ok(event) = MachineStatusEvent::decode(&event.value[..]) {
                    self.stage = LeaveReason::of_stage(event.stage());
                }
            }
            Some("machine.SequenceEvent") => {
                if let Ok(event) = SequenceEvent::decode(&event.value[..]) {
                    self.sequence = match event.action() {
                        SequenceAction::Start => LeaveReason::of_sequence(&event.sequence),
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
            machine.hear(event);
        }
        machine.leaving()
    }

    #[test]
    fn four_stages_mean_leaving() {
        let found: Vec<_> = (0..10).map(|number| after(&[stage(number)])).collect();

        let four = [LeaveReason::Reboots, LeaveReason::ShutsDown, LeaveReason::Reset, LeaveReason::Upgraded]
            .map(Some);
        assert_eq!(found[5..9], four);
        assert!(found[..5].iter().chain(&found[9..]).all(Option::is_none));
    }

    #[test]
    fn a_sequence_is_heard_before_the_stage_and_a_late_word_about_the_old_stage_changes_nothing() {
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
    fn a_sequence_that_failed_is_over() {
        let failed = [sequence("upgrade", Start), stage(8), sequence("upgrade", Stop), stage(4)];

        assert_eq!(after(&failed[..3]), Some(LeaveReason::Upgraded), "the stage has the last word");
        assert_eq!(after(&failed), None);
    }

    #[test]
    fn what_cannot_be_read_changes_nothing() {
        let broken = EventData { value: vec![0xff], ..stage(5) };
        let foreign = EventData { type_url: "talos/runtime/machine.TaskEvent".into(), ..stage(4) };

        assert_eq!(after(&[stage(5), broken, foreign, EventData::default()]), Some(LeaveReason::Reboots));
    }
}
