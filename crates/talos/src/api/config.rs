//! `talos.resource.definitions.config`: what stands in a resource that is a configuration.

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct MachineConfigSpec {
    /// The text; a secret.
    #[prost(bytes = "vec", tag = "1")]
    pub yaml_marshalled: Vec<u8>,
}
