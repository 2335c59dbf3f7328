//! `ichor lab nodes`: simulated machines, queried with an independent client.

mod client;
mod kube;
mod simulator;

use std::net::{IpAddr, TcpListener};
use std::process::Stdio;
use std::time::{Duration, Instant};

use hyper::Method;
use ichor_talos::api::cluster::{HealthCheckProgress, HealthCheckRequest};
use ichor_talos::api::common::Data;
use ichor_talos::api::cosi::{WatchOptions, WatchRequest, WatchResponse};
use ichor_talos::api::machine::{
    ActionResponse, EtcdMemberListResponse, LogsRequest, PlainResponse, RebootRequest, VersionResponse,
};
use ichor_talos::api::{Empty, common as api_common, method};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;
use tonic::Code;

use crate::common::{command, ichor};
use client::{Client, Key};
use kube::Kube;
use simulator::Simulator;

const MACHINE_STATUS: &str = "MachineStatuses.runtime.talos.dev";

#[tokio::test]
async fn machines_in_maintenance_mode_become_a_running_cluster() {
    let simulator = Simulator::start(4, "");
    let mut first = simulator.reach(simulator.leased(0), &Key::None).await;

    let version: VersionResponse = first.call(method::VERSION, Empty {}).await.unwrap();
    let links = simulator.resource(&mut first, "network", "LinkStatuses.net.talos.dev", "eth0").await;
    simulator.bring_up().await;

    assert_eq!(version.messages[0].version.as_ref().unwrap().tag, "v1.13.9");
    assert!(links.contains(&format!("permanentAddr: 02:00:{:02x}:00:0b:00", simulator.id)), "{links}");
    assert!(Client::connect(simulator.leased(0), &Key::None).await.is_err(), "the address has moved");
    let mut client = simulator.reach(simulator.fixed(0), &simulator.admin()).await;
    let status = simulator.resource(&mut client, "runtime", MACHINE_STATUS, "machine").await;
    assert!(status.starts_with("stage: running\n"), "{status}");
    let again = client.call::<_, PlainResponse>(method::BOOTSTRAP, Empty {}).await.unwrap_err();
    assert_eq!((again.code(), again.message()), (Code::AlreadyExists, "etcd data directory is not empty"));
    let members: EtcdMemberListResponse = client.call(method::ETCD_MEMBER_LIST, Empty {}).await.unwrap();
    assert_eq!(members.messages[0].members.len(), 3);
    assert_eq!(simulator.status()["bootstrap_count"], 1);
    let taken = |line: &&serde_json::Value| line["call"] == method::BOOTSTRAP && line["code"] == "Ok";
    assert_eq!(simulator.journal().iter().filter(taken).count(), 1);
}

#[tokio::test]
async fn health_checks_are_reported_and_the_kubeconfig_works() {
    let simulator = Simulator::start(4, "");
    simulator.bring_up().await;
    let mut client = simulator.reach(simulator.fixed(0), &simulator.admin()).await;

    let wait = Some(api_common::Duration { seconds: 20, nanos: 0 });
    let request = HealthCheckRequest { wait_timeout: wait, cluster_info: None };
    let messages: Vec<HealthCheckProgress> = client.all(method::HEALTH_CHECK, request).await.unwrap();
    let packed: Vec<Data> = client.all(method::KUBECONFIG, Empty {}).await.unwrap();
    let kube = Kube::unpack(&packed.into_iter().flat_map(|piece| piece.bytes).collect::<Vec<_>>());

    let messages: Vec<_> = messages.into_iter().map(|progress| progress.message).collect();
    assert!(messages[0].starts_with("discovered nodes: [\"127."), "{messages:?}");
    assert_eq!(messages[1], "waiting for etcd to be healthy: ...");
    assert_eq!(messages.last().unwrap(), "waiting for all k8s nodes to report schedulable: OK");
    assert_eq!(kube.server.ip(), simulator.vip());
    assert_eq!(kube.ask(true, Method::GET, "/readyz", "").await, (200, "ok".to_owned()));
    assert_eq!(kube.ask(false, Method::GET, "/version", "").await.0, 401);
    assert_eq!(kube.get("/api/v1/nodes").await["items"].as_array().unwrap().len(), 4);
    let cordon = json!({"spec": {"unschedulable": true}}).to_string();
    assert_eq!(kube.ask(true, Method::PATCH, "/api/v1/nodes/worker1", &cordon).await.0, 200);
    assert_eq!(kube.get("/api/v1/nodes/worker1").await.pointer("/spec/unschedulable"), Some(&json!(true)));
    assert_eq!(kube.ask(true, Method::DELETE, "/api/v1/nodes/worker1", "").await.0, 200);
    assert_eq!(kube.ask(true, Method::GET, "/api/v1/nodes/worker1", "").await.0, 404);
}

#[tokio::test]
async fn roles_and_authorities_are_enforced() {
    let simulator = Simulator::start(1, "");
    simulator.build();
    simulator.apply(0).await;
    let foreign_simulator = Simulator::start(1, "");

    let mut reader = simulator.reach(simulator.fixed(0), &simulator.with_role("os:reader")).await;
    let version = reader.call::<_, VersionResponse>(method::VERSION, Empty {}).await;
    let refused = reader.call::<_, PlainResponse>(method::BOOTSTRAP, Empty {}).await.unwrap_err();

    assert!(version.is_ok());
    assert_eq!((refused.code(), refused.message()), (Code::PermissionDenied, "not authorized"));
    // In TLS 1.3 a server rejects a client certificate after the handshake.
    let foreign = simulator.known_by(&foreign_simulator);
    let refused = match Client::connect(simulator.fixed(0), &foreign).await {
        Ok(mut client) => {
            let version = client.call::<_, VersionResponse>(method::VERSION, Empty {}).await;
            format!("{:?}", version.unwrap_err())
        }
        Err(error) => error,
    };
    assert!(refused.contains("UnknownCA") || refused.contains("DecryptError"), "{refused}");
    let rejection = match Client::connect(simulator.fixed(0), &Key::None).await {
        Ok(mut client) => {
            format!("{:?}", client.call::<_, VersionResponse>(method::VERSION, Empty {}).await.unwrap_err())
        }
        Err(error) => error,
    };
    assert!(rejection.contains("CertificateRequired"), "{rejection}");
    assert_eq!(simulator.status()["bootstrap_count"], 0);
}

#[tokio::test]
async fn a_watch_follows_a_reboot_and_rejected_configurations_have_the_errors_of_talos() {
    let simulator = Simulator::start(1, "--fault cp1:refuse-config");
    simulator.build();
    let mut client = simulator.reach(simulator.leased(0), &Key::None).await;
    let request = WatchRequest {
        namespace: "runtime".to_owned(),
        r#type: MACHINE_STATUS.to_owned(),
        id: None,
        options: Some(WatchOptions { bootstrap_contents: true }),
        api_version: 1,
    };
    let mut watch = client.stream::<_, WatchResponse>(method::STATE_WATCH, request).await.unwrap();

    let first = watch.message().await.unwrap().unwrap();
    let refused = simulator.try_apply(0, simulator.config(0), false).await.unwrap_err();
    assert_eq!(simulator.control("heal cp1").code, 0);
    let invalid =
        simulator.try_apply(0, b"machine: {type: worker}\ncluster: {}\n".to_vec(), false).await.unwrap_err();
    let dry = simulator.try_apply(0, simulator.config(0), true).await.unwrap();
    simulator.apply(0).await;

    let kinds: Vec<_> = first.event.iter().map(|event| event.event_type).collect();
    assert_eq!(kinds, [0, 3], "created, and everything was reported");
    assert_eq!((refused.code(), refused.message()), (Code::InvalidArgument, "refused by the simulator"));
    assert_eq!(invalid.code(), Code::InvalidArgument);
    assert!(invalid.message().contains("occurred:\n\t* "), "{invalid:?}");
    assert!(dry.messages[0].mode_details.starts_with("Dry run summary:\n"));
    let ended = loop {
        match watch.message().await {
            Ok(Some(_)) => {}
            other => break other,
        }
    };
    assert!(ended.is_err() || ended.is_ok_and(|end| end.is_none()), "the machine rebooted");
    simulator.reach(simulator.fixed(0), &simulator.admin()).await;
}

#[tokio::test]
async fn old_releases_report_less_in_maintenance_mode() {
    let simulator = Simulator::start(1, "--talos v1.12.4");
    let mut client = simulator.reach(simulator.leased(0), &Key::None).await;

    let refused = client.call::<_, VersionResponse>(method::VERSION, Empty {}).await.unwrap_err();

    assert_eq!(
        (refused.code(), refused.message()),
        (Code::Unimplemented, "API is not implemented in maintenance mode")
    );
}

#[tokio::test]
async fn faults_are_injected_into_running_nodes() {
    let simulator = Simulator::start(3, "");
    simulator.bring_up().await;
    let admin = simulator.admin();
    let mut client = simulator.reach(simulator.fixed(0), &admin).await;
    let logs =
        || LogsRequest { namespace: "system".to_owned(), id: "etcd".to_owned(), ..LogsRequest::default() };

    assert_eq!(simulator.control("fault cp1:slow:300ms").code, 0);
    let begun = Instant::now();
    client.call::<_, VersionResponse>(method::VERSION, Empty {}).await.unwrap();
    assert!(begun.elapsed() >= Duration::from_millis(300));
    let nothing = simulator.control("heal cp1 slowly");
    assert!(
        nothing.code == 2 && nothing.stderr.contains("`slowly` is not a fault; want one of slow, "),
        "{}",
        nothing.all()
    );
    assert_eq!(simulator.control("heal cp1 slow").code, 0);

    assert_eq!(simulator.control("fault cp1:reset-mid-stream").code, 0);
    let follow = LogsRequest { follow: true, tail_lines: -1, ..logs() };
    let mut stream = client.stream::<_, Data>(method::LOGS, follow).await.unwrap();
    assert!(stream.message().await.unwrap().is_some());
    assert!(stream.message().await.is_err(), "the connection is cut");
    let mut client = simulator.reach(simulator.fixed(0), &admin).await;
    assert!(
        !client
            .all::<_, Data>(method::LOGS, LogsRequest { tail_lines: -1, ..logs() })
            .await
            .unwrap()
            .is_empty()
    );

    assert_eq!(simulator.control("fault cp2:lose-quorum").code, 0);
    simulator.wait_for(|status| status["nodes"][0]["ready"] == false).await;
    let lost =
        client.call::<_, EtcdMemberListResponse>(method::ETCD_MEMBER_LIST, Empty {}).await.unwrap_err();
    assert_eq!((lost.code(), lost.message()), (Code::Unavailable, "etcdserver: no leader"));
    assert_eq!(simulator.control("heal cp2").code, 0);
    simulator.wait_for(|status| status["nodes"][0]["ready"] == true).await;

    assert_eq!(simulator.control("fault cp3:late-reboot:400ms").code, 0);
    let mut third = simulator.reach(simulator.fixed(2), &admin).await;
    let (begun, before) = (Instant::now(), simulator.stages("cp3").len());
    third.call::<_, ActionResponse>(method::REBOOT, RebootRequest::default()).await.unwrap();
    // On a busy machine a poll may miss the outage; the journal records it.
    let back = || {
        simulator.stages("cp3")[before..]
            .iter()
            .skip_while(|stage| *stage != "booting")
            .any(|stage| stage == "running")
    };
    simulator.wait_for(|_| back()).await;
    assert!(begun.elapsed() >= Duration::from_millis(400));

    assert_eq!(simulator.control("power cp1 off").code, 0);
    simulator.wait_for(|status| status["nodes"][0]["addresses"] == json!([])).await;
    let mut by_vip = simulator.reach(simulator.vip(), &admin).await;
    assert!(
        by_vip.call::<_, VersionResponse>(method::VERSION, Empty {}).await.is_ok(),
        "another one took it over"
    );
    assert_eq!(simulator.control("power cp1 on").code, 0);
    simulator
        .wait_for(|status| status["nodes"][0]["ready"] == true && status["nodes"][0]["stage"] == "running")
        .await;
}

#[tokio::test]
async fn foreign_machines_and_wrong_clocks_are_detected_by_the_tls_handshake() {
    let simulator =
        Simulator::start(3, "--fault cp1:other-ca --fault cp2:other-identity --fault cp3:clock-skew:2h");
    simulator.build();
    let mut exchanged = simulator.reach(simulator.leased(1), &Key::None).await;

    let links = simulator.resource(&mut exchanged, "network", "LinkStatuses.net.talos.dev", "eth0").await;
    simulator.apply(2).await;
    simulator.wait_for(|status| status["nodes"][2]["stage"] == "booting").await;

    assert!(links.contains("permanentAddr: 02:ee:"), "{links}");
    simulator.expect_rejection(simulator.leased(0), "UnknownIssuer").await;
    simulator.expect_rejection(simulator.fixed(2), "NotValidYet").await;
}

#[tokio::test]
async fn five_hundred_nodes_run_in_one_process_with_little_memory() {
    let simulator = Simulator::start(500, "");
    simulator
        .wait_for(|status| {
            status["nodes"].as_array().unwrap().iter().all(|node| node["stage"] == "maintenance")
        })
        .await;
    simulator.reach(simulator.leased(499), &Key::None).await;

    let checked = ichor(&simulator.folder(), "check");
    let pid = only_pid(simulator.folder().parent().unwrap());
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();

    assert_eq!(checked.code, 0, "{}", checked.all());
    assert!(peak < 200 << 10, "{peak} KiB");
}

#[test]
fn a_stopped_background_simulation_leaves_no_processes() {
    let folder = tempfile::tempdir().unwrap();

    let run = ichor(folder.path(), "lab nodes 2 -o lab --boot 1ms --detach");
    let pid = only_pid(folder.path());
    let second = ichor(folder.path(), "lab nodes --cluster lab/ichor.yaml");
    let stopped = ichor(folder.path(), "lab nodes stop -o lab");

    assert_eq!((run.code, stopped.code), (0, 0), "{}{}", run.all(), stopped.all());
    assert_eq!(second.code, 2);
    assert!(second.stderr.contains("already running"), "{}", second.stderr);
    assert!(!folder.path().join("lab/simulator/control.sock").exists());
    assert!(is_gone_soon(pid));
    let again = ichor(folder.path(), "lab nodes status -o lab");
    assert_eq!(again.code, 2);
    assert!(again.stderr.contains("no simulated nodes run in lab"), "{}", again.stderr);
    assert_free(folder.path());
}

#[test]
fn an_interrupt_ends_the_simulation_cleanly() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = command(folder.path(), "lab nodes 2 -o lab --boot 1ms")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let until = Instant::now() + Duration::from_secs(20);
    while ichor(folder.path(), "lab nodes status -o lab").code != 0 {
        assert!(Instant::now() < until);
        std::thread::sleep(Duration::from_millis(20));
    }

    kill(Pid::from_raw(child.id().try_into().unwrap()), Signal::SIGINT).unwrap();
    let status = child.wait().unwrap();

    assert_eq!(status.code(), Some(0));
    assert!(!folder.path().join("lab/simulator/control.sock").exists());
    assert_free(folder.path());
}

#[test]
fn unsupported_clusters_are_reported() {
    let folder = crate::common::folder(&[("a/ichor.yaml", "version: 1\n")]);
    let messages = |words: &str| {
        let run = ichor(folder.path(), words);
        (run.code, run.stderr)
    };

    assert!(messages("lab nodes").1.contains("no number of nodes"));
    assert!(messages("lab nodes 2 --fault cp1:nonsense").1.contains("slow, reset-mid-stream"));
    let (code, text) = messages("lab nodes 2 -o b --fault cp9:slow");
    assert!(!folder.path().join("b").exists());
    assert!(code == 2 && text.contains("unknown node `cp9`; did you mean `cp1`?"), "{text}");
    let (code, text) = messages("lab nodes 2 -o a");
    assert!(code == 2 && text.contains("already exists"), "{text}");
    assert!(messages("lab nodes 0").1.contains("0 is not in 1..=4000"));
    assert!(messages("lab nodes 2 --boot soon").1.contains("500ms"));
}

/// PID of the process started by `--detach`, found by the folder in its command line.
fn only_pid(folder: &std::path::Path) -> i32 {
    let folder = folder.canonicalize().unwrap();
    let is_simulator = |pid: &i32| {
        let place = std::fs::read_link(format!("/proc/{pid}/cwd"));
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        place.is_ok_and(|place| place == folder) && line.windows(5).any(|window| window == b"nodes")
    };
    let all = std::fs::read_dir("/proc").unwrap();
    let mut pids = all.filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
    pids.find(is_simulator).expect("it runs")
}

/// Whether a process exits shortly; a zombie counts as exited.
fn is_gone_soon(pid: i32) -> bool {
    let stat = || std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let gone = || stat().is_empty() || stat().contains(") Z ");
    let until = Instant::now() + Duration::from_secs(20);
    while !gone() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(10));
    }
    gone()
}

/// Asserts that no process listens on the addresses of a folder's nodes.
fn assert_free(folder: &std::path::Path) {
    let file = std::fs::read_to_string(folder.join("lab/ichor.yaml")).unwrap();
    let addresses = file.split("dhcp: ").skip(1).filter_map(|rest| rest.split('}').next());
    for address in addresses.map(|text| text.parse::<IpAddr>().unwrap()) {
        assert!(TcpListener::bind((address, 50000)).is_ok(), "{address}");
    }
}
