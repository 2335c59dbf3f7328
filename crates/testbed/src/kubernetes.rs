//! A real API server and its etcd, with the certificates of an ichor bundle.

use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ichor_talos::secrets::{Bundle, Pair, Server, kubernetes_admin_certificate, server_certificate};
use ichor_values::{Moment, TalosVersion};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

use crate::lab::{LabMachine, RootFileSystem, output_text, wait_for};
use crate::machine::bundle;
use crate::parts;

/// Below this folder, which is in memory, are certificates, data and logs.
const FOLDER: &str = "/tmp/kubernetes";

const LIFE: Duration = Duration::from_hours(24);

/// The server's address for machines that are connected to it.
const ADDRESS: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);

/// Objects that the API server does not accept.
#[derive(Debug, thiserror::Error)]
#[error("{errors}")]
pub struct RejectedObjects {
    errors: String,
}

/// kube-apiserver and etcd in a network namespace of their own; both end with the test.
pub struct ApiServer {
    machine: LabMachine,
    kubectl: PathBuf,
}

impl ApiServer {
    /// Starts both with the bundle of the tests, and waits until the API server is ready.
    pub fn start() -> Self {
        Self::start_with(&bundle())
    }

    /// Starts both with a new bundle, whose service account key takes half a minute on a busy machine.
    pub fn start_with_new_bundle() -> Self {
        let mut rng = ChaCha20Rng::seed_from_u64(!unix_seconds());
        Self::start_with(&Bundle::new(&TalosVersion::parse("v1.14").unwrap(), &mut rng, now()).unwrap())
    }

    fn start_with(bundle: &Bundle) -> Self {
        let [server, etcd, kubectl] =
            ["kubernetes/kube-apiserver", "etcd/etcd", "kubernetes/kubectl"].map(parts::path);
        let machine = LabMachine::new(RootFileSystem::Own);
        machine.ask(&format!("mkdir {FOLDER}"));
        write_certificates(&machine, bundle);
        start_etcd(&machine, &etcd);
        start_api_server(&machine, &server);
        let server = Self { machine, kubectl };
        let ready = || server.kubectl(&["get", "--raw", "/readyz"], "").status.success();
        let log = || server.machine.ask(&format!("tail -n 30 {FOLDER}/*.log"));
        wait_for("the API server", ready, log);
        server
    }

    /// Creates the custom resource definitions of a folder of the part `crds`, in place of others for the same kinds.
    pub fn apply_crds(&self, name: &str) {
        let folder = parts::path(&format!("crds/{name}"));
        let folder = folder.to_str().unwrap();
        // Created anew: the server applies a changed definition some time after it has accepted the change.
        self.run(&["delete", "--ignore-not-found", "-R", "-f", folder]);
        let created = self.run(&["create", "-o", "name", "-R", "-f", folder]);
        self.run(&["wait", "--for=condition=established", "--timeout=60s", "-R", "-f", folder]);
        let known = || self.run(&["api-resources", "--cached=false", "-o", "name"]);
        let served = || {
            let known = known();
            let mut names = created.lines().filter_map(|line| line.split_once('/'));
            names.all(|(_, name)| known.lines().any(|line| line == name))
        };
        wait_for(name, served, known);
    }

    /// Creates a namespace.
    pub fn create_namespace(&self, name: &str) {
        self.run(&["create", "namespace", name]);
    }

    /// Has the server validate these objects strictly.
    pub fn dry_run(&self, yaml: &str) -> Result<(), RejectedObjects> {
        let arguments = ["apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-"];
        let output = self.kubectl(&arguments, yaml);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() { Ok(()) } else { Err(RejectedObjects { errors }) }
    }

    /// Creates or changes these objects.
    pub fn apply(&self, yaml: &str) {
        let output = self.kubectl(&["apply", "--server-side", "--validate=strict", "-f", "-"], yaml);
        assert!(output.status.success(), "{}{yaml}", output_text(&output));
    }

    /// The server's machine, where it listens at 127.0.0.1.
    pub fn machine(&self) -> &LabMachine {
        &self.machine
    }

    /// Connects another machine to the server by a cable.
    pub fn connect(&self, other: &LabMachine) {
        self.machine.cable("clients", other, "api");
        self.machine.ask(&format!("ip address add {ADDRESS}/30 dev clients"));
        other.ask("ip address add 192.0.2.2/30 dev api");
    }

    /// Writes `/tmp/kubeconfig` of an administrator in a machine, with the server at 127.0.0.1 or at the end of its cable.
    pub fn write_kubeconfig(&self, machine: &LabMachine) {
        let is_connected = machine.run("ip -br link show api").status.success();
        let address = if is_connected { ADDRESS } else { Ipv4Addr::LOCALHOST };
        for name in ["ca.crt", "admin.crt", "admin.key"] {
            machine.write(&format!("/tmp/{name}"), &self.machine.ask(&format!("cat {FOLDER}/{name}")));
        }
        machine.write("/tmp/kubeconfig", &kubeconfig(address, "/tmp"));
    }

    /// Runs kubectl, which must succeed, and returns its stdout.
    pub fn run(&self, arguments: &[&str]) -> String {
        let output = self.kubectl(arguments, "");
        assert!(output.status.success(), "kubectl {}: {}", arguments.join(" "), output_text(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    fn kubectl(&self, arguments: &[&str], input: &str) -> Output {
        let mut command: Command = self.machine.enter();
        command.arg(&self.kubectl).args(["--kubeconfig", &format!("{FOLDER}/kubeconfig")]);
        command.args(["--cache-dir", &format!("{FOLDER}/cache"), "--request-timeout=60s"]).args(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    }
}

fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// A minute ago, because clocks differ.
fn now() -> Moment {
    Moment::from_unix(unix_seconds() - 60).unwrap()
}

/// Writes the authorities of a bundle, certificates they sign as on a control plane, and a kubeconfig.
fn write_certificates(machine: &LabMachine, bundle: &Bundle) {
    let (rng, now) = (&mut ChaCha20Rng::seed_from_u64(unix_seconds()), now());
    let here = Server {
        name: "kube-apiserver",
        names: &["kubernetes", "localhost"],
        addresses: &[IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V4(ADDRESS)],
    };
    let mut server = |authority| server_certificate(Some(authority), here, rng, now, LIFE).unwrap();
    let (api, etcd) = (server(&bundle.k8s), server(&bundle.etcd));
    let mut client = |authority| kubernetes_admin_certificate(authority, rng, now, LIFE).unwrap();
    let [admin, etcd_client, front] = [&bundle.k8s, &bundle.etcd, &bundle.aggregator].map(&mut client);
    let write = |name: &str, Pair { crt, key }: &Pair| {
        machine.write(&format!("{FOLDER}/{name}.crt"), &crt.text());
        machine.write(&format!("{FOLDER}/{name}.key"), &key.text());
    };
    for (name, pair) in [
        ("ca", &bundle.k8s),
        ("etcd-ca", &bundle.etcd),
        ("front-ca", &bundle.aggregator),
        ("api", &api),
        ("etcd", &etcd),
        ("admin", &admin),
        ("etcd-client", &etcd_client),
        ("front", &front),
    ] {
        write(name, pair);
    }
    machine.write(&format!("{FOLDER}/service-account.key"), &bundle.service_account.text());
    machine.write(&format!("{FOLDER}/kubeconfig"), &kubeconfig(Ipv4Addr::LOCALHOST, FOLDER));
}

/// The kubeconfig of the administrator, whose certificates are in `folder`.
fn kubeconfig(address: Ipv4Addr, folder: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: lab\n\
         contexts: [{{name: lab, context: {{cluster: lab, user: admin}}}}]\n\
         clusters: [{{name: lab, cluster: {{server: 'https://{address}:6443', certificate-authority: {folder}/ca.crt}}}}]\n\
         users: [{{name: admin, user: {{client-certificate: {folder}/admin.crt, client-key: {folder}/admin.key}}}}]\n"
    )
}

fn start_etcd(machine: &LabMachine, program: &Path) {
    let url = "https://127.0.0.1:2379";
    start(
        machine,
        program,
        "etcd",
        &format!(
            "--data-dir {FOLDER}/etcd --unsafe-no-fsync --enable-grpc-gateway=false --listen-client-urls {url} \
             --advertise-client-urls {url} --client-cert-auth --trusted-ca-file {FOLDER}/etcd-ca.crt \
             --cert-file {FOLDER}/etcd.crt --key-file {FOLDER}/etcd.key"
        ),
    );
}

fn start_api_server(machine: &LabMachine, program: &Path) {
    start(
        machine,
        program,
        "kube-apiserver",
        &format!(
            "--etcd-servers=https://127.0.0.1:2379 --etcd-cafile={FOLDER}/etcd-ca.crt \
             --etcd-certfile={FOLDER}/etcd-client.crt --etcd-keyfile={FOLDER}/etcd-client.key \
             --bind-address=0.0.0.0 --advertise-address={ADDRESS} --endpoint-reconciler-type=none \
             --client-ca-file={FOLDER}/ca.crt --tls-cert-file={FOLDER}/api.crt --tls-private-key-file={FOLDER}/api.key \
             --requestheader-client-ca-file={FOLDER}/front-ca.crt --requestheader-username-headers=X-Remote-User \
             --proxy-client-cert-file={FOLDER}/front.crt --proxy-client-key-file={FOLDER}/front.key \
             --service-account-issuer=https://127.0.0.1:6443 --service-account-key-file={FOLDER}/service-account.key \
             --service-account-signing-key-file={FOLDER}/service-account.key --service-cluster-ip-range=10.96.0.0/12,fd00:96::/112 \
             --authorization-mode=Node,RBAC --allow-privileged=true"
        ),
    );
}

/// Starts a background process with its output in a log.
fn start(machine: &LabMachine, program: &Path, name: &str, arguments: &str) {
    machine.ask(&format!("'{}' {arguments} >{FOLDER}/{name}.log 2>&1 &", program.display()));
}
