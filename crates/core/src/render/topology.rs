//! The picture.
use crate::{model::Cluster, plan::Plan};
/// stub
pub fn render(_: &Cluster, _: &Plan) -> String {
    String::new()
}
