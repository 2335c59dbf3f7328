//! `talos.resource.definitions.config`: the specification of a configuration resource.

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct MachineConfigSpec {
    /// The text; a secret.
    #[prost(bytes = "vec", tag = "1")]
    pub yaml_marshalled: Vec<u8>,
}
