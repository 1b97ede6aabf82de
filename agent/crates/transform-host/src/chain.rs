//! Transforms one behind the other.
//!
//! Plans compose: the second transform's input is the first one's output schema,
//! and batches flow in columns all the way, never encoded in between. Which
//! tables a transform is for is decided by the *source* table's name, whatever
//! an earlier transform has renamed it to.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use tidegate_model::transform::{Park, Plan, Transform, Transformed};
use tidegate_model::{
    ChangeBatch, Error, ErrorKind, Refusal, Result, Stage, TableName, TableUid, TableVersion,
};

/// Tells whether a transform is for a table.
pub type TableFilter = Box<dyn Fn(&TableName) -> bool + Send>;

/// One transform of a chain and the tables it is for.
pub struct Link {
    /// The transform.
    pub transform: Box<dyn Transform>,
    /// By the source table's name.
    pub tables: TableFilter,
}

/// The transforms of a pipeline in order. Without any, batches pass unchanged.
pub struct Chain {
    links: Vec<Link>,
    /// The newest planned version of each table, with the links that run on it.
    routes: HashMap<TableUid, Route>,
}

struct Route {
    version: u64,
    links: Vec<usize>,
    drops: bool,
}

/// What became of a batch.
#[derive(Debug)]
pub struct ChainOutput {
    /// The events that go on, under the schema that [`Chain::plan`] gave.
    pub batch: Option<ChangeBatch>,
    /// Events that cannot go on, ascending by event.
    pub refused: Vec<StageRefusal>,
    /// Events filtered out on purpose.
    pub dropped: u64,
    /// The table must be parked.
    pub park: Option<Park>,
}

/// A refusal, and who refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StageRefusal {
    /// `event` is an index of the chain's **input** batch, so that the dead letter
    /// can carry the original images.
    pub refusal: Refusal,
    /// The transform.
    pub stage: Stage,
    /// `name@12 hex` of its module.
    pub module: Arc<str>,
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.links.iter().map(|link| link.transform.module())).finish()
    }
}

impl Chain {
    /// A chain of these transforms, in this order.
    pub fn new(links: Vec<Link>) -> Self {
        Self { links, routes: HashMap::new() }
    }

    /// True when it has no transform.
    pub fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    /// `name@12 hex` of its modules, in order.
    pub fn modules(&self) -> impl Iterator<Item = &Arc<str>> {
        self.links.iter().map(|link| link.transform.module())
    }

    /// What the whole chain makes of a table version; before its first batch.
    ///
    /// # Errors
    /// Those of [`Transform::plan`].
    pub fn plan(&mut self, table: &Arc<TableVersion>) -> Result<Plan> {
        let mut route = Route { version: table.version, links: Vec::new(), drops: false };
        let mut current = table.clone();
        for (index, link) in self.links.iter_mut().enumerate() {
            if !(link.tables)(&table.name) {
                continue;
            }
            match link.transform.plan(&current)? {
                Plan::Pass => {}
                Plan::Drop => {
                    route.drops = true;
                    break;
                }
                Plan::Output(output) => {
                    route.links.push(index);
                    current = output;
                }
            }
        }
        let plan = match &route {
            Route { drops: true, .. } => Plan::Drop,
            Route { links, .. } if links.is_empty() => Plan::Pass,
            _ => Plan::Output(current),
        };
        self.routes.insert(table.uid, route);
        Ok(plan)
    }

    /// Runs a batch of a planned table version. Events that the source refused
    /// must have been taken out of it.
    ///
    /// # Errors
    /// Those of [`Transform::apply`].
    pub fn apply(&mut self, batch: ChangeBatch) -> Result<ChainOutput> {
        let events = batch.len() as u32;
        let route = match self.routes.get(&batch.table.uid) {
            Some(route) if route.version == batch.table.version => route,
            _ => {
                return Err(Error::new(
                    ErrorKind::Internal,
                    "a batch of a table version that was not planned",
                )
                .during("transform rows")
                .with("table", &batch.table.name));
            }
        };
        let mut flow = Flow { batch: None, origin: None, refused: Vec::new(), park: None };
        if !route.drops {
            flow.batch = Some(batch);
            for index in &route.links {
                let Some(batch) = flow.batch.take() else { break };
                let transform = &mut self.links[*index].transform;
                let transformed = transform.apply(batch)?;
                flow.advance(transformed, transform.as_ref());
            }
        }
        Ok(flow.finish(events))
    }
}

/// A batch on its way through the chain.
struct Flow {
    batch: Option<ChangeBatch>,
    /// Per event of `batch`: its index in the chain's input; `None`: the same.
    origin: Option<Vec<u32>>,
    refused: Vec<StageRefusal>,
    /// `from` is an index of the chain's input.
    park: Option<Park>,
}

impl Flow {
    fn advance(&mut self, transformed: Transformed, transform: &dyn Transform) {
        let back = |event: u32| match &self.origin {
            Some(origin) => origin.get(event as usize).copied().unwrap_or(u32::MAX),
            None => event,
        };
        if let Some(park) = transformed.park {
            // Nothing from the last refused event on was processed by this transform; an event
            // that an earlier one refused behind it will be met again.
            let from = park.from.checked_sub(1).map_or(0, |last| back(last) + 1);
            self.refused.retain(|refused| refused.refusal.event < from);
            self.park = Some(Park { from, message: park.message });
        }
        self.refused.extend(transformed.refused.into_iter().map(|mut refusal| {
            refusal.event = back(refusal.event);
            StageRefusal {
                refusal,
                stage: Stage::Transform(transform.name().clone()),
                module: transform.module().clone(),
            }
        }));
        self.origin = match transformed.origin {
            Some(kept) => Some(kept.into_iter().map(back).collect()),
            None => self.origin.take(),
        };
        self.batch = transformed.batch;
    }

    fn finish(mut self, events: u32) -> ChainOutput {
        self.refused.sort_by_key(|refused| refused.refusal.event);
        let processed = self.park.as_ref().map_or(events, |park| park.from);
        let kept = self.batch.as_ref().map_or(0, ChangeBatch::len);
        let dropped = u64::from(processed) - (kept + self.refused.len()) as u64;
        ChainOutput { batch: self.batch, refused: self.refused, dropped, park: self.park }
    }
}
