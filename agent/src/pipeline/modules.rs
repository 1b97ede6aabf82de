//! Which modules run from which position: the pipeline file's chain is compared
//! with the module table, and every era that may be replayed is loaded.
//!
//! A module or a configuration that changed while the agent was down is a swap
//! at start: the new chain begins beyond every sink's offset, so that events
//! that one sink has and another has not yet are replayed through the old one.
//! Bytes are kept in the state folder by digest before the table names them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tidegate_model::{Error, ErrorKind, Offset, Result, TxPosition};
use tidegate_source_mysql::TablePattern;
use tidegate_state::recovery::swap_boundary;
use tidegate_state::{ChainChange, ModuleUse, State};
use tidegate_transform_host::{Chain, Link, OnError as HostOnError, WasmTransform};

use super::run::Context;
use super::transformer::Era;
use crate::bounded::{MODULE_BYTES_MAX, read_bounded};
use crate::config::resolve::{OnError, TransformConfig};

/// What beside the module decides a transform's output, as it is kept.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    config: serde_json::Value,
    tables: Vec<String>,
    on_error: String,
    memory_bytes: u64,
}

/// The eras that events behind these offsets may need, oldest first; the first
/// one counts from the beginning.
///
/// # Errors
/// `Refused` when the file names an older module than the one that runs;
/// `Transform` and `Config` for a module that cannot be loaded.
pub(super) fn eras(context: &Context, offsets: &[&Offset]) -> Result<Vec<Era>> {
    let state = &context.state;
    let chain = context.config.transforms.iter().map(|t| keep(state, t)).collect::<Result<Vec<_>>>()?;
    match state.compare_chain(&chain)? {
        ChainChange::Same => {}
        ChainChange::First => state.append_chain(TxPosition::default(), &chain)?,
        ChainChange::Swap => {
            let from = swap_boundary(offsets.iter().copied());
            // A chain is only kept when it can run.
            load(context, &chain)?;
            state.append_chain(from, &chain)?;
            tracing::info!(position = %from, "transforms changed");
        }
    }
    let table = state.module_table()?;
    let lowest =
        offsets.iter().map(|o| TxPosition { epoch: o.epoch, log: o.scanned.log }).min().unwrap_or_default();
    let first = table.iter().rposition(|entry| entry.from <= lowest).unwrap_or(0);
    // Of two that begin at one place the later one counts: nothing came between them.
    let mut eras: BTreeMap<TxPosition, Era> = BTreeMap::new();
    for entry in &table[first..] {
        eras.insert(entry.from, Era::new(entry.from, load(context, &entry.chain)?));
    }
    Ok(eras.into_values().collect())
}

fn keep(state: &State, transform: &TransformConfig) -> Result<ModuleUse> {
    let named = |e: Error| e.with("transform", &transform.name);
    let bytes = read_bounded(&transform.module, MODULE_BYTES_MAX).map_err(|e| {
        named(
            Error::new(ErrorKind::Config, "cannot read the module").with("path", transform.module.display()),
        )
        .because(e)
        .hint("the key `module` names a file, relative to the pipeline file")
    })?;
    let config = serde_json::from_str(transform.config_json.expose())
        .map_err(|_| named(Error::new(ErrorKind::Config, "the transform's configuration is no JSON")))?;
    let kept = Kept {
        config,
        tables: transform.tables.clone(),
        on_error: match transform.on_error {
            OnError::DeadLetter => "dead_letter",
            OnError::Stop => "stop",
            OnError::Drop => "drop",
        }
        .into(),
        memory_bytes: transform.memory_bytes,
    };
    let kept = serde_json::to_vec(&kept)
        .map_err(|e| Error::new(ErrorKind::Internal, "cannot keep a transform's configuration").because(e))?;
    Ok(ModuleUse {
        transform: transform.name.clone(),
        module: state.keep_module(&bytes)?,
        config: state.keep_module(&kept)?,
    })
}

fn load(context: &Context, chain: &[ModuleUse]) -> Result<Chain> {
    Ok(Chain::new(chain.iter().map(|used| link(context, used)).collect::<Result<_>>()?))
}

fn link(context: &Context, used: &ModuleUse) -> Result<Link> {
    let state = &context.state;
    let kept: Kept = serde_json::from_slice(&state.module(&used.config)?).map_err(|_| {
        Error::new(ErrorKind::Corrupt, "a kept transform configuration cannot be read")
            .with("transform", &used.transform)
            .with("digest", used.config.short())
    })?;
    let tables = kept.tables.iter().map(|pattern| pattern.parse()).collect::<Result<Vec<TablePattern>>>()?;
    let mut config =
        tidegate_transform_host::TransformConfig::new(used.transform.as_str(), state.module(&used.module)?);
    config.config = kept.config;
    config.on_error = match kept.on_error.as_str() {
        "stop" => HostOnError::Stop,
        "drop" => HostOnError::Drop,
        _ => HostOnError::DeadLetter,
    };
    config.memory_limit = usize::try_from(kept.memory_bytes).unwrap_or(usize::MAX);
    config.cache_dir = Some(state.folder().join("native"));
    let transform = WasmTransform::load(config)?;
    Ok(Link {
        transform: Box::new(transform),
        tables: Box::new(move |name| tables.iter().any(|pattern| pattern.matches(name))),
    })
}
