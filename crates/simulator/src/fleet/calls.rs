//! The calls of Talos' API that change a machine, or return a single response.
//!
//! Whether the caller may make them is decided before ([`rights`](super::rbac)).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::call_error::{CallError, ErrorCode};
use super::etcd::EtcdCluster;
use super::machine::{NodeEventKind, Phase, Sequence, ServiceState};
use super::node_config::{NodeConfig, is_partial};
use super::rbac::Caller;
use super::resources::platform;
use super::simulation::{Fleet, GRACE};
use ichor_talos::api::machine::{
    Action, ActionResponse, ApplyConfiguration, ApplyConfigurationRequest, ApplyConfigurationResponse,
    ApplyMode, EmptyResponse, EtcdAlarmListResponse, EtcdAlarms, EtcdMember, EtcdMemberListResponse,
    EtcdMemberStatus, EtcdMembers, EtcdStatus, EtcdStatusResponse, PlainResponse, PlatformInfo, ResetRequest,
    Upgrade, UpgradeRequest, UpgradeResponse, Version, VersionInfo, VersionResponse,
};
use ichor_talos::release::at_least;
use ichor_talos::validate::Mode;
use ichor_values::TalosVersion;

/// The answer of calls that have nothing to say.
fn plain_response() -> PlainResponse {
    PlainResponse { messages: vec![EmptyResponse { metadata: None }] }
}

impl Fleet {
    /// `Version`.
    pub fn version(&self, nth: usize) -> VersionResponse {
        let machine = &self.machines[nth];
        let version = VersionInfo { tag: machine.release.to_string(), arch: "amd64".to_owned() };
        let platform = PlatformInfo { name: platform(machine).to_owned() };
        let message = Version { metadata: None, version: Some(version), platform: Some(platform) };
        VersionResponse { messages: vec![message] }
    }

    /// `ApplyConfiguration`.
    pub(crate) fn apply(
        &mut self,
        nth: usize,
        caller: &Caller,
        request: &ApplyConfigurationRequest,
        now: Duration,
    ) -> Result<ApplyConfigurationResponse, CallError> {
        let machine = &self.machines[nth];
        let refused = |code, message: &str| Err(CallError::new(code, message));
        let in_maintenance = match machine.phase {
            Phase::Maintenance => true,
            Phase::Up => false,
            Phase::Accepted => {
                return refused(
                    ErrorCode::FailedPrecondition,
                    "another apply configuration is already in progress",
                );
            }
            _ => {
                return refused(
                    ErrorCode::FailedPrecondition,
                    "configuration was already applied and node is rebooting, cannot apply more configuration changes \
                     until next reboot",
                );
            }
        };
        if !in_maintenance && *caller == Caller::Anyone {
            return Err(CallError::not_authorized());
        }
        let mode = ApplyMode::try_from(request.mode).unwrap_or(ApplyMode::Reboot);
        check_mode(mode, in_maintenance, &machine.release)?;
        if let Some(words) = machine.faults.refusal() {
            return refused(ErrorCode::InvalidArgument, words);
        }
        let installed = !machine.needs_install() && at_least(&machine.release, 13);
        let place = if machine.hardware.image || installed { Mode::Cloud } else { Mode::Metal };
        if in_maintenance
            && at_least(&machine.release, 13)
            && is_partial(&request.data, &machine.release, place)
        {
            return Ok(self.keep_partial(nth, mode, request.dry_run, now));
        }
        let intent = NodeConfig::read(&request.data, &machine.release, place)?;
        let old = machine.intent.as_ref();
        let changes_boot = old.is_some_and(|old| needs_reboot(old, &intent, &machine.release));
        let reboots =
            !in_maintenance && (mode == ApplyMode::Reboot || (mode == ApplyMode::Auto && changes_boot));
        if mode == ApplyMode::NoReboot && !in_maintenance && changes_boot {
            return refused(ErrorCode::InvalidArgument, NOT_IMMEDIATE);
        }
        let (answered, details) = match mode {
            ApplyMode::Staged => (ApplyMode::Staged, STAGED),
            ApplyMode::Try => (ApplyMode::Try, IMMEDIATE),
            _ if reboots => (ApplyMode::Reboot, "Applied configuration with a reboot"),
            _ => (ApplyMode::NoReboot, IMMEDIATE),
        };
        let warnings = if request.dry_run { Vec::new() } else { intent.warnings.clone() };
        let answer = |mode_details: String| {
            let old = in_maintenance && !at_least(&self.machines[nth].release, 13);
            let (mode, mode_details) = if old && !request.dry_run {
                (ApplyMode::Reboot as i32, String::new())
            } else {
                (answered as i32, mode_details)
            };
            let message = ApplyConfiguration { metadata: None, warnings, mode, mode_details };
            ApplyConfigurationResponse { messages: vec![message] }
        };
        if request.dry_run {
            return Ok(answer(self.dry_run(nth, in_maintenance, details, &intent)));
        }
        let response = answer(details.to_owned());
        self.accept(nth, Arc::new(intent), answered, in_maintenance, now);
        Ok(response)
    }

    /// The answer to documents without the main one: the machine continues to wait for that.
    fn keep_partial(
        &mut self,
        nth: usize,
        mode: ApplyMode,
        dry_run: bool,
        now: Duration,
    ) -> ApplyConfigurationResponse {
        let (mode, details) = match mode {
            ApplyMode::Staged => (mode, STAGED),
            ApplyMode::Try => (mode, IMMEDIATE),
            ApplyMode::Auto | ApplyMode::NoReboot | ApplyMode::Reboot => (ApplyMode::NoReboot, IMMEDIATE),
        };
        let mode_details = if dry_run { dry_run_summary(details, false) } else { details.to_owned() };
        if !dry_run {
            self.machines[nth].log(now, "[talos] apply config request");
        }
        let message =
            ApplyConfiguration { metadata: None, warnings: Vec::new(), mode: mode as i32, mode_details };
        ApplyConfigurationResponse { messages: vec![message] }
    }

    fn dry_run(&self, nth: usize, in_maintenance: bool, details: &str, intent: &NodeConfig) -> String {
        let machine = &self.machines[nth];
        if in_maintenance && !at_least(&machine.release, 13) {
            return "Dry run summary:\nNode is running in maintenance mode and does not have a config yet."
                .to_owned();
        }
        let same = machine.intent.as_ref().is_some_and(|old| old.text == intent.text);
        dry_run_summary(details, same)
    }

    fn accept(
        &mut self,
        nth: usize,
        intent: Arc<NodeConfig>,
        mode: ApplyMode,
        in_maintenance: bool,
        now: Duration,
    ) {
        let start = self.delays.start;
        let machine = &mut self.machines[nth];
        machine.log(now, "[talos] apply config request");
        if in_maintenance {
            machine.intent = Some(intent);
            machine.phase = Phase::Accepted;
            machine.due = Some(now + GRACE);
            return;
        }
        if let Some(disk) = machine.disk.as_mut().filter(|_| mode != ApplyMode::Try) {
            disk.intent = Some(Arc::clone(&intent));
        }
        match mode {
            ApplyMode::Reboot => self.leave(nth, Sequence::Reboot, GRACE, now),
            ApplyMode::Staged => {}
            _ => {
                let hostname = machine.hostname();
                machine.intent = Some(intent);
                if machine.hostname() != hostname && machine.units.kubelet == ServiceState::Up {
                    // The kubelet restarts as another node; the earlier one remains until it is deleted.
                    machine.units.kubelet = ServiceState::Starting(now + start);
                }
                machine.join_overlay();
                let addresses = machine.addresses();
                machine.accumulated.extend(addresses);
            }
        }
    }

    /// `Bootstrap`.
    pub fn bootstrap(&mut self, nth: usize, now: Duration) -> Result<PlainResponse, CallError> {
        let machine = &self.machines[nth];
        let refused = |code, message: &str| Err(CallError::new(code, message));
        if machine.phase != Phase::Up || machine.units.cri != ServiceState::Up {
            return refused(ErrorCode::FailedPrecondition, "bootstrap is not available yet");
        }
        if !machine.is_control_plane() {
            return Err(CallError::not_control_plane("bootstrap"));
        }
        if machine.faults.skew().is_some() {
            return refused(ErrorCode::FailedPrecondition, "time is not in sync yet");
        }
        if machine.disk.as_ref().is_some_and(|disk| disk.etcd.is_some()) {
            return refused(ErrorCode::AlreadyExists, "etcd data directory is not empty");
        }
        let cluster = machine.intent.as_ref().map(|intent| intent.key).unwrap_or_default();
        self.etcds.push(EtcdCluster::new(cluster));
        self.bootstraps += 1;
        self.add_member(self.etcds.len() - 1, nth, false);
        let ready_at = now + self.delays.start;
        let machine = &mut self.machines[nth];
        machine.units.etcd = ServiceState::Starting(ready_at);
        machine.log(now, "[talos] bootstrap request received");
        Ok(plain_response())
    }

    /// `Reboot`.
    pub fn reboot(&mut self, nth: usize, now: Duration) -> Result<ActionResponse, CallError> {
        self.depart(nth, Sequence::Reboot, now)
    }

    /// `Shutdown`.
    pub(crate) fn shutdown(&mut self, nth: usize, now: Duration) -> Result<ActionResponse, CallError> {
        self.depart(nth, Sequence::Shutdown, now)
    }

    /// `Reset`.
    pub fn reset(
        &mut self,
        nth: usize,
        request: &ResetRequest,
        now: Duration,
    ) -> Result<ActionResponse, CallError> {
        if self.machines[nth].disk.is_none() {
            return Err(CallError::new(ErrorCode::FailedPrecondition, "system disk not found"));
        }
        if request.graceful && self.etcd_of(nth).is_some_and(|etcd| etcd.member(nth).is_some()) {
            self.remove_member(nth);
        }
        let full_disk = request.system_partitions_to_wipe.is_empty();
        self.depart(nth, Sequence::Reset { full_disk, reboot: request.reboot }, now)
    }

    /// `Upgrade`, the call before Talos 1.13.
    pub fn upgrade(
        &mut self,
        nth: usize,
        request: &UpgradeRequest,
        now: Duration,
    ) -> Result<UpgradeResponse, CallError> {
        let release = release_of(&request.image)?;
        if self.machines[nth].disk.is_none() {
            return Err(CallError::new(ErrorCode::FailedPrecondition, "Talos is not installed"));
        }
        if self.etcd_of(nth).is_some_and(|etcd| !self.has_quorum(etcd)) {
            return Err(CallError::new(
                ErrorCode::Unknown,
                "error validating etcd for upgrade: etcdserver: no leader",
            ));
        }
        self.machines[nth].upgraded = Some((release, request.image.clone()));
        let install = self.delays.install;
        self.leave(nth, Sequence::Upgrade, GRACE + install, now);
        Ok(UpgradeResponse { messages: vec![Upgrade { metadata: None }] })
    }

    /// `ImageService/Pull`: the name that the image has then.
    pub(crate) fn pull(&mut self, nth: usize, image: &str) -> Result<String, CallError> {
        release_of(image)?;
        self.machines[nth].images.insert(image.to_owned());
        Ok(image.to_owned())
    }

    /// `ImageService/Import`: the name that the image has then.
    pub fn import(&mut self, nth: usize, bytes: usize) -> String {
        let machine = &mut self.machines[nth];
        let name = format!("imported/installer-{bytes}:{}", machine.release);
        machine.images.insert(name.clone());
        name
    }

    /// `LifecycleService/Upgrade`: the installer writes a release that the next boot starts.
    pub(crate) fn install_upgrade(&mut self, nth: usize, image: &str) -> Result<TalosVersion, CallError> {
        let machine = &mut self.machines[nth];
        if machine.disk.is_none() {
            return Err(CallError::new(ErrorCode::FailedPrecondition, "machine is not installed"));
        }
        if !machine.images.contains(image) {
            let message = format!(
                "upgrade failed: installer image \"{image}\" not found in containerd store: image \"{image}\": not found"
            );
            return Err(CallError::new(ErrorCode::Internal, message));
        }
        let release = release_of(image)?;
        machine.upgraded = Some((release.clone(), image.to_owned()));
        self.write_upgrade(nth);
        Ok(release)
    }

    /// `MetaWrite`.
    pub(crate) fn meta_write(
        &mut self,
        nth: usize,
        key: u32,
        value: Vec<u8>,
    ) -> Result<PlainResponse, CallError> {
        self.meta_key(nth, key)?.insert(key, value);
        Ok(plain_response())
    }

    /// `MetaDelete`.
    pub(crate) fn meta_delete(&mut self, nth: usize, key: u32) -> Result<PlainResponse, CallError> {
        match self.meta_key(nth, key)?.remove(&key) {
            Some(_) => Ok(plain_response()),
            None => Err(CallError::new(ErrorCode::NotFound, "meta key not found")),
        }
    }

    fn meta_key(&mut self, nth: usize, key: u32) -> Result<&mut BTreeMap<u32, Vec<u8>>, CallError> {
        if key > 255 {
            return Err(CallError::new(ErrorCode::InvalidArgument, "key must be a uint8"));
        }
        let disk = self.machines[nth].disk.as_mut();
        disk.map(|disk| &mut disk.meta)
            .ok_or_else(|| CallError::new(ErrorCode::FailedPrecondition, "META partition is not available"))
    }

    /// `EtcdMemberList`.
    pub(crate) fn etcd_members(&self, nth: usize) -> Result<EtcdMemberListResponse, CallError> {
        let etcd = self.etcd_that_answers(nth, "member list", true)?;
        let members = etcd.members.iter().map(|member| EtcdMember {
            id: member.id,
            hostname: member.hostname.clone(),
            is_learner: member.learner,
        });
        let members = EtcdMembers { metadata: None, members: members.collect() };
        Ok(EtcdMemberListResponse { messages: vec![members] })
    }

    /// `EtcdStatus`.
    pub(crate) fn etcd_status(&self, nth: usize) -> Result<EtcdStatusResponse, CallError> {
        let etcd = self.etcd_that_answers(nth, "etcd status", false)?;
        let own = etcd.member(nth);
        let leader = etcd.leader.and_then(|leader| etcd.member(leader)).map_or(0, |member| member.id);
        let errors = if leader == 0 { vec!["etcdserver: no leader".to_owned()] } else { Vec::new() };
        let status = EtcdMemberStatus {
            leader,
            errors,
            is_learner: own.is_some_and(|member| member.learner),
            member_id: own.map_or(0, |member| member.id),
        };
        let status = EtcdStatus { metadata: None, member_status: Some(status) };
        Ok(EtcdStatusResponse { messages: vec![status] })
    }

    /// `EtcdLeaveCluster`.
    pub(crate) fn etcd_leave(&mut self, nth: usize) -> Result<PlainResponse, CallError> {
        self.etcd_that_answers(nth, "etcd leave", true)?;
        self.remove_member(nth);
        Ok(plain_response())
    }

    /// `EtcdRemoveMemberByID`.
    pub(crate) fn etcd_remove(&mut self, nth: usize, id: u64) -> Result<PlainResponse, CallError> {
        let etcd = self.etcd_that_answers(nth, "etcd remove member", true)?;
        let Some(member) = etcd.members.iter().find(|member| member.id == id) else {
            return Err(CallError::new(ErrorCode::NotFound, "etcdserver: member not found"));
        };
        self.remove_member(member.machine);
        Ok(plain_response())
    }

    /// `EtcdForfeitLeadership`: the member that leads then; empty where this one did not lead.
    pub(crate) fn etcd_forfeit(&mut self, nth: usize) -> Result<String, CallError> {
        let etcd = self.etcd_that_answers(nth, "etcd forfeit leadership", true)?;
        if etcd.leader != Some(nth) {
            return Ok(String::new());
        }
        let others = etcd.voters().filter(|member| member.machine != nth && self.is_member_up(member));
        let Some((machine, id)) = others.map(|member| (member.machine, member.id)).next() else {
            return Err(CallError::new(ErrorCode::Unknown, "failed to forfeit leadership: no other member"));
        };
        let number = self.machines[nth].disk.as_ref().and_then(|disk| disk.etcd).unwrap_or_default();
        self.etcds[number].leader = Some(machine);
        Ok(format!("{id:016x}"))
    }

    /// `EtcdAlarmList`: a simulated etcd never has one.
    pub(crate) fn etcd_alarms(&self, nth: usize) -> Result<EtcdAlarmListResponse, CallError> {
        self.etcd_that_answers(nth, "etcd alarm list", true)?;
        let alarms = EtcdAlarms { metadata: None, member_alarms: Vec::new() };
        Ok(EtcdAlarmListResponse { messages: vec![alarms] })
    }

    /// The etcd of a machine, or why it does not answer.
    fn etcd_that_answers(
        &self,
        nth: usize,
        call: &str,
        needs_leader: bool,
    ) -> Result<&EtcdCluster, CallError> {
        let machine = &self.machines[nth];
        if !machine.is_control_plane() {
            return Err(CallError::not_control_plane(call));
        }
        let up = machine.phase == Phase::Up && machine.units.etcd == ServiceState::Up;
        let Some(etcd) = self.etcd_of(nth).filter(|_| up) else {
            return Err(CallError::new(
                ErrorCode::Unavailable,
                "failed to create etcd client: error building etcd client: context deadline exceeded",
            ));
        };
        if needs_leader && !self.has_quorum(etcd) {
            return Err(CallError::new(ErrorCode::Unavailable, "etcdserver: no leader"));
        }
        Ok(etcd)
    }

    /// Takes a machine out of its etcd, and its data with it.
    fn remove_member(&mut self, nth: usize) {
        let machine = &mut self.machines[nth];
        let number = machine.disk.as_mut().and_then(|disk| disk.etcd.take());
        machine.units.etcd = ServiceState::Down;
        machine.left_etcd = true;
        if let Some(etcd) = number.and_then(|number| self.etcds.get_mut(number)) {
            etcd.members.retain(|member| member.machine != nth);
            etcd.change();
        }
    }

    fn depart(&mut self, nth: usize, sequence: Sequence, now: Duration) -> Result<ActionResponse, CallError> {
        if matches!(self.machines[nth].phase, Phase::Ending(_)) {
            return Err(CallError::new(ErrorCode::FailedPrecondition, "sequence is already running"));
        }
        self.leave(nth, sequence, GRACE, now);
        Ok(ActionResponse { messages: vec![Action { metadata: None }] })
    }

    /// Starts the sequence that ends a run.
    fn leave(&mut self, nth: usize, sequence: Sequence, after: Duration, now: Duration) {
        let machine = &mut self.machines[nth];
        machine.phase = Phase::Ending(sequence);
        machine.due = Some(now + after);
        machine.record_event(now, NodeEventKind::Sequence(sequence.word(), true));
        machine.log(now, format!("[talos] {} sequence: starting", sequence.word()));
    }
}

const IMMEDIATE: &str = "Applied configuration without a reboot";
const STAGED: &str = "Staged configuration to be applied after the next reboot";

fn dry_run_summary(details: &str, same: bool) -> String {
    let diff = if same { "No changes." } else { "Config diff:\n(the simulator shows none)" };
    format!("Dry run summary:\n{details} (skipped in dry-run).\n{diff}")
}

/// Talos' message for a change that takes effect at the next boot.
const NOT_IMMEDIATE: &str =
    "this config change can't be applied in immediate mode\ndiff:\n(the simulator shows none)";

/// Whether a machine supports this apply mode.
fn check_mode(mode: ApplyMode, in_maintenance: bool, talos: &TalosVersion) -> Result<(), CallError> {
    let unimplemented = |message: String| Err(CallError::new(ErrorCode::Unimplemented, message));
    match mode {
        ApplyMode::NoReboot | ApplyMode::Staged if in_maintenance && !at_least(talos, 13) => {
            let word = if mode == ApplyMode::Staged { "staged" } else { "no-reboot" };
            unimplemented(format!("apply configuration --mode='{word}' is not supported in maintenance mode"))
        }
        ApplyMode::Reboot if !in_maintenance && at_least(talos, 14) => unimplemented(
            "the REBOOT mode is not supported, please use AUTO or NO_REBOOT modes instead".to_owned(),
        ),
        _ => Ok(()),
    }
}

/// Whether a machine has to start again to take up a configuration.
///
/// From 1.14 on none has to, whatever changes.
fn needs_reboot(old: &NodeConfig, new: &NodeConfig, talos: &TalosVersion) -> bool {
    !at_least(talos, 14) && old.boot_settings != new.boot_settings
}

/// The release in the tag of an installer image.
fn release_of(image: &str) -> Result<TalosVersion, CallError> {
    let tag = image.split('@').next().and_then(|name| name.rsplit_once(':')).map_or("", |(_, tag)| tag);
    TalosVersion::parse(tag).map_err(|_| {
        CallError::new(
            ErrorCode::InvalidArgument,
            format!("error validating installer image \"{image}\": not found"),
        )
    })
}
