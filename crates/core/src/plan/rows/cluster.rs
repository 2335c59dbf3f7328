//! Values of the cluster, its routers and hypervisors.

use super::{RowBuilder, ValueRow};
use crate::plan::{
    CiliumPlan, ClusterPlan, DiscoveryPlan, EncryptionPlan, HypervisorPlan, KubeVipPlan, LibvirtPlan, Plan,
    ProxmoxPlan, RegistriesPlan, RouterPlan,
};

/// The decided values of the cluster for the overview, by key path.
pub fn cluster_rows(plan: &ClusterPlan) -> Vec<ValueRow> {
    overview_and_details(plan).0
}

/// The other decided values of the cluster.
pub fn cluster_detail_rows(plan: &ClusterPlan) -> Vec<ValueRow> {
    overview_and_details(plan).1
}

fn overview_and_details(plan: &ClusterPlan) -> (Vec<ValueRow>, Vec<ValueRow>) {
    let ClusterPlan {
        name: _,
        id: _,
        talos: _,
        contract,
        kubernetes,
        endpoint,
        talos_endpoints,
        bootstrap,
        sans,
        pods,
        services,
        cni,
        flannel_args,
        cilium,
        kube_proxy,
        kube_vip,
        kubeprism,
        discovery,
        registries,
        firewall,
        encryption,
        node,
        loopback,
        vip: _,
        anycast: _,
        pools: _,
        relays,
        kubelet_subnets,
        etcd_subnets,
    } = plan;
    let mut rows = RowBuilder(Vec::new());
    rows.put("cluster.contract", contract);
    rows.some("cluster.kubernetes", kubernetes.as_ref());
    rows.some("cluster.endpoint", endpoint.as_ref());
    rows.list("cluster.talos_endpoints", talos_endpoints);
    rows.some("cluster.bootstrap", bootstrap.as_ref());
    rows.list("cluster.pods", pods);
    rows.list("cluster.services", services);
    rows.put("cluster.cni", cni);
    rows.put("cluster.kube_proxy", kube_proxy);
    rows.prefixes("network.node", node);
    rows.prefixes("network.loopback", loopback);
    rows.list("network.kubelet_subnets", kubelet_subnets);
    rows.list("network.etcd_subnets", etcd_subnets);

    let mut details = RowBuilder(Vec::new());
    details.print("cluster.sans", sans.as_ref());
    details.print("cluster.flannel.args", flannel_args.as_ref());
    if let Some(cilium) = cilium {
        cilium_rows(&mut details, cilium);
    }
    if let Some(KubeVipPlan { address, interface }) = kube_vip {
        details.put("cluster.kube_vip.address", address);
        details.some("cluster.kube_vip.interface", interface.as_ref());
    }
    details.put("cluster.kubeprism", kubeprism);
    let DiscoveryPlan { service, endpoint, kubespan } = discovery;
    details.put("cluster.discovery.service", service);
    details.some("cluster.discovery.endpoint", endpoint.as_ref());
    details.put("cluster.discovery.kubespan", kubespan);
    let RegistriesPlan { mirrors, auth } = registries;
    details.print("cluster.registries.mirrors", mirrors.as_ref());
    details.print("cluster.registries.auth", auth.as_ref());
    details.put("cluster.firewall", firewall);
    let EncryptionPlan { state, ephemeral } = encryption;
    details.print("cluster.encryption.state", state.as_ref());
    details.print("cluster.encryption.ephemeral", ephemeral.as_ref());
    for (site, relay) in relays {
        details.put(&format!("sites.{site}.relay"), relay);
    }
    (rows.0, details.0)
}

fn cilium_rows(rows: &mut RowBuilder, cilium: &CiliumPlan) {
    let CiliumPlan { version, chart, repository, values, manifest } = cilium;
    rows.put("cluster.cilium.version", version);
    rows.put("cluster.cilium.chart", chart);
    rows.put("cluster.cilium.repository", repository);
    rows.some("cluster.cilium.values", values.as_ref());
    rows.some("cluster.cilium.manifest", manifest.as_ref());
}

/// The decided values of the routers of the fabric and the hypervisors, by key path.
pub fn surrounding_rows(plan: &Plan) -> Vec<ValueRow> {
    let mut rows = RowBuilder(Vec::new());
    for (nth, router) in plan.routers.iter().enumerate() {
        router_rows(&mut rows, &format!("fabric.routers[{nth}]"), router);
    }
    for HypervisorPlan { name, proxmox, libvirt } in &plan.hypervisors {
        let key = |kind: &str, key: &str| format!("hypervisors.{name}.{kind}.{key}");
        if let Some(ProxmoxPlan { url, token, user, password, fingerprint, ca }) = proxmox {
            rows.some(&key("proxmox", "url"), url.as_ref());
            rows.print(&key("proxmox", "token"), token.as_ref());
            rows.some(&key("proxmox", "user"), user.as_ref());
            rows.print(&key("proxmox", "password"), password.as_ref());
            rows.some(&key("proxmox", "fingerprint"), fingerprint.as_ref());
            rows.some(&key("proxmox", "ca"), ca.as_ref());
        }
        if let Some(LibvirtPlan { uri, bridge, ovs, nat }) = libvirt {
            rows.put(&key("libvirt", "uri"), uri);
            rows.put(&key("libvirt", "network.bridge"), bridge);
            rows.put(&key("libvirt", "network.ovs"), ovs);
            rows.some(&key("libvirt", "network.nat"), nat.as_ref());
        }
    }
    rows.0
}

fn router_rows(rows: &mut RowBuilder, key: &str, router: &RouterPlan) {
    let RouterPlan {
        name: _,
        role,
        asn,
        router_id,
        addresses,
        software,
        version,
        vrf,
        listen,
        bfd,
        password,
        ssh,
    } = router;
    rows.put(&format!("{key}.role"), role);
    rows.some(&format!("{key}.asn"), asn.as_ref());
    rows.put(&format!("{key}.router_id"), router_id);
    rows.each(&format!("{key}.addresses"), addresses);
    rows.put(&format!("{key}.software"), software);
    rows.some(&format!("{key}.version"), version.as_ref());
    rows.some(&format!("{key}.vrf"), vrf.as_ref());
    rows.some(&format!("{key}.listen"), listen.as_ref());
    rows.bfd(&format!("{key}.bfd"), bfd.as_ref().and_then(Option::as_ref));
    rows.print(&format!("{key}.password"), password.as_ref());
    rows.some(&format!("{key}.reach.ssh"), ssh.as_ref());
}
