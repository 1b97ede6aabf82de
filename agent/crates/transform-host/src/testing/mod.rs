//! Guests, tables and batches for the tests.
//!
//! The guest is text (`probe.wat`), encoded in this process; what it answers to
//! `plan-table` is laid out here, byte by byte as the canonical ABI wants it.

mod batch;
mod layout;

use std::sync::Arc;

use tidegate_model::Result;
use tidegate_model::transform::Transform;

use crate::encode::{World, encode};
use crate::{TransformConfig, WasmTransform};

pub(crate) use batch::{Change, Row, batch, changes, table};
pub(crate) use layout::{Answer, OutColumn, PlanLayout, Type};

const PROBE: &str = include_str!("probe.wat");

/// The probe's text with this answer to `plan-table`.
pub(crate) fn probe_text(answer: &Answer) -> String {
    let escaped: String = answer.bytes(4096).iter().map(|byte| format!("\\{byte:02x}")).collect();
    PROBE.replace("%PLAN%", &escaped)
}

/// Text of a module as a component.
pub(crate) fn component(text: &str) -> Arc<[u8]> {
    encode(text.as_bytes(), Some(World::Column)).expect("the text is a transform").into()
}

/// The probe with this plan, loaded as `probe`.
pub(crate) fn probe(plan: PlanLayout) -> WasmTransform {
    load(&Answer::Plan(plan)).expect("the probe loads")
}

pub(crate) fn load(answer: &Answer) -> Result<WasmTransform> {
    WasmTransform::load(TransformConfig::new("probe", component(&probe_text(answer))))
}

/// The probe with this plan, planned for [`table`].
pub(crate) fn planned(plan: PlanLayout) -> WasmTransform {
    let mut transform = probe(plan);
    transform.plan(&table()).expect("the plan is valid");
    transform
}
