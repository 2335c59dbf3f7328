//! The messages of Talos' API on the wire.
//!
//! Numbers and kinds of fields are repeated here, as in Talos' own descriptions: a node would silently ignore a field
//! that is wrong in `talos/api`.

use std::fmt::Debug;

use ichor_talos::api::cluster::{ClusterInfo, HealthCheckProgress, HealthCheckRequest};
use ichor_talos::api::common::{Any, Containerd, Data, Duration, ResponseMetadata};
use ichor_talos::api::{config, cosi, image, lifecycle, machine};
use prost::Message;

/// A field that holds bytes, text or a message.
fn held(number: u8, content: impl AsRef<[u8]>) -> Vec<u8> {
    let content = content.as_ref();
    let length = u8::try_from(content.len()).ok().filter(|length| *length < 128).expect("short contents");
    [&[number << 3 | 2, length], content].concat()
}

/// A field that holds a small number, a choice or a truth.
fn count(number: u8, value: u8) -> Vec<u8> {
    assert!(value < 128);
    vec![number << 3, value]
}

/// Asserts that a message encodes to `fields` in this order and decodes to itself.
#[track_caller]
fn is_wire<M: Message + Debug + Default + PartialEq>(message: &M, fields: &[Vec<u8>]) {
    let wire = fields.concat();
    assert_eq!(message.encode_to_vec(), wire);
    assert_eq!(&M::decode(&wire[..]).unwrap(), message);
}

fn metadata() -> ResponseMetadata {
    ResponseMetadata { hostname: "h".into(), error: "e".into() }
}

fn metadata_wire() -> Vec<u8> {
    held(1, [held(1, "h"), held(2, "e")].concat())
}

#[test]
fn common() {
    is_wire(&Data { metadata: Some(metadata()), bytes: b"b".into() }, &[metadata_wire(), held(2, "b")]);
    is_wire(&Containerd { driver: 1, namespace: 2 }, &[count(1, 1), count(2, 2)]);
    is_wire(&Duration { seconds: 3, nanos: 4 }, &[count(1, 3), count(2, 4)]);
    is_wire(&Any { type_url: "t".into(), value: b"v".into() }, &[held(1, "t"), held(2, "v")]);
}

#[test]
fn version() {
    let version = machine::VersionInfo { tag: "t".into(), arch: "a".into() };
    let platform = machine::PlatformInfo { name: "n".into() };
    let one =
        machine::Version { metadata: Some(metadata()), version: Some(version), platform: Some(platform) };

    let version = [held(1, "t"), held(6, "a")].concat();
    let one_wire = [metadata_wire(), held(2, version), held(3, held(1, "n"))].concat();
    is_wire(&machine::VersionResponse { messages: vec![one] }, &[held(1, one_wire)]);
}

#[test]
fn apply() {
    let mode = |mode: machine::ApplyMode| mode as i32;
    assert_eq!(
        [
            mode(machine::ApplyMode::Reboot),
            mode(machine::ApplyMode::Auto),
            mode(machine::ApplyMode::NoReboot),
            mode(machine::ApplyMode::Staged),
            mode(machine::ApplyMode::Try)
        ],
        [0, 1, 2, 3, 4]
    );
    let request = machine::ApplyConfigurationRequest { data: b"d".into(), mode: 1, dry_run: true };
    is_wire(&request, &[held(1, "d"), count(4, 1), count(5, 1)]);

    let one = machine::ApplyConfiguration {
        metadata: Some(metadata()),
        warnings: vec!["w".into()],
        mode: 2,
        mode_details: "d".into(),
    };
    let one_wire = [metadata_wire(), held(2, "w"), count(3, 2), held(4, "d")].concat();
    is_wire(&machine::ApplyConfigurationResponse { messages: vec![one] }, &[held(1, one_wire)]);
}

#[test]
fn answers_without_content() {
    let one = machine::EmptyResponse { metadata: Some(metadata()) };
    is_wire(&machine::PlainResponse { messages: vec![one] }, &[held(1, metadata_wire())]);
}

#[test]
fn services() {
    let event = machine::ServiceEvent { msg: "m".into() };
    let health = machine::ServiceHealth { unknown: true, healthy: true, last_message: "l".into() };
    let info = machine::ServiceInfo {
        id: "i".into(),
        state: "s".into(),
        events: Some(machine::ServiceEvents { events: vec![event] }),
        health: Some(health),
    };
    let list = machine::ServiceList { metadata: Some(metadata()), services: vec![info] };

    let event = held(1, "m");
    let health = [count(1, 1), count(2, 1), held(3, "l")].concat();
    let info = [held(1, "i"), held(2, "s"), held(3, held(1, event)), held(4, health)].concat();
    let list_wire = [metadata_wire(), held(2, info)].concat();
    is_wire(&machine::ServiceListResponse { messages: vec![list] }, &[held(1, list_wire)]);

    is_wire(&machine::ServiceRequest { id: "i".into() }, &[held(1, "i")]);
}

#[test]
fn logs_and_files() {
    let request = machine::LogsRequest {
        namespace: "n".into(),
        id: "i".into(),
        driver: 1,
        follow: true,
        tail_lines: 7,
    };
    is_wire(&request, &[held(1, "n"), held(2, "i"), count(3, 1), count(4, 1), count(5, 7)]);
    is_wire(&machine::DmesgRequest { follow: true, tail: true }, &[count(1, 1), count(2, 1)]);
    is_wire(&machine::ReadRequest { path: "p".into() }, &[held(1, "p")]);
}

#[test]
fn events() {
    is_wire(&machine::EventsRequest { tail_events: 1 }, &[count(1, 1)]);
    let event = machine::MachineEvent {
        metadata: Some(metadata()),
        data: Some(Any { type_url: "t".into(), value: vec![] }),
        id: "i".into(),
    };
    is_wire(&event, &[metadata_wire(), held(2, held(1, "t")), held(3, "i")]);

    let sequence = machine::SequenceEvent { sequence: "s".into(), action: 2 };
    is_wire(&sequence, &[held(1, "s"), count(2, 2)]);

    let unmet = machine::UnmetConditionMessage { name: "n".into(), reason: "r".into() };
    let status = machine::MachineStatusMessage { ready: true, unmet_conditions: vec![unmet] };
    let event = machine::MachineStatusEvent { stage: 8, status: Some(status) };
    let unmet = [held(1, "n"), held(2, "r")].concat();
    is_wire(&event, &[count(1, 8), held(2, [count(1, 1), held(2, unmet)].concat())]);
    assert_eq!(
        [
            machine::Stage::Maintenance as i32,
            machine::Stage::Running as i32,
            machine::Stage::Upgrading as i32
        ],
        [3, 4, 8]
    );
}

#[test]
fn reset_reboot_and_shutdown() {
    let reset = machine::ResetRequest {
        graceful: true,
        reboot: true,
        system_partitions_to_wipe: vec![machine::PartitionToWipe { label: "l".into(), wipe: true }],
    };
    let partition = [held(1, "l"), count(2, 1)].concat();
    is_wire(&reset, &[count(1, 1), count(2, 1), held(3, partition)]);
    is_wire(&machine::RebootRequest { mode: 2 }, &[count(1, 2)]);
    is_wire(&machine::ShutdownRequest { force: true }, &[count(1, 1)]);
    let done = machine::Action { metadata: Some(metadata()) };
    is_wire(&machine::ActionResponse { messages: vec![done] }, &[held(1, metadata_wire())]);
}

#[test]
fn upgrade() {
    is_wire(&machine::UpgradeRequest { image: "i".into() }, &[held(1, "i")]);
    let one = machine::Upgrade { metadata: Some(metadata()) };
    is_wire(&machine::UpgradeResponse { messages: vec![one] }, &[held(1, metadata_wire())]);

    let containerd = Containerd { driver: 1, namespace: 1 };
    let containerd_wire = held(1, [count(1, 1), count(2, 1)].concat());
    let source = lifecycle::Source { image_name: "n".into() };
    let request = lifecycle::LifecycleUpgradeRequest { containerd: Some(containerd), source: Some(source) };
    is_wire(&request, &[containerd_wire.clone(), held(2, held(1, "n"))]);
    let upgrade_response = |response| lifecycle::LifecycleUpgradeResponse {
        progress: Some(lifecycle::Progress { response: Some(response) }),
    };
    is_wire(&upgrade_response(lifecycle::UpgradeOutput::Message("m".into())), &[held(1, held(1, "m"))]);
    is_wire(&upgrade_response(lifecycle::UpgradeOutput::ExitCode(3)), &[held(1, count(2, 3))]);

    let request = image::PullRequest { containerd: Some(containerd), image_ref: "r".into() };
    is_wire(&request, &[containerd_wire.clone(), held(3, "r")]);
    is_wire(&image::PullResponse { name: Some("n".into()) }, &[held(1, "n")]);
    let progress = image::PullResponse::decode(&held(2, held(1, "l"))[..]).unwrap();
    assert_eq!(progress.name, None);
    let chunk = Data { metadata: None, bytes: b"b".into() };
    let request = image::ImportRequest { containerd: Some(containerd), image_chunk: Some(chunk) };
    is_wire(&request, &[containerd_wire, held(2, held(2, "b"))]);
    is_wire(&image::ImportResponse { name: "n".into() }, &[held(1, "n")]);
}

#[test]
fn meta() {
    is_wire(&machine::MetaWriteRequest { key: 10, value: b"v".into() }, &[count(1, 10), held(2, "v")]);
    is_wire(&machine::MetaDeleteRequest { key: 10 }, &[count(1, 10)]);
}

#[test]
fn etcd() {
    let member = machine::EtcdMember { id: 5, hostname: "h".into(), is_learner: true };
    let members = machine::EtcdMembers { metadata: Some(metadata()), members: vec![member] };
    let member = [count(2, 5), held(3, "h"), count(6, 1)].concat();
    let members_wire = [metadata_wire(), held(3, member)].concat();
    is_wire(&machine::EtcdMemberListResponse { messages: vec![members] }, &[held(1, members_wire)]);

    let status =
        machine::EtcdMemberStatus { leader: 4, errors: vec!["e".into()], is_learner: true, member_id: 10 };
    let status_wire = [count(4, 4), held(8, "e"), count(9, 1), count(10, 10)];
    is_wire(&status, &status_wire);
    let one = machine::EtcdStatus { metadata: Some(metadata()), member_status: Some(status) };
    let one_wire = [metadata_wire(), held(2, status_wire.concat())].concat();
    is_wire(&machine::EtcdStatusResponse { messages: vec![one] }, &[held(1, one_wire)]);

    is_wire(&machine::EtcdRemoveMemberByIdRequest { member_id: 9 }, &[count(1, 9)]);
    let one = machine::EtcdForfeitLeadership { metadata: Some(metadata()), member: "m".into() };
    let one_wire = [metadata_wire(), held(2, "m")].concat();
    is_wire(&machine::EtcdForfeitLeadershipResponse { messages: vec![one] }, &[held(1, one_wire)]);
    let alarm = machine::EtcdAlarm { member_id: 4, alarm: 1 };
    let alarms = machine::EtcdAlarms { metadata: Some(metadata()), member_alarms: vec![alarm] };
    let alarms_wire = [metadata_wire(), held(2, [count(1, 4), count(2, 1)].concat())].concat();
    is_wire(&machine::EtcdAlarmListResponse { messages: vec![alarms] }, &[held(1, alarms_wire)]);
}

#[test]
fn health() {
    let info = ClusterInfo { control_plane_nodes: vec!["c".into()], worker_nodes: vec!["w".into()] };
    let request = HealthCheckRequest {
        wait_timeout: Some(Duration { seconds: 5, nanos: 0 }),
        cluster_info: Some(info),
    };
    let info = [held(1, "c"), held(2, "w")].concat();
    is_wire(&request, &[held(1, count(1, 5)), held(2, info)]);
    let progress = HealthCheckProgress { metadata: Some(metadata()), message: "m".into() };
    is_wire(&progress, &[metadata_wire(), held(2, "m")]);
}

fn resource() -> (cosi::ResourceMessage, Vec<u8>) {
    let metadata = cosi::ResourceMetadata {
        namespace: "n".into(),
        r#type: "t".into(),
        id: "i".into(),
        version: "v".into(),
    };
    let spec = cosi::Spec { proto_spec: b"p".into(), yaml_spec: "y".into() };
    let metadata_wire = [held(1, "n"), held(2, "t"), held(3, "i"), held(4, "v")];
    let spec_wire = [held(1, "p"), held(2, "y")];
    let wire = [held(1, metadata_wire.concat()), held(2, spec_wire.concat())].concat();
    (cosi::ResourceMessage { metadata: Some(metadata), spec: Some(spec) }, wire)
}

#[test]
fn resources() {
    let (resource, wire) = resource();
    is_wire(&resource, std::slice::from_ref(&wire));
    let request = cosi::GetRequest { namespace: "n".into(), r#type: "t".into(), id: "i".into() };
    is_wire(&request, &[held(1, "n"), held(2, "t"), held(3, "i")]);
    is_wire(&cosi::GetResponse { resource: Some(resource.clone()) }, &[held(1, &wire)]);
    let request = cosi::ListRequest { namespace: "n".into(), r#type: "t".into() };
    is_wire(&request, &[held(1, "n"), held(2, "t")]);
    is_wire(&cosi::ListResponse { resource: Some(resource.clone()) }, &[held(1, &wire)]);

    let options = cosi::WatchOptions { bootstrap_contents: true };
    let request = cosi::WatchRequest {
        namespace: "n".into(),
        r#type: "t".into(),
        id: Some("i".into()),
        options: Some(options),
        api_version: 1,
    };
    let options = count(1, 1);
    is_wire(&request, &[held(1, "n"), held(2, "t"), held(3, "i"), held(4, options), count(5, 1)]);
    let event = cosi::WatchEvent { resource: Some(resource), event_type: 1, error: "e".into() };
    is_wire(&event, &[held(1, &wire), count(2, 1), held(4, "e")]);
    let answer = cosi::WatchResponse {
        event: vec![cosi::WatchEvent { event_type: 5, ..cosi::WatchEvent::default() }],
    };
    is_wire(&answer, &[held(1, count(2, 5))]);
    is_wire(&config::MachineConfigSpec { yaml_marshalled: b"y".into() }, &[held(1, "y")]);
}
