//! Machines with addresses from a DHCP server: real ports, servers and clients, with simulated nodes behind them. Needs
//! `scripts/tools dhcp`.

use std::path::PathBuf;

use crate::common::run_of;
use crate::simulated::{Simulated, steps};
use ichor_testbed::lab::{LabMachine, RootFileSystem, wait_for};

/// Lease script of the client.
const TAKE: &str = r#"#!/bin/sh
case $1 in
bound | renew)
    ip address replace "$ip/16" dev "$interface"
    echo "$ip" >"/tmp/$interface"
    echo "$1" >>"/tmp/$interface.log"
    ;;
esac
"#;

/// A bridge with two machines and the host that runs `ichor up`.
struct Hall {
    desk: LabMachine,
    nodes: LabMachine,
}

impl Hall {
    /// The ports have the MAC addresses of `ichor lab nodes` with this network number. Every port answers ARP for its own
    /// addresses only, like a separate machine.
    fn new() -> Self {
        let (desk, nodes) = (LabMachine::new(RootFileSystem::Own), LabMachine::new(RootFileSystem::Own));
        desk.ask(
            "ip link add hall type bridge && ip address add 10.9.0.1/16 dev hall && ip link set hall up",
        );
        nodes.ask("echo 1 >/proc/sys/net/ipv4/conf/all/arp_ignore");
        for (port, mac) in [("cp1", "02:00:09:00:0b:00"), ("worker1", "02:00:09:00:0c:00")] {
            let cable = format!("to-{port}");
            nodes.cable_with([port, mac], &desk, [&cable, "02:00:09:ff:ff:01"]);
            desk.ask(&format!("ip link set {cable} address $(printf 02:00:09:ff:ff:%02x $(cat /sys/class/net/{cable}/ifindex)) master hall"));
        }
        // Addresses in their configurations.
        nodes.ask("ip address add 10.9.0.11/16 dev cp1 && ip address add 10.9.127.1/16 dev cp1 && ip address add 10.9.0.12/16 dev worker1");
        nodes.write("/tmp/take", TAKE);
        nodes.ask("chmod +x /tmp/take");
        Self { desk, nodes }
    }

    /// Simulates two machines with these addresses, which are not in the cluster file.
    fn simulate(&self, leased: [&str; 2], more: &str) -> Simulated {
        let file = |text: &str| {
            let id = text.split("id: ").nth(1).unwrap().split(',').next().unwrap();
            let mac = format!("02:00:{:02x}:", id.parse::<u8>().unwrap());
            let text = text.replace(&format!("127.{id}."), "10.9.").replace(&mac, "02:00:09:");
            text.replace("dhcp: 10.9.128.11}", &format!("dhcp: {}}}", leased[0]))
                .replace("dhcp: 10.9.128.12}", &format!("dhcp: {}}}", leased[1]))
        };
        let known = |text: &str| {
            let without = leased.map(|address| format!(", address: {{dhcp: {address}}}"));
            text.replace(&without[0], "").replace(&without[1], "")
        };
        let simulated = Simulated::apart(2, (self.nodes.pid(), self.desk.pid()), file, known, more);
        assert!(!simulated.file().contains("dhcp: "), "{}", simulated.file());
        simulated
    }

    /// Starts a DHCP client on a port, and returns its address.
    fn lease(&self, port: &str) -> String {
        self.nodes.ask(&format!(
            "busybox udhcpc -f -i {port} -s /tmp/take -t 20 -T 1 >/tmp/{port}.client 2>&1 & echo $! >/tmp/{port}.pid"
        ));
        let has = || self.nodes.run(&format!("cat /tmp/{port}")).status.success();
        wait_for("a lease", has, || self.nodes.ask(&format!("cat /tmp/{port}.client")));
        self.nodes.ask(&format!("cat /tmp/{port}")).trim().to_owned()
    }

    /// Signals the client of a port: USR1 renews the lease, USR2 releases it.
    fn signal_client(&self, port: &str, signal: &str) {
        self.nodes.ask(&format!("kill -{signal} $(cat /tmp/{port}.pid)"));
    }

    /// Path of a file that a server writes.
    fn file(&self, path: &str) -> PathBuf {
        self.desk.path(path)
    }
}

#[test]
fn machines_are_found_in_the_neighbour_table_and_verified() {
    let hall = Hall::new();
    hall.nodes.ask("ip address add 10.9.128.77/16 dev cp1 && ip address add 10.9.128.99/16 dev worker1");
    let nodes = hall.simulate(["10.9.128.77", "10.9.128.99"], "--fault worker1:other-identity");

    let nowhere = nodes.up("--dry-run");
    let elsewhere = nodes.up("--dry-run --neighbours 10.9.129.0/24");
    let planned = nodes.up("--dry-run --neighbours 10.9.128.0/24");
    let refused = nodes.up("--json --neighbours 10.9.128.0/24 --only worker1 --node-timeout 2s");

    for run in [&nowhere, &elsewhere] {
        assert!(!run.stdout.contains("10.9.128."), "{}", run.all());
    }
    assert!(planned.stdout.contains("10.9.128.77 (dhcp, from the neighbour table)"), "{}", planned.all());
    // The port has the MAC address of the node, but another machine is behind it.
    assert_eq!(refused.code, 1, "{}", refused.all());
    assert!(refused.stdout.contains("10.9.128.99"), "{}", refused.all());
    assert!(nodes.asked("/ApplyConfiguration").is_empty());

    nodes.heal("worker1");
    let event_log = nodes.up_well("--neighbours 10.9.128.0/24");

    assert!(steps(&event_log).contains(&("worker1", "apply")), "{event_log:?}");
    nodes.assert_up();
    let table = hall.desk.ask("ip neighbour show to 10.9.128.0/24");
    assert!(table.contains("10.9.128.99 dev hall lladdr 02:00:09:00:0c:00"), "{table}");
}

#[test]
fn a_machine_with_a_late_address_is_found_in_the_neighbour_table() {
    let hall = Hall::new();
    hall.nodes.ask("ip address add 10.9.128.77/16 dev cp1 && ip address add 10.9.128.99/16 dev worker1");
    let nodes = hall.simulate(["10.9.128.77", "10.9.128.99"], "");
    hall.desk.ask("ip link set to-worker1 down");

    let up = nodes.command("--json --neighbours 10.9.128.0/24").stdout(std::process::Stdio::piped()).spawn();
    let up = up.unwrap();
    wait_for("the first node", || nodes.calls("/Bootstrap") == ["cp1"], || nodes.status().to_string());
    hall.desk.ask("ip link set to-worker1 up");
    let done = up.wait_with_output().unwrap();

    let event_log = crate::simulated::events(&String::from_utf8(done.stdout).unwrap());
    let found =
        event_log.iter().find(|event| event["event"] == "discovered" && event["node"] == "worker1").unwrap();
    assert_eq!(
        (&found["source"], &found["address"]),
        (&"neighbours".into(), &"10.9.128.99".into()),
        "{found}"
    );
    nodes.assert_up();
}

#[test]
fn machines_are_found_in_the_lease_file_of_dnsmasq() {
    let hall = Hall::new();
    hall.desk.start(
        "dnsmasq --no-daemon --conf-file=/dev/null --port=0 --interface=hall --bind-interfaces \
         --dhcp-range=10.9.128.10,10.9.128.200,2m --dhcp-leasefile=/tmp/leases --dhcp-authoritative --no-ping --user=root",
        "/tmp/leases",
    );
    let leased = ["cp1", "worker1"].map(|port| hall.lease(port));
    let nodes = hall.simulate([&leased[0], &leased[1]], "");
    let leases = hall.file("/tmp/leases");

    let planned = nodes.up(&format!("--dry-run --leases {}", leases.display()));
    let event_log = nodes.up_well(&format!("--leases {}", leases.display()));

    assert!(
        planned.stdout.contains(&format!("{} (dhcp, from a DHCP lease)", leased[0])),
        "{}",
        planned.all()
    );
    assert_eq!(planned.stderr, "", "every line was understood");
    assert_eq!(steps(&event_log).iter().filter(|(_, step)| *step == "apply").count(), 2);
    nodes.assert_up();

    // A terminated client releases its lease, which dnsmasq removes from the file.
    hall.signal_client("worker1", "USR2");
    let read = || std::fs::read_to_string(&leases).unwrap();
    wait_for("the end of the lease", || !read().contains(&leased[1]), read);
}

/// Kea with leases of a few seconds, whose expiry is not written to the file, and with files in a test folder.
const KEA: &str = r#"{"Dhcp4": {
  "interfaces-config": {"interfaces": ["hall"], "dhcp-socket-type": "raw"},
  "lease-database": {"type": "memfile", "persist": true, "name": "/tmp/kea-leases4.csv", "lfc-interval": 0},
  "authoritative": true,
  "valid-lifetime": 10,
  "expired-leases-processing": {"reclaim-timer-wait-time": 0, "flush-reclaimed-timer-wait-time": 0},
  "subnet4": [{"subnet": "10.9.0.0/16", "pools": [{"pool": "10.9.128.10-10.9.128.200"}]}]
}}"#;

#[test]
fn machines_are_found_by_valid_and_renewed_leases_of_kea() {
    let hall = Hall::new();
    hall.desk.write("/tmp/kea.json", KEA);
    hall.desk.start(
        "KEA_PIDFILE_DIR=/tmp KEA_LOCKFILE_DIR=/tmp KEA_LOGGER_DESTINATION=stdout kea-dhcp4 -c /tmp/kea.json",
        "/tmp/kea-leases4.csv",
    );
    let leased = ["cp1", "worker1"].map(|port| hall.lease(port));
    let nodes = hall.simulate([&leased[0], &leased[1]], "");
    let leases = hall.file("/tmp/kea-leases4.csv");
    let discover = |more| run_of(nodes.ichor(&format!("discover {more} --leases {}", leases.display())));
    hall.signal_client("worker1", "USR1");
    let read = || std::fs::read_to_string(&leases).unwrap();
    wait_for("a line for the renewal", || read().matches(&leased[1]).count() > 1, read);

    let found = discover("--json");
    let event_log = nodes.up_well(&format!("--leases {}", leases.display()));

    let names: Vec<_> =
        found.json().as_array().unwrap().iter().map(|machine| machine["node"].clone()).collect();
    assert_eq!(names, ["cp1", "worker1"], "{}", found.all());
    assert_eq!(found.stderr, "", "every line was understood");
    assert_eq!(steps(&event_log).iter().filter(|(_, step)| *step == "apply").count(), 2);
    nodes.assert_up();

    // One client releases its lease, the other is disconnected and keeps it until it expires. The nodes left both addresses.
    hall.signal_client("cp1", "USR2");
    hall.signal_client("worker1", "KILL");
    assert!(discover("").stderr.contains(&leased[1]), "{}", read());
    wait_for("the end of all leases", || discover("").stderr.contains("no active leases"), read);
}
