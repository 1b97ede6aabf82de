//! Types and functions generated from `wit/`, the only place where the
//! Component Model shows. The rest of the SDK re-exports its records under
//! shorter paths and adds methods to them.
//!
//! Outside wasm the generated imports panic; `host.rs` therefore goes to the
//! test host there.
#![allow(missing_docs, reason = "generated; the contract is documented in the WIT text")]
#![allow(unsafe_code, reason = "generated code that lifts and lowers values at the component's boundary")]
#![allow(unreachable_pub, clippy::all, reason = "generated")]

wit_bindgen::generate!({
    path: "../../wit",
    world: "column-transform",
    generate_all,
    pub_export_macro: true,
    default_bindings_module: "tidegate_guest::bindings",
    additional_derives: [PartialEq],
});
