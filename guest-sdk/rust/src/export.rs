//! Exports a [`Transform`] as a component.

use std::any::Any;
use std::cell::RefCell;
use std::marker::PhantomData;

use crate::bindings::exports::tidegate::transform::{columns, lifecycle};
use crate::bindings::tidegate::transform::planning::{Plan, PlanError};
use crate::bindings::tidegate::transform::types::{BatchContext, BatchError, TableSchema};
use crate::instance::Instance;
use crate::{Descriptor, StateEntry, Transform};

/// Exports a [`Transform`](crate::Transform) from this crate, which must be a
/// `cdylib`. Nothing is exported outside wasm, so that the crate can be tested
/// natively.
#[macro_export]
macro_rules! export {
    ($transform:ty) => {
        #[cfg(target_family = "wasm")]
        #[allow(unsafe_code, reason = "the exported symbols of a component")]
        const _: () = {
            type Component = $crate::export::Component<$transform>;
    $crate::bindings::export!(Component with_types_in $crate::bindings);
        };
    };
}

/// Implements the generated traits for a transform.
#[derive(Debug)]
pub struct Component<T>(PhantomData<T>);

thread_local! {
    /// The transform of this component instance; a component exports one.
    static INSTANCE: RefCell<Option<Box<dyn Any>>> = const { RefCell::new(None) };
}

/// Calls `f` with the configured instance. The host configures before anything
/// else; a call before that is a host error, and traps.
fn with_instance<T: Transform, R>(f: impl FnOnce(&mut Instance<T>) -> R) -> R {
    INSTANCE.with_borrow_mut(|instance| {
        let instance = instance.as_mut().and_then(|instance| instance.downcast_mut());
        f(instance.expect("`configure` is called before `plan-table` and `transform`"))
    })
}

impl<T: Transform> lifecycle::Guest for Component<T> {
    fn describe() -> Descriptor {
        T::describe()
    }

    fn configure(config: String) -> Result<(), String> {
        let instance = Instance::<T>::configure(&config)?;
        INSTANCE.set(Some(Box::new(instance)));
        Ok(())
    }

    fn plan_table(table: TableSchema) -> Result<Plan, PlanError> {
        with_instance::<T, _>(|instance| instance.plan_table(table))
    }

    fn migrate(from_version: u32, page: Vec<StateEntry>) -> Result<Vec<StateEntry>, String> {
        T::migrate(from_version, page)
    }
}

impl<T: Transform> columns::Guest for Component<T> {
    fn transform(context: BatchContext, batch: columns::Batch) -> Result<columns::Output, BatchError> {
        with_instance::<T, _>(|instance| instance.transform(context, batch))
    }
}
