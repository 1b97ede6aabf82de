//! Turns a core WebAssembly module, or its text, into a transform component.
//!
//! Toolchains that make core modules (Rust's `wasm32-unknown-unknown`, clang,
//! hand-written text) need one more step: the module is wrapped with the types
//! of the contract. The contract is compiled into the agent, so a user needs no
//! other tool and its version cannot drift from the host's.
//!
//! A module made by a bindings generator says in a custom section which world
//! it implements. One without that section is told by its exports: whoever
//! exports `columns` implements `column-transform`.

use wasmparser::{Encoding, Parser, Payload};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::{Resolve, SourceMap};

/// The contract, file by file.
const WIT: [(&str, &str); 4] = [
    ("types.wit", include_str!("../../../../wit/types.wit")),
    ("host.wit", include_str!("../../../../wit/host.wit")),
    ("transform.wit", include_str!("../../../../wit/transform.wit")),
    ("world.wit", include_str!("../../../../wit/world.wit")),
];

/// Custom sections in which a bindings generator leaves the world.
const WORLD_SECTION_PREFIX: &str = "component-type";

/// A world of the contract, by the form of `transform` that it exports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum World {
    /// `row-transform`: one verdict per row.
    Row,
    /// `column-transform`: whole columns.
    Column,
}

impl World {
    fn name(self) -> &'static str {
        match self {
            Self::Row => "row-transform",
            Self::Column => "column-transform",
        }
    }
}

/// Why a module cannot become a component.
#[derive(Debug, thiserror::Error)]
pub enum EncodeError {
    /// Neither a WebAssembly module nor its text.
    #[error("not a WebAssembly module")]
    NotWasm(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// Nothing is left to do.
    #[error("the file is a component already")]
    AlreadyComponent,
    /// The module implements neither world.
    #[error(
        "the module exports no transform: neither `tidegate:transform/columns` nor `tidegate:transform/rows`, \
         and it carries no world of its own"
    )]
    NoTransform,
    /// Imports or exports do not fit the world.
    #[error("the module does not fit its world")]
    Mismatch(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Encodes a core module, binary or text, as a component. `wit_world` is the
/// world to embed; `None` takes the module's own, or finds it by the exports.
///
/// # Errors
/// See [`EncodeError`]; the sources name the import or export that is wrong.
pub fn encode(core_or_wat: &[u8], wit_world: Option<World>) -> Result<Vec<u8>, EncodeError> {
    let mut module =
        wat::parse_bytes(core_or_wat).map_err(|error| EncodeError::NotWasm(error.into()))?.into_owned();
    let found = Found::scan(&module)?;
    let embedded = match wit_world {
        Some(world) => Some(world),
        None if found.carries_world => None,
        None => Some(found.exported.ok_or(EncodeError::NoTransform)?),
    };
    if let Some(world) = embedded {
        let (contract, package) = contract();
        let world =
            contract.select_world(&[package], Some(world.name())).expect("the contract has its worlds");
        embed_component_metadata(&mut module, &contract, world, StringEncoding::UTF8)
            .expect("the world of the contract can be encoded");
    }
    let mut encoder = ComponentEncoder::default();
    let component = encoder.validate(true).module(&module).and_then(ComponentEncoder::encode);
    component.map_err(|error| EncodeError::Mismatch(error.into()))
}

/// What a module tells about the world that it implements.
#[derive(Default)]
struct Found {
    carries_world: bool,
    exported: Option<World>,
}

impl Found {
    fn scan(module: &[u8]) -> Result<Self, EncodeError> {
        let mut found = Self::default();
        for payload in Parser::new(0).parse_all(module) {
            match payload.map_err(|error| EncodeError::NotWasm(error.into()))? {
                Payload::Version { encoding: Encoding::Component, .. } => {
                    return Err(EncodeError::AlreadyComponent);
                }
                Payload::CustomSection(section) => {
                    found.carries_world |= section.name().starts_with(WORLD_SECTION_PREFIX);
                }
                Payload::ExportSection(exports) => {
                    for export in exports {
                        let export = export.map_err(|error| EncodeError::NotWasm(error.into()))?;
                        if export.name.starts_with("tidegate:transform/columns@") {
                            found.exported = Some(World::Column);
                        } else if export.name.starts_with("tidegate:transform/rows@") {
                            found.exported = Some(World::Row);
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(found)
    }
}

/// Parses the compiled-in contract.
fn contract() -> (Resolve, wit_parser::PackageId) {
    let mut sources = SourceMap::default();
    for (file, text) in WIT {
        sources.push_str(file, text);
    }
    let parsed = sources.parse().map_err(|(_, error)| error).expect("the contract parses");
    let mut contract = Resolve::default();
    let package = contract.push_group(parsed).expect("the contract resolves");
    (contract, package)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The least that `column-transform` asks for; every function traps.
    const COLUMNS: &str = r#"(module
        (memory (export "memory") 1)
        (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) unreachable)
        (func (export "tidegate:transform/lifecycle@0.1.0#describe") (result i32) unreachable)
        (func (export "tidegate:transform/lifecycle@0.1.0#configure") (param i32 i32) (result i32) unreachable)
        (func (export "tidegate:transform/lifecycle@0.1.0#plan-table")
            (param i32 i32 i64 i32 i32) (result i32) unreachable)
        (func (export "tidegate:transform/lifecycle@0.1.0#migrate") (param i32 i32 i32) (result i32) unreachable)
        (func (export "tidegate:transform/columns@0.1.0#transform")
            (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32) unreachable))"#;

    fn is_component(bytes: &[u8]) -> bool {
        matches!(encode(bytes, None), Err(EncodeError::AlreadyComponent))
    }

    #[test]
    fn text_becomes_a_component_of_the_world_that_it_exports() {
        let component = encode(COLUMNS.as_bytes(), None).unwrap();
        assert!(is_component(&component));
        assert_eq!(component, encode(COLUMNS.as_bytes(), Some(World::Column)).unwrap());
    }

    #[test]
    fn what_is_no_transform_is_refused() {
        assert!(matches!(encode(b"(module)", None), Err(EncodeError::NoTransform)));
        assert!(matches!(encode(b"(module", None), Err(EncodeError::NotWasm(_))));
        assert!(matches!(encode(b"\0asm\x01\0\0\0\x01", None), Err(EncodeError::NotWasm(_))));
        assert!(matches!(encode(b"(component)", None), Err(EncodeError::AlreadyComponent)));
    }

    #[test]
    fn a_wrong_world_names_what_is_missing() {
        let error = encode(COLUMNS.as_bytes(), Some(World::Row)).unwrap_err();
        let causes = std::iter::successors(Some(&error as &dyn std::error::Error), |error| error.source());
        let text = causes.map(ToString::to_string).collect::<Vec<_>>().join(": ");
        assert!(text.contains("tidegate:transform/rows"), "{text}");
    }
}
