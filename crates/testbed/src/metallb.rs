//! MetalLB's own controller and speaker, configured by nothing but the objects in a real API server.

use ichor_bgp::setting::MetallbMode;
use serde_json::Value;

use crate::frr::Frr;
use crate::kubernetes::ApiServer;
use crate::lab::{LabMachine, RootFileSystem, wait_for};
use crate::parts;

/// Namespace of MetalLB and of the services.
const NAMESPACE: &str = "metallb-system";

/// Where frr-k8s writes a configuration, and its script reads it.
const RELOADER: &str = "/tmp/reloader";

/// The controller beside the API server, the speaker beside the node, and in mode `frr-k8s` an FRR of their own.
pub struct Metallb<'s> {
    server: &'s ApiServer,
    node: String,
    controller: LabMachine,
    speaker: LabMachine,
    frr: Option<LabMachine>,
}

impl<'s> Metallb<'s> {
    /// Creates the definitions, the namespace, the node of this name, and the pods that own what the programs create.
    pub fn install(server: &'s ApiServer, machine: &LabMachine, node: &str) -> Self {
        server.apply_crds("metallb-0.16");
        server.apply_crds("frr-k8s");
        server.create_namespace(NAMESPACE);
        server.apply(&objects(node));
        server.connect(machine);
        let beside = |machine| {
            let machine = LabMachine::beside(machine, RootFileSystem::Own);
            server.write_kubeconfig(&machine);
            machine
        };
        let (controller, speaker) = (beside(server.machine()), beside(machine));
        Self { server, node: node.to_owned(), controller, speaker, frr: None }
    }

    /// Starts everything that runs in this mode.
    pub fn start(&mut self, mode: MetallbMode) {
        if mode == MetallbMode::FrrK8s {
            self.frr = Some(self.start_frr());
        }
        let program = |name: &str| parts::path(&format!("metallb/{name}")).display().to_string();
        let start = |machine: &LabMachine, pod: &str, command: &str| {
            machine.ask(&format!(
                "METALLB_BGP_TYPE={} METALLB_POD_NAME={pod} METALLB_NAMESPACE={NAMESPACE} METALLB_NODE_NAME={} \
                 KUBECONFIG=/tmp/kubeconfig {command} >/tmp/log 2>&1 &",
                mode.word(),
                self.node
            ));
        };
        // The API server cannot reach a webhook here.
        start(
            &self.controller,
            "controller",
            &format!("'{}' --webhook-mode=disabled", program("controller")),
        );
        start(&self.speaker, "speaker", &format!("'{}'", program("speaker")));
    }

    /// FRR with the options of the chart of frr-k8s, the script that reloads it, and frr-k8s.
    fn start_frr(&self) -> LabMachine {
        let machine = Frr::V8.machine_beside(&self.speaker);
        self.server.write_kubeconfig(&machine);
        let daemons =
            "mgmtd=no\nzebra_options=\"-A 127.0.0.1 -K 120 -P 0\"\nbgpd_options=\"-A 127.0.0.1 -p 0 -P 0\"\n";
        Frr::V8.start(&machine, Some(daemons));
        let [program, script] = ["frr-k8s", "frr-reloader.sh"]
            .map(|name| parts::path(&format!("frr-k8s/{name}")).display().to_string());
        machine.ask(&format!("mkdir {RELOADER} && echo >{RELOADER}/frr.conf"));
        let reloader = format!("SHARED_VOLUME={RELOADER} '{script}'");
        machine.start(&reloader, &format!("{RELOADER}/reloader.pid"));
        machine.ask(&format!(
            "FRR_CONFIG_FILE={RELOADER}/frr.conf FRR_RELOADER_PID_FILE={RELOADER}/reloader.pid KUBECONFIG=/tmp/kubeconfig \
             '{program}' --node-name={} --namespace={NAMESPACE} --bgp-debounce-timeout=300 >/tmp/log 2>&1 &",
            self.node
        ));
        machine
    }

    /// Waits until controller and speaker report this result about their configuration, and returns the speaker's errors.
    pub fn wait_for_result(&self, controller: &str, speaker: &str) -> String {
        let name = format!("speaker-{}", self.node);
        let expected = [("controller", controller), (&name, speaker)];
        let reported =
            || expected.iter().all(|(name, result)| self.configuration_state(name)["result"] == *result);
        wait_for(&format!("controller {controller}, speaker {speaker}"), reported, || self.state());
        self.configuration_state(&name)["errorSummary"].as_str().unwrap_or_default().to_owned()
    }

    fn configuration_state(&self, name: &str) -> Value {
        let get = ["get", "configurationstates", "-n", NAMESPACE, "--ignore-not-found", "-o", "json", name];
        serde_json::from_str::<Value>(&self.server.run(&get))
            .map(|state| state["status"].clone())
            .unwrap_or_default()
    }

    /// Creates a service with an endpoint on the node, and waits for one address of each family.
    pub fn create_service(&self, name: &str, families: &[&str]) -> Vec<String> {
        self.server.apply(&service(name, &self.node, families));
        let get =
            ["get", "service", "-n", NAMESPACE, name, "-o", "jsonpath={.status.loadBalancer.ingress[*].ip}"];
        let addresses = || -> Vec<String> { self.server.run(&get).split(' ').map(str::to_owned).collect() };
        wait_for("the service's addresses", || !addresses()[0].is_empty(), || self.state());
        let found = addresses();
        assert_eq!(found.len(), families.len(), "{found:?}");
        found
    }

    /// Deletes a service.
    pub fn delete_service(&self, name: &str) {
        self.server.run(&["delete", "service", "-n", NAMESPACE, name]);
    }

    /// Runs a shell script beside the FRR of frr-k8s.
    pub fn ask_frr(&self, script: &str) -> String {
        self.frr.as_ref().expect("mode `frr-k8s`").ask(script)
    }

    /// The state to print after a timeout.
    pub fn state(&self) -> String {
        let objects = "nodes,services,endpointslices,bgppeers,bgpadvertisements,ipaddresspools,configurationstates,\
                       frrconfigurations";
        let mut text =
            self.server.run(&["get", objects, "-n", NAMESPACE, "-o", "yaml", "--show-managed-fields=false"]);
        let machines = [
            ("controller", Some(&self.controller)),
            ("speaker", Some(&self.speaker)),
            ("frr", self.frr.as_ref()),
        ];
        for (name, machine) in machines {
            let Some(machine) = machine else { continue };
            text += &format!("----- {name}\n");
            text += &machine.ask(
                "tail -n 60 /tmp/log; [ ! -e /tmp/reloader ] || cat /tmp/log-of-start /tmp/reloader/frr.conf",
            );
        }
        text
    }
}

/// A node without labels of its own, and pods that nothing runs.
fn objects(node: &str) -> String {
    let pod = |name: &str| {
        format!(
            "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, namespace: {NAMESPACE}}}\n\
             spec: {{automountServiceAccountToken: false, containers: [{{name: {name}, image: {name}}}]}}\n"
        )
    };
    format!(
        "apiVersion: v1\nkind: Node\nmetadata: {{name: {node}, labels: {{kubernetes.io/hostname: {node}}}}}\n\
         ---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {{name: default, namespace: {NAMESPACE}}}\n{}{}",
        pod("controller"),
        pod("speaker")
    )
}

fn service(name: &str, node: &str, families: &[&str]) -> String {
    let endpoints = |family: &&str| {
        let address = if *family == "IPv4" { "10.244.0.7" } else { "fd00:244::7" };
        let lower = family.to_lowercase();
        format!(
            "---\napiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\naddressType: {family}\n\
             metadata: {{name: {name}-{lower}, namespace: {NAMESPACE}, labels: {{kubernetes.io/service-name: {name}}}}}\n\
             endpoints: [{{addresses: ['{address}'], nodeName: {node}, conditions: {{ready: true}}}}]\nports: [{{port: 80}}]\n"
        )
    };
    format!(
        "apiVersion: v1\nkind: Service\nmetadata: {{name: {name}, namespace: {NAMESPACE}}}\n\
         spec: {{type: LoadBalancer, ipFamilyPolicy: {}, ipFamilies: [{}], ports: [{{port: 80}}]}}\n{}",
        if families.len() > 1 { "RequireDualStack" } else { "SingleStack" },
        families.join(", "),
        families.iter().map(endpoints).collect::<String>()
    )
}
