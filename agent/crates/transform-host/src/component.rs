//! Loading a component: what it is, what it imports and exports, and whether
//! that fits, each fault named with its remedy before any code of it runs.

use std::sync::{Arc, OnceLock};

use tidegate_model::{Error, ErrorKind, Result};
use wasmtime::Engine;
use wasmtime::component::types::ComponentItem;
use wasmtime::component::{Component, HasSelf, Linker};

use crate::bindings::{ColumnTransform, ColumnTransformPre};
use crate::cache::Cache;
use crate::digest::Digest;
use crate::engine::engines;
use crate::imports::HostState;

/// The contract that this host speaks, as components spell it.
const PACKAGE: &str = "tidegate:transform/";
const VERSION: &str = "0.1.0";

/// A component larger than this is refused: compiling one of 18 MB takes 360 MiB.
const COMPONENT_BYTES_MAX: usize = 64 << 20;

/// A checked component, ready to be instantiated.
pub(crate) struct Module {
    pub(crate) digest: Digest,
    pub(crate) fast: ColumnTransformPre<HostState>,
    metered: OnceLock<ColumnTransformPre<HostState>>,
    bytes: Arc<[u8]>,
    cache: Option<Cache>,
}

impl Module {
    /// Checks, compiles (or takes from the cache) and links a component.
    ///
    /// # Errors
    /// `Transform` for a file that is no component or does not fit the contract,
    /// `Unsupported` for the row form.
    pub(crate) fn load(bytes: Arc<[u8]>, cache: Option<Cache>) -> Result<Self> {
        check_header(&bytes)?;
        let digest = Digest::of(&bytes);
        let engine = &engines()?.fast;
        let component = compile(&bytes, &digest, engine, cache.as_ref())?;
        check_imports(&component, engine)?;
        check_exports(&component, engine)?;
        let fast = link(&component, engine)?;
        Ok(Self { digest, fast, metered: OnceLock::new(), bytes, cache })
    }

    /// The component for the engine that counts fuel; compiled at the first call.
    ///
    /// # Errors
    /// When it cannot be compiled.
    pub(crate) fn metered(&self) -> Result<&ColumnTransformPre<HostState>> {
        if let Some(metered) = self.metered.get() {
            return Ok(metered);
        }
        let engine = &engines()?.metered;
        let component = compile(&self.bytes, &self.digest, engine, self.cache.as_ref())?;
        let linked = link(&component, engine)?;
        Ok(self.metered.get_or_init(|| linked))
    }
}

/// Tells what else a file is by its first bytes.
fn check_header(bytes: &[u8]) -> Result<()> {
    const MAGIC: &[u8] = b"\0asm";
    const CORE: &[u8] = &[1, 0, 0, 0];
    const COMPONENT: &[u8] = &[0x0d, 0, 1, 0];
    if bytes.len() > COMPONENT_BYTES_MAX {
        let message = format!("the file is larger than {} MiB", COMPONENT_BYTES_MAX >> 20);
        return Err(refused(message, "strip debug information from it"));
    }
    let start: Vec<u8> = bytes.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).take(2).collect();
    if start == b"(m" || start == b"(c" || start == b"(;" || start == b";;" {
        return Err(refused("the file is WebAssembly text", ENCODE));
    }
    if !bytes.starts_with(MAGIC) {
        return Err(refused("the file is not WebAssembly", "name the `.wasm` file of a component"));
    }
    match bytes.get(4..8) {
        Some(COMPONENT) => Ok(()),
        Some(CORE) => Err(refused("the file is a core module, not a component", ENCODE)),
        _ => Err(refused("the file is WebAssembly of an unknown version", "build it with current tools")),
    }
}

const ENCODE: &str = "make a component of it with `tidegate transform encode`";

fn compile(bytes: &[u8], digest: &Digest, engine: &Engine, cache: Option<&Cache>) -> Result<Component> {
    if let Some(code) = cache.and_then(|cache| cache.read(digest, engine)) {
        match deserialize(engine, &code) {
            Ok(component) => return Ok(component),
            Err(error) => {
                tracing::warn!(error = %format!("{error:#}"), "native code refused, compiling anew")
            }
        }
    }
    let component = Component::from_binary(engine, bytes).map_err(|error| {
        refused(
            "the component is broken or uses features that are off",
            "rebuild it; `tidegate transform inspect` shows what it holds",
        )
        .because(format!("{error:#}"))
    })?;
    if let Some(cache) = cache {
        match component.serialize() {
            Ok(code) => cache.write(digest, engine, &code),
            Err(error) => tracing::warn!(error = %format!("{error:#}"), "native code not kept"),
        }
    }
    Ok(component)
}

#[expect(unsafe_code, reason = "native code cannot be loaded otherwise")]
fn deserialize(engine: &Engine, code: &[u8]) -> wasmtime::Result<Component> {
    // SAFETY: the engine runs these bytes unchecked, so they must be what
    // `Component::serialize` gave. `Cache::read` returns only bytes whose MAC,
    // under a key in a folder of our own (0700), it has just checked in memory.
    unsafe { Component::deserialize(engine, code) }
}

/// Refuses whatever the host does not offer. Interfaces that hold only types
/// are listed as imports too, and need nothing.
fn check_imports(component: &Component, engine: &Engine) -> Result<()> {
    let mut foreign = Vec::new();
    for (name, import) in component.component_type().imports(engine) {
        match name.strip_prefix(PACKAGE) {
            Some(interface) => check_version(interface)?,
            None if is_type_only(&import.ty, engine) => {}
            None => foreign.push(format!("`{name}`")),
        }
    }
    if foreign.is_empty() {
        return Ok(());
    }
    let hint = if foreign.iter().any(|name| name.starts_with("`wasi:")) {
        "build it without WASI (Rust: target wasm32-unknown-unknown; Python: --stub-wasi; \
         Go: the stub adapter): a transform has no clock, files or network"
    } else {
        "a transform may import `tidegate:transform/*` only"
    };
    Err(refused(format!("the component imports {}, which no transform gets", foreign.join(", ")), hint))
}

fn is_type_only(item: &ComponentItem, engine: &Engine) -> bool {
    match item {
        ComponentItem::ComponentInstance(instance) => {
            instance.exports(engine).all(|(_, export)| matches!(export.ty, ComponentItem::Type(_)))
        }
        _ => false,
    }
}

/// Decides by what is exported; exports of other packages are ignored.
fn check_exports(component: &Component, engine: &Engine) -> Result<()> {
    let mut found = Vec::new();
    for (name, _) in component.component_type().exports(engine) {
        if let Some(interface) = name.strip_prefix(PACKAGE) {
            check_version(interface)?;
            found.extend(interface.split_once('@').map(|(interface, _)| interface.to_owned()));
        }
    }
    let exports = |name: &str| found.iter().any(|found| found == name);
    if exports("lifecycle") && exports("columns") {
        return Ok(());
    }
    if exports("rows") {
        let message = "the component has the row form (it exports `rows`), which is not yet supported";
        return Err(Error::new(ErrorKind::Unsupported, message)
            .during("load transform")
            .hint("build it for the world `column-transform`"));
    }
    let missing: Vec<_> = ["lifecycle", "columns"].into_iter().filter(|name| !exports(name)).collect();
    Err(refused(
        format!("the component does not export `{PACKAGE}{}@{VERSION}`", missing.join("`, `")),
        "build it for the world `column-transform` of `wit/`",
    ))
}

fn check_version(interface: &str) -> Result<()> {
    match interface.split_once('@') {
        Some((_, VERSION)) => Ok(()),
        other => {
            let version = other.map_or("without a version", |(_, version)| version);
            Err(refused(
                format!(
                    "the component is built for `tidegate:transform` {version}, this agent speaks {VERSION}"
                ),
                format!("rebuild it with the `wit/` of this agent ({VERSION})"),
            ))
        }
    }
}

/// Type-checks imports and exports against the contract, function by function.
fn link(component: &Component, engine: &Engine) -> Result<ColumnTransformPre<HostState>> {
    let mut linker = Linker::<HostState>::new(engine);
    ColumnTransform::add_to_linker::<_, HasSelf<HostState>>(&mut linker, |state| state)
        .and_then(|()| linker.instantiate_pre(component))
        .and_then(ColumnTransformPre::new)
        .map_err(|error| {
            refused(
                format!("the component's interfaces differ from `tidegate:transform` {VERSION}"),
                "rebuild it with the `wit/` of this agent",
            )
            .because(format!("{error:#}"))
        })
}

fn refused(message: impl Into<String>, hint: impl Into<String>) -> Error {
    Error::new(ErrorKind::Transform, message).during("load transform").hint(hint)
}
