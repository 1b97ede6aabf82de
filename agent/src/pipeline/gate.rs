//! Holds a table's rows around a schema change, per sink target: the strict
//! barrier with one writer.
//!
//! Old rows are sealed and committed, the change is recorded as an intent, the
//! sink is altered (compare-and-set on the target's version), the change is
//! recorded as applied with its log position, and granted; only then does the
//! first row of the new schema go on. Each step is durable before the next and
//! may be repeated, so a crash between any two resumes at the one that is
//! missing. Held rows wait in the lane's bounded queue, and no offset passes
//! them.

use std::collections::BTreeMap;
use std::sync::Arc;

use tidegate_model::sink::Sink;
use tidegate_model::{
    Error, ErrorKind, ExistingRows, Result, SchemaChange, TableName, TableVersion, TargetChange,
    TargetVersion, TxPosition, fail,
};
use tidegate_registry::{Cause, ChangeState, Policy, Registry};

/// Why rows have the output schema that they have.
#[derive(Debug, Clone)]
pub(super) struct Origin {
    /// The change that made the source version.
    pub(super) change: Arc<SchemaChange>,
    /// `__module` of the chain that made the output.
    pub(super) module: Arc<str>,
    /// Where that chain's era begins.
    pub(super) era: TxPosition,
}

/// The gate of one sink.
pub(super) struct Gate {
    registry: Arc<Registry>,
    sink: Arc<str>,
    targets: BTreeMap<TableName, Arc<TargetVersion>>,
}

impl Gate {
    /// A gate over the targets that the sink recovered. Changes that a crash
    /// left between intent and grant, and that the sink turns out to have, are
    /// recorded and granted now; the others come again with their place in the
    /// log.
    ///
    /// # Errors
    /// When the registry cannot be read or written; `Refused` when sink and
    /// registry contradict each other.
    pub(super) fn recover(
        registry: Arc<Registry>,
        sink: Arc<str>,
        recovered: BTreeMap<TableName, TargetVersion>,
    ) -> Result<Self> {
        for target in recovered.values() {
            registry.adopt(&sink, target)?;
        }
        for pending in registry.pending()? {
            if *pending.sink == *sink && pending.state == ChangeState::Applied {
                registry.grant(&pending.change.change_id)?;
            }
        }
        let targets = recovered.into_iter().map(|(name, target)| (name, Arc::new(target))).collect();
        Ok(Self { registry, sink, targets })
    }

    /// The target, when rows of this output schema fit it as it stands.
    pub(super) fn fitting(&self, output: &TableVersion) -> Option<Arc<TargetVersion>> {
        self.targets.get(&output.name).filter(|target| target.fits(output)).cloned()
    }

    /// The change that the target needs; `None` when it needs none, or when the
    /// change lies behind it (a replay).
    ///
    /// # Errors
    /// `Schema` when two source tables meet in one target.
    pub(super) fn plan(&self, origin: &Origin, output: &TableVersion) -> Result<Option<TargetChange>> {
        let target = self.targets.get(&output.name);
        if let Some(target) = target.filter(|t| t.uid != output.uid) {
            return Err(Error::new(
                ErrorKind::Schema,
                format!("target {} is fed from another table", target.name),
            )
            .with("table", &origin.change.after.name)
            .hint("give one of the two tables another name by a transform"));
        }
        // A target that has this source version already, and does not fit, has the output of another chain.
        let swapped = target.is_some_and(|target| target.source_version >= origin.change.after.version);
        let cause = if swapped {
            Cause::Swap { source: &origin.change, module: &origin.module, from: origin.era }
        } else {
            Cause::Ddl(&origin.change)
        };
        self.registry.plan(&self.sink, output, &cause)
    }

    /// True when the target stays as it is although the change rewrote existing
    /// rows without events.
    pub(super) fn misses(&self, origin: &Origin, output: &TableVersion) -> bool {
        origin.change.existing_rows == ExistingRows::Diverges
            && self.fitting(output).is_some_and(|target| target.source_version < origin.change.after.version)
    }

    /// Takes the change through intent, apply, record and grant.
    ///
    /// # Errors
    /// What the registry or the sink says; nothing is half done that a restart
    /// would not finish.
    pub(super) async fn pass(
        &mut self,
        sink: &mut dyn Sink,
        source: &SchemaChange,
        change: &TargetChange,
    ) -> Result<()> {
        if self.registry.intent(&self.sink, change, source, Policy::Evolve)? < ChangeState::Applied {
            let change = self.registry.applying(&change.change_id)?;
            fail::before("ddl-apply")
                .map_err(|e| Error::transient(ErrorKind::Storage, "cannot alter the target").because(e))?;
            sink.alter(&change).await?;
            fail::after("ddl-apply");
        }
        let target = self.registry.applied(&change.change_id)?;
        self.registry.grant(&change.change_id)?;
        tracing::info!(
            sink = %self.sink, table = %target.name, version = target.version,
            position = %change.position, existing_rows = ?change.existing_rows, "schema change applied"
        );
        self.targets.insert(target.name.clone(), Arc::new(target));
        Ok(())
    }

    /// The target for rows of this output schema, once what it needed is done.
    ///
    /// # Errors
    /// When it does not fit them: rows came before their schema, and would be
    /// written under another one's columns.
    pub(super) fn ready(&self, output: &TableVersion) -> Result<Arc<TargetVersion>> {
        self.fitting(output).ok_or_else(|| {
            Error::new(ErrorKind::Internal, "rows came before their target had their schema")
                .with("table", &output.name)
                .with("version", output.version)
        })
    }
}
