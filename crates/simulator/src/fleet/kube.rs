//! A simulated API server of a cluster: its nodes, and its health.

use serde_json::{Value, json};

use super::etcd::{EtcdCluster, KubeNode};
use super::pods;
use super::simulation::Fleet;
use ichor_talos::release::default_kubernetes;
use ichor_values::Moment;

/// The kubelet's message while no CNI is installed.
const UNPLUGGED: &str = "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady \
    message:Network plugin returns error: cni plugin not initialized";

/// The verb of a request.
#[derive(Clone, Debug, PartialEq)]
pub enum KubeVerb {
    /// Reads.
    Get,
    /// Deletes.
    Delete,
    /// Changed, by a merge patch.
    Patch(Value),
    /// Creates; the path names the kind.
    Post,
}

/// An answer over HTTP.
#[derive(Clone, Debug, PartialEq)]
pub struct KubeResponse {
    /// Its code.
    pub(crate) code: u16,
    /// Its text, if it is not JSON.
    pub text: Option<&'static str>,
    /// Its JSON.
    pub(crate) json: Value,
}

impl KubeResponse {
    fn json(json: Value) -> Self {
        Self { code: 200, text: None, json }
    }

    fn text(code: u16, text: &'static str) -> Self {
        Self { code, text: Some(text), json: Value::Null }
    }

    /// A failure, in the form of Kubernetes.
    pub fn failure(code: u16, reason: &str, message: &str) -> Self {
        let json = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": message, "reason": reason, "code": code,
        });
        Self { code, text: None, json }
    }
}

impl Fleet {
    /// Answers a request to the API server on a machine.
    pub fn kubernetes(&mut self, nth: usize, verb: &KubeVerb, path: &str) -> KubeResponse {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let path = path.trim_end_matches('/');
        let Some(number) = self.machines[nth].disk.as_ref().and_then(|disk| disk.etcd) else {
            return KubeResponse::text(500, "etcd failed");
        };
        match (verb, path) {
            (KubeVerb::Get, "/readyz" | "/livez" | "/healthz") => {
                let well = self.etcds.get(number).is_some_and(|etcd| self.has_quorum(etcd));
                if well { KubeResponse::text(200, "ok") } else { KubeResponse::text(500, "[-]etcd failed") }
            }
            (KubeVerb::Get, "/version") => KubeResponse::json(self.kubernetes_version(nth)),
            (KubeVerb::Get, "/api/v1/nodes") => {
                let etcd = &self.etcds[number];
                let items = etcd.nodes.iter().map(|(name, node)| self.kube_node(etcd, name, node));
                KubeResponse::json(json!({
                    "kind": "NodeList", "apiVersion": "v1",
                    "metadata": {"resourceVersion": etcd.revision.to_string()},
                    "items": items.collect::<Vec<_>>(),
                }))
            }
            (KubeVerb::Get, "/api/v1/pods" | "/api/v1/namespaces/kube-system/pods") => {
                let wanted = query.strip_prefix("fieldSelector=spec.nodeName%3D");
                let items = pods::list_pods(&self.etcds[number], wanted);
                KubeResponse::json(
                    json!({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": items}),
                )
            }
            (KubeVerb::Post, path) => self.evict(number, path),
            _ => match path.strip_prefix("/api/v1/nodes/") {
                Some(name) if !name.contains('/') => self.one_kube_node(number, verb, name),
                _ => {
                    KubeResponse::failure(404, "NotFound", "the server could not find the requested resource")
                }
            },
        }
    }

    fn one_kube_node(&mut self, number: usize, verb: &KubeVerb, name: &str) -> KubeResponse {
        if !self.etcds[number].nodes.contains_key(name) {
            return KubeResponse::failure(404, "NotFound", &format!("nodes \"{name}\" not found"));
        }
        match verb {
            KubeVerb::Get => {}
            KubeVerb::Delete => {
                let etcd = &mut self.etcds[number];
                etcd.change();
                etcd.nodes.remove(name);
                return KubeResponse::json(json!({
                    "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
                    "details": {"name": name, "kind": "nodes"},
                }));
            }
            KubeVerb::Patch(patch) => {
                let etcd = &mut self.etcds[number];
                let revision = etcd.change();
                let node = etcd.nodes.get_mut(name).expect("it was looked for");
                match patch.pointer("/spec/unschedulable") {
                    Some(Value::Bool(flag)) => node.unschedulable = *flag,
                    Some(Value::Null) => node.unschedulable = false,
                    _ => {}
                }
                node.moved &= node.unschedulable;
                for (key, value) in
                    patch.pointer("/metadata/annotations").and_then(Value::as_object).into_iter().flatten()
                {
                    match value.as_str() {
                        Some(text) => drop(node.annotations.insert(key.clone(), text.to_owned())),
                        None => drop(node.annotations.remove(key)),
                    }
                }
                node.revision = revision;
            }
            KubeVerb::Post => {
                return KubeResponse::failure(405, "MethodNotAllowed", "not supported by the simulator");
            }
        }
        let etcd = &self.etcds[number];
        KubeResponse::json(self.kube_node(etcd, name, &etcd.nodes[name]))
    }

    /// Moves a pod away, unless its budget keeps it.
    fn evict(&mut self, number: usize, path: &str) -> KubeResponse {
        let pod = path
            .strip_prefix("/api/v1/namespaces/default/pods/")
            .and_then(|rest| rest.strip_suffix("/eviction"));
        let etcd = &mut self.etcds[number];
        let found = pod.and_then(|pod| {
            etcd.nodes.iter_mut().find(|(name, node)| !node.moved && pods::name(name) == pod)
        });
        let Some((_, node)) = found else { return KubeResponse::failure(404, "NotFound", "pods not found") };
        if self.machines[node.machine].faults.has("keep-pods") {
            let message = "Cannot evict pod as it would violate the pod's disruption budget.";
            return KubeResponse::failure(429, "TooManyRequests", message);
        }
        node.moved = true;
        etcd.change();
        KubeResponse {
            code: 201,
            ..KubeResponse::json(json!({"kind": "Status", "apiVersion": "v1", "status": "Success"}))
        }
    }

    fn kubernetes_version(&self, nth: usize) -> Value {
        let version = default_kubernetes(&self.machines[nth].release);
        let version = version.map(|version| version.to_string()).unwrap_or_default();
        let version = version.trim_start_matches('v');
        let mut parts = version.split('.');
        let [major, minor] = [parts.next(), parts.next()].map(Option::unwrap_or_default);
        json!({"major": major, "minor": minor, "gitVersion": format!("v{version}"), "platform": "linux/amd64"})
    }

    fn kube_node(&self, etcd: &EtcdCluster, name: &str, node: &KubeNode) -> Value {
        let machine = &self.machines[node.machine];
        let ready = self.is_kube_node_ready(etcd, name, node);
        let mut labels = json!({"kubernetes.io/hostname": name, "kubernetes.io/arch": "amd64"});
        if machine.is_control_plane() {
            labels["node-role.kubernetes.io/control-plane"] = json!("");
        }
        let mut spec = json!({});
        if node.unschedulable {
            spec["unschedulable"] = json!(true);
            let taint = json!({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"});
            spec["taints"] = json!([taint]);
        }
        let mut addresses: Vec<_> = machine
            .addresses()
            .iter()
            .map(|address| json!({"type": "InternalIP", "address": address.to_string()}))
            .collect();
        addresses.push(json!({"type": "Hostname", "address": name}));
        let status = if ready { "True" } else { "False" };
        let reason = if ready { "KubeletReady" } else { "KubeletNotReady" };
        let message = if self.has_pod_network(etcd) { "" } else { UNPLUGGED };
        json!({
            "kind": "Node",
            "apiVersion": "v1",
            "metadata": {
                "name": name, "uid": machine.hardware.uuid, "labels": labels, "annotations": node.annotations,
                "resourceVersion": node.revision.to_string(),
                "creationTimestamp": self.moment(node.created).to_string(),
            },
            "spec": spec,
            "status": {
                "addresses": addresses,
                "conditions": [{"type": "Ready", "status": status, "reason": reason, "message": message}],
                "nodeInfo": {
                    "kubeletVersion": self.kubernetes_version(node.machine)["gitVersion"],
                    "osImage": format!("Talos ({})", machine.release),
                    "systemUUID": machine.hardware.uuid, "operatingSystem": "linux", "architecture": "amd64",
                    "containerRuntimeVersion": "containerd://2.1.0", "kernelVersion": "6.18.0-talos",
                },
            },
        })
    }

    /// A time since the start, as the clock shows it.
    pub(crate) fn moment(&self, at: std::time::Duration) -> Moment {
        self.epoch.after(at).unwrap_or(self.epoch)
    }
}
