//! The contract that a transform fulfils.

use crate::{Batch, BatchError, Descriptor, Output, PlanError, StateEntry, TablePlan, TableSchema};

/// One transform. The host makes an instance per partition, calls
/// [`configure`](Self::configure) once, [`plan`](Self::plan) for every table
/// and again at every DDL, and [`transform`](Self::transform) per batch.
///
/// An instance is disposable: after a trap, and after a number of batches, the
/// host replaces it. What must outlive it belongs into [`host::state`](crate::host::state).
pub trait Transform: Sized + 'static {
    /// What `transform` needs to know about a planned table, such as which
    /// entry of `reads` holds which column. Kept by the SDK per plan.
    type Table: 'static;

    /// Name and version, for logs and the swap history. See
    /// [`descriptor!`](crate::descriptor).
    fn describe() -> Descriptor;

    /// Parses the JSON object under the transform's `config` key.
    ///
    /// # Errors
    /// A text for the user that names every wrong key.
    fn configure(config: &str) -> Result<Self, String>;

    /// Maps the schema of a table. Must be pure: the same configuration and
    /// schema give the same plan. Older plans of the table stay in use until
    /// their last batch is through.
    ///
    /// # Errors
    /// [`PlanError::NotApplicable`] lets the table pass unchanged,
    /// [`PlanError::Incompatible`] stops it before the first row of this
    /// schema, [`PlanError::InvalidConfig`] refuses the configuration.
    fn plan(&self, table: &TableSchema) -> Result<(TablePlan, Self::Table), PlanError>;

    /// Transforms the rows of one batch. Computed columns are returned in the
    /// order in which the plan declared them.
    ///
    /// The output of an event may depend on that event, on earlier events of
    /// the table and on state, never on where a batch was cut.
    ///
    /// # Errors
    /// Fails the batch as a whole; a single bad row is refused with
    /// [`Output::reject`] instead.
    fn transform(&self, table: &Self::Table, batch: Batch) -> Result<Output, BatchError>;

    /// Rewrites a page of state that was written under an older
    /// `state-version`. The default keeps it as it is.
    ///
    /// # Errors
    /// A text that says why the state cannot be taken over; the swap is
    /// refused and the old module goes on.
    fn migrate(from_version: u32, page: Vec<StateEntry>) -> Result<Vec<StateEntry>, String> {
        let _ = from_version;
        Ok(page)
    }
}

/// A [`Descriptor`] with the name given, the version of the calling crate, and
/// state version 1 unless another is given.
#[macro_export]
macro_rules! descriptor {
    ($name:expr) => {
        $crate::descriptor!($name, state_version: 1)
    };
    ($name:expr, state_version: $state_version:expr) => {
        $crate::Descriptor {
            name: $name.into(),
            version: env!("CARGO_PKG_VERSION").into(),
            state_version: $state_version,
            migrates_since: 1,
        }
    };
}
