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
    rows.add("cluster.contract", contract);
    rows.add_optional("cluster.kubernetes", kubernetes.as_ref());
    rows.add_optional("cluster.endpoint", endpoint.as_ref());
    rows.add_list("cluster.talos_endpoints", talos_endpoints);
    rows.add_optional("cluster.bootstrap", bootstrap.as_ref());
    rows.add_list("cluster.pods", pods);
    rows.add_list("cluster.services", services);
    rows.add("cluster.cni", cni);
    rows.add("cluster.kube_proxy", kube_proxy);
    rows.add_prefixes("network.node", node);
    rows.add_prefixes("network.loopback", loopback);
    rows.add_list("network.kubelet_subnets", kubelet_subnets);
    rows.add_list("network.etcd_subnets", etcd_subnets);

    let mut details = RowBuilder(Vec::new());
    details.add_printed("cluster.sans", sans.as_ref());
    details.add_printed("cluster.flannel.args", flannel_args.as_ref());
    if let Some(cilium) = cilium {
        cilium_rows(&mut details, cilium);
    }
    if let Some(KubeVipPlan { address, interface }) = kube_vip {
        details.add("cluster.kube_vip.address", address);
        details.add_optional("cluster.kube_vip.interface", interface.as_ref());
    }
    details.add("cluster.kubeprism", kubeprism);
    let DiscoveryPlan { service, endpoint, kubespan } = discovery;
    details.add("cluster.discovery.service", service);
    details.add_optional("cluster.discovery.endpoint", endpoint.as_ref());
    details.add("cluster.discovery.kubespan", kubespan);
    let RegistriesPlan { mirrors, auth } = registries;
    details.add_printed("cluster.registries.mirrors", mirrors.as_ref());
    details.add_printed("cluster.registries.auth", auth.as_ref());
    details.add("cluster.firewall", firewall);
    let EncryptionPlan { state, ephemeral } = encryption;
    details.add_printed("cluster.encryption.state", state.as_ref());
    details.add_printed("cluster.encryption.ephemeral", ephemeral.as_ref());
    for (site, relay) in relays {
        details.add(&format!("sites.{site}.relay"), relay);
    }
    (rows.0, details.0)
}

fn cilium_rows(rows: &mut RowBuilder, cilium: &CiliumPlan) {
    let CiliumPlan { version, chart, repository, values, manifest } = cilium;
    rows.add("cluster.cilium.version", version);
    rows.add("cluster.cilium.chart", chart);
    rows.add("cluster.cilium.repository", repository);
    rows.add_optional("cluster.cilium.values", values.as_ref());
    rows.add_optional("cluster.cilium.manifest", manifest.as_ref());
}

/// The decided values of the routers of the fabric and the hypervisors, by key path.
pub fn fabric_rows(plan: &Plan) -> Vec<ValueRow> {
    let mut rows = RowBuilder(Vec::new());
    for (nth, router) in plan.routers.iter().enumerate() {
        router_rows(&mut rows, &format!("fabric.routers[{nth}]"), router);
    }
    for HypervisorPlan { name, proxmox, libvirt } in &plan.hypervisors {
        let key = |kind: &str, key: &str| format!("hypervisors.{name}.{kind}.{key}");
        if let Some(ProxmoxPlan { url, token, user, password, fingerprint, ca }) = proxmox {
            rows.add_optional(&key("proxmox", "url"), url.as_ref());
            rows.add_printed(&key("proxmox", "token"), token.as_ref());
            rows.add_optional(&key("proxmox", "user"), user.as_ref());
            rows.add_printed(&key("proxmox", "password"), password.as_ref());
            rows.add_optional(&key("proxmox", "fingerprint"), fingerprint.as_ref());
            rows.add_optional(&key("proxmox", "ca"), ca.as_ref());
        }
        if let Some(LibvirtPlan { uri, bridge, ovs, nat }) = libvirt {
            rows.add(&key("libvirt", "uri"), uri);
            rows.add(&key("libvirt", "network.bridge"), bridge);
            rows.add(&key("libvirt", "network.ovs"), ovs);
            rows.add_optional(&key("libvirt", "network.nat"), nat.as_ref());
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
    rows.add(&format!("{key}.role"), role);
    rows.add_optional(&format!("{key}.asn"), asn.as_ref());
    rows.add(&format!("{key}.router_id"), router_id);
    rows.add_items(&format!("{key}.addresses"), addresses);
    rows.add(&format!("{key}.software"), software);
    rows.add_optional(&format!("{key}.version"), version.as_ref());
    rows.add_optional(&format!("{key}.vrf"), vrf.as_ref());
    rows.add_optional(&format!("{key}.listen"), listen.as_ref());
    rows.add_bfd(&format!("{key}.bfd"), bfd.as_ref().and_then(Option::as_ref));
    rows.add_printed(&format!("{key}.password"), password.as_ref());
    rows.add_optional(&format!("{key}.reach.ssh"), ssh.as_ref());
}
