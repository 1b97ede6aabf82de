//! One configured transform and its plans; the same code serves the component
//! and the native tests.

use std::collections::BTreeMap;

use crate::bindings::exports::tidegate::transform::columns as wire;
use crate::bindings::tidegate::transform::planning::Plan;
use crate::bindings::tidegate::transform::types::BatchContext;
use crate::{Batch, BatchError, PlanError, TableSchema, Transform};

pub(crate) struct Instance<T: Transform> {
    transform: T,
    plans: BTreeMap<u32, Planned<T::Table>>,
}

struct Planned<P> {
    schema: TableSchema,
    table: P,
}

impl<T: Transform> Instance<T> {
    pub(crate) fn configure(config: &str) -> Result<Self, String> {
        Ok(Self { transform: T::configure(config)?, plans: BTreeMap::new() })
    }

    /// Plans a table. The id is a hash of the schema, so that the same schema
    /// has the same id in every instance and a replaced instance is
    /// interchangeable with the one before it.
    pub(crate) fn plan_table(&mut self, schema: TableSchema) -> Result<Plan, PlanError> {
        let (plan, table) = self.transform.plan(&schema)?;
        let mut id = schema_hash(&schema);
        while self.plans.get(&id).is_some_and(|other| other.schema != schema) {
            id = id.wrapping_add(1);
        }
        self.plans.insert(id, Planned { schema, table });
        Ok(plan.with_id(id))
    }

    pub(crate) fn transform(
        &self,
        context: BatchContext,
        batch: wire::Batch,
    ) -> Result<wire::Output, BatchError> {
        let planned = self.plans.get(&context.plan_id).ok_or_else(|| {
            BatchError::Fatal(format!("plan {:08x} was not made by this instance", context.plan_id))
        })?;
        self.transform.transform(&planned.table, Batch::new(batch)).map(crate::Output::into_wire)
    }
}

/// 32-bit FNV-1a over all that tells one schema from another.
fn schema_hash(schema: &TableSchema) -> u32 {
    let mut hash = 0x811c_9dc5_u32;
    let mut add = |bytes: &[u8]| {
        // The length keeps ["ab", "c"] apart from ["a", "bc"].
        for byte in (bytes.len() as u32).to_le_bytes().iter().chain(bytes) {
            hash = (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
        }
    };
    for part in &schema.name {
        add(part.as_bytes());
    }
    add(&schema.version.to_le_bytes());
    for column in &schema.columns {
        add(column.name.as_bytes());
        add(format!("{:?}", column.data_type).as_bytes());
        add(&[column.role as u8, column.nullable.into(), column.key_position]);
    }
    hash
}
