//! Certificate authorities that are none. Talos takes any bytes; the node then fails to start its services.

use crate::talos::certificate;
use crate::talos::go::base64;
use crate::talos::validate::Flaws;
use crate::talos::validate::field::Field;

/// Looks at every certificate of the document.
pub fn advise(document: &Field<'_>, flaws: &mut Flaws) {
    let (machine, cluster) = (document.get("machine"), document.get("cluster"));
    let single =
        [machine.get("ca"), cluster.get("ca"), cluster.get("aggregatorCA"), cluster.at(["etcd", "ca"])];
    let accepted = machine.get("acceptedCAs").items().chain(cluster.get("acceptedCAs").items());
    let registries = machine.at(["registries", "config"]).entries().map(|(_, entry)| entry.at(["tls", "ca"]));
    for crt in single.into_iter().chain(accepted).map(|ca| ca.get("crt")).chain(registries) {
        let is_certificate = || base64::decode(crt.text()).is_some_and(|pem| certificate::is_pem(&pem));
        if !crt.is_empty() && !is_certificate() {
            flaws.advice(
                &crt,
                "not a certificate: want the base64 of a PEM block that begins with BEGIN CERTIFICATE",
            );
        }
    }
}
