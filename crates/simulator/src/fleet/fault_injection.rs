//! Injects faults into nodes, and heals them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::fault::Fault;
use super::machine::{ServiceState, SystemDisk};
use super::node_config::{CertificateAuthorities, NodeConfig, key};
use super::simulation::Fleet;

impl Fleet {
    /// Makes a node do something wrong. For a machine of another cluster, `strangers` are the authorities of that.
    pub(crate) fn spoil(
        &mut self,
        nth: usize,
        fault: Fault,
        strangers: Option<CertificateAuthorities>,
        now: Duration,
    ) {
        let machine = &mut self.machines[nth];
        match (&fault, strangers) {
            (Fault::OtherIdentity, _) if !machine.faults.has(fault.kind()) => {
                machine.original = Some(machine.hardware.clone());
                machine.hardware = machine.hardware.with_exchanged_ids();
            }
            (Fault::OtherCa, Some(strangers)) => {
                let intent = Some(Arc::new(stranger(strangers)));
                let release = machine.medium.clone();
                machine.disk = Some(SystemDisk { intent, ..SystemDisk::new(release) });
                self.power_off(nth);
                self.power_on(nth, now);
            }
            (Fault::FailService(id), _) => match id.as_str() {
                "kubelet" => machine.units.kubelet = ServiceState::Down,
                "etcd" => machine.units.etcd = ServiceState::Down,
                _ => {}
            },
            _ => {}
        }
        self.machines[nth].faults.add(fault);
    }

    /// Heals a node: one kind of fault, or all; returns whether there were any.
    pub(crate) fn heal(&mut self, nth: usize, kind: Option<&str>, now: Duration) -> bool {
        let machine = &mut self.machines[nth];
        let had = |kind: &str| machine.faults.has(kind);
        let (identity, ca) = (had("other-identity"), had("other-ca"));
        let healed = machine.faults.heal(kind);
        if identity && !machine.faults.has("other-identity") {
            machine.hardware = machine.original.take().unwrap_or_else(|| machine.hardware.clone());
        }
        if ca && !machine.faults.has("other-ca") {
            machine.disk = None;
            self.power_off(nth);
            self.power_on(nth, now);
        }
        healed
    }
}

/// The configuration of a control plane of another cluster: no address of its own, and no etcd.
fn stranger(authorities: CertificateAuthorities) -> NodeConfig {
    NodeConfig {
        text: String::new(),
        control_plane: true,
        hostname: Some("stranger".to_owned()),
        addresses: Vec::new(),
        vip: None,
        key: key(&authorities.os.crt),
        ca: authorities.os.crt.clone(),
        accepted: Vec::new(),
        authorities: Some(authorities),
        sans: Vec::new(),
        kubernetes_sans: Vec::new(),
        cluster: "another".to_owned(),
        endpoint: String::new(),
        install_disk: None,
        install_image: None,
        has_pod_network: true,
        has_sandbox: false,
        has_overlay_key: false,
        etcd_subnets: Vec::new(),
        boot_settings: Value::Null,
        extension_services: Vec::new(),
        duties: BTreeMap::new(),
        bgp_peers: Vec::new(),
        warnings: Vec::new(),
    }
}
