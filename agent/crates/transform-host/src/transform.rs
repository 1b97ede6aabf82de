//! A WebAssembly component as a [`Transform`].

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use tidegate_model::transform::{Park, Plan, Transform, Transformed};
use tidegate_model::{ChangeBatch, Error, ErrorKind, Refusal, RefusalCode, Result, TableUid, TableVersion};

use crate::assemble::select;
use crate::bindings::tidegate::transform::planning::PlanError;
use crate::cache::Cache;
use crate::component::Module;
use crate::digest::Digest;
use crate::instance::Descriptor;
use crate::observe::{GuestText, Observer, printable};
use crate::plan::{self, GuestPlan, PlanFault, TablePlan};
use crate::run::{Runner, arrow_error};
use crate::tally::Tally;

/// What becomes of an event that a transform refuses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnError {
    /// It goes to the dead letters, the others go on.
    #[default]
    DeadLetter,
    /// The pipeline stops in front of it.
    Stop,
    /// It is dropped and counted.
    Drop,
}

/// How a module is run.
#[derive(Debug, Clone)]
pub struct TransformConfig {
    /// The transform's name in the pipeline; unique there.
    pub name: Arc<str>,
    /// The component's bytes.
    pub module: Arc<[u8]>,
    /// The module's own configuration: a JSON object, or null for an empty one.
    pub config: serde_json::Value,
    /// What becomes of refused events.
    pub on_error: OnError,
    /// Bytes of memory that an instance may have; see [`crate::MEMORY_DEFAULT`].
    pub memory_limit: usize,
    /// Folder for native code, made with mode 0700; `None` compiles at every start.
    pub cache_dir: Option<PathBuf>,
    /// What becomes of the module's own words.
    pub text: GuestText,
}

impl TransformConfig {
    /// The usual settings for this module.
    pub fn new(name: impl Into<Arc<str>>, module: impl Into<Arc<[u8]>>) -> Self {
        Self {
            name: name.into(),
            module: module.into(),
            config: serde_json::Value::Null,
            on_error: OnError::default(),
            memory_limit: crate::MEMORY_DEFAULT,
            cache_dir: None,
            text: GuestText::default(),
        }
    }
}

/// A loaded module with its configuration, its plans and its instance.
pub struct WasmTransform {
    name: Arc<str>,
    module: Arc<str>,
    config_digest: Digest,
    on_error: OnError,
    descriptor: Descriptor,
    runner: Runner,
    /// The newest plan of each table.
    plans: HashMap<TableUid, Arc<TablePlan>>,
    /// Events refused in a row, by table.
    streaks: HashMap<TableUid, u32>,
}

impl std::fmt::Debug for WasmTransform {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WasmTransform").field("name", &self.name).field("module", &self.module).finish()
    }
}

impl WasmTransform {
    /// Checks, compiles and configures a module, and asks it who it is. Blocks
    /// for the compilation: 0.1 s for a module of 50 KB in Rust, many seconds for
    /// an interpreter, less than 10 ms when the native code is in the cache.
    ///
    /// # Errors
    /// `Transform` for a file that cannot be run, `Unsupported` for the row form,
    /// `Config` for a configuration that is no object or that the module refuses.
    pub fn load(config: TransformConfig) -> Result<Self> {
        let name = config.name.clone();
        load(config).map_err(|error| error.during("load transform").with("transform", &name))
    }

    /// Digest of the component's bytes.
    pub fn digest(&self) -> Digest {
        self.runner.module.digest
    }

    /// Digest of the configuration as the module received it.
    pub fn config_digest(&self) -> Digest {
        self.config_digest
    }

    /// Who the module says it is.
    pub fn describe(&self) -> &Descriptor {
        &self.descriptor
    }

    /// The module's own metrics so far, by its names (at most 50).
    pub fn metrics(&self) -> BTreeMap<String, f64> {
        self.runner.observer.lock().unwrap_or_else(PoisonError::into_inner).metrics().clone()
    }

    fn at(&self, error: Error) -> Error {
        error.with("transform", &self.name).with("module", &self.module)
    }
}

fn load(config: TransformConfig) -> Result<WasmTransform> {
    let json = match config.config {
        serde_json::Value::Null => "{}".to_owned(),
        object @ serde_json::Value::Object(_) => object.to_string(),
        _ => return Err(Error::new(ErrorKind::Config, "`config` of a transform must be an object")),
    };
    let cache = match &config.cache_dir {
        None => None,
        Some(folder) => Some(Cache::open(folder).map_err(|error| {
            Error::new(ErrorKind::Storage, "the folder for native code cannot be used")
                .with("path", folder.display())
                .hint("it must belong to the agent's user alone (mode 0700)")
                .because(error)
        })?),
    };
    let module = Module::load(config.module, cache)?;
    let label: Arc<str> = format!("{}@{}", config.name, module.digest.short()).into();
    let observer = Arc::new(Mutex::new(Observer::new(config.name.clone(), config.text)));
    let config_digest = Digest::of(json.as_bytes());
    let mut runner = Runner {
        module,
        config: json,
        memory_limit: config.memory_limit,
        text: config.text,
        observer,
        instance: None,
    };
    let mut instance = runner.fresh()?;
    let descriptor = instance.describe()?;
    runner.instance = Some(instance);
    Ok(WasmTransform {
        name: config.name,
        module: label,
        config_digest,
        on_error: config.on_error,
        descriptor,
        runner,
        plans: HashMap::new(),
        streaks: HashMap::new(),
    })
}

impl Transform for WasmTransform {
    fn name(&self) -> &Arc<str> {
        &self.name
    }

    fn module(&self) -> &Arc<str> {
        &self.module
    }

    fn plan(&mut self, table: &Arc<TableVersion>) -> Result<Plan> {
        let planned = self.plan_table(table).map_err(|error| {
            self.at(error).during("plan table").with("table", &table.name).with("version", table.version)
        })?;
        let plan = planned.plan.clone();
        self.plans.insert(table.uid, Arc::new(planned));
        Ok(plan)
    }

    fn apply(&mut self, batch: ChangeBatch) -> Result<Transformed> {
        let plan = match self.plans.get(&batch.table.uid) {
            Some(plan) if plan.input.version == batch.table.version => plan.clone(),
            _ => {
                let error =
                    Error::new(ErrorKind::Internal, "a batch of a table version that was not planned");
                return Err(self.at(error).with("table", &batch.table.name));
            }
        };
        match (&plan.plan, &plan.guest) {
            (Plan::Drop, _) => Ok(Transformed { dropped: batch.len() as u64, ..nothing() }),
            (Plan::Output(output), Some(guest)) => {
                let table = batch.table.name.clone();
                self.transform(&plan, output, guest, batch)
                    .map_err(|error| self.at(error).during("transform rows").with("table", table))
            }
            _ => Ok(Transformed::unchanged(batch)),
        }
    }
}

impl WasmTransform {
    fn plan_table(&mut self, table: &Arc<TableVersion>) -> Result<TablePlan> {
        let mut instance = match self.runner.instance.take() {
            Some(instance) => instance,
            None => self.runner.fresh()?,
        };
        // A trap leaves no instance behind; the next call makes a new one.
        let answer = instance.plan_table(table)?;
        self.runner.instance = Some(instance);
        match answer {
            Ok(answer) => plan::check(table, answer).map_err(|fault| match fault {
                PlanFault::Rule(rule) => {
                    Error::new(ErrorKind::Transform, format!("the module's plan is not valid: {rule}"))
                        .hint("this is a fault of the module, not of the table")
                }
                PlanFault::Unsupported(what) => {
                    Error::new(ErrorKind::Unsupported, format!("{what} is not yet supported"))
                        .hint("use one transform per output table")
                }
            }),
            Err(PlanError::NotApplicable) => {
                Ok(TablePlan { input: table.clone(), plan: Plan::Pass, guest: None })
            }
            Err(PlanError::Incompatible(message)) => Err(Error::new(ErrorKind::Schema, printable(&message))
                .hint("change the transform's configuration or the table")),
            Err(PlanError::InvalidConfig(message)) => {
                Err(Error::new(ErrorKind::Config, printable(&message))
                    .hint("change `config` of this transform"))
            }
        }
    }

    fn transform(
        &mut self,
        plan: &TablePlan,
        output: &Arc<TableVersion>,
        guest: &GuestPlan,
        batch: ChangeBatch,
    ) -> Result<Transformed> {
        let mut tally = Tally::new(guest, &batch);
        if guest.needs_guest() {
            self.run_guest(plan, guest, &batch, &mut tally)?;
        }
        let mut selected = select(&batch, guest, output, tally.events, &tally.fate, &tally.skip);
        let mut refused = tally.refused;
        if !selected.refused.is_empty() {
            refused.append(&mut selected.refused);
            refused.sort_by_key(|refusal| refusal.event);
        }
        let mut dropped = selected.dropped;
        if let (OnError::Stop, Some(first)) = (self.on_error, refused.first()) {
            return Err(stopped(&batch, first));
        }
        if self.on_error == OnError::Drop {
            dropped += refused.len() as u64;
            refused.clear();
        }
        let all = selected.origin.len() == batch.len();
        let origin = (!all).then(|| selected.origin.clone());
        let batch = match selected.origin.is_empty() {
            true => None,
            false => {
                let module = joined(&batch.module, &self.module);
                Some(selected.build(&batch, guest, output.clone(), tally.computed, module)?)
            }
        };
        let park = tally
            .park
            .map(|park| Park { message: format!("the transform {} {}", self.name, park.message), ..park });
        Ok(Transformed { batch, origin, refused, dropped, park })
    }

    /// Runs the events that the guest must see, and notes what became of them.
    fn run_guest(
        &mut self,
        plan: &TablePlan,
        guest: &GuestPlan,
        batch: &ChangeBatch,
        tally: &mut Tally<'_>,
    ) -> Result<()> {
        let seen: Vec<u32> = (0..batch.len() as u32)
            .filter(|event| guest.sees(batch.events.operation[*event as usize]))
            .collect();
        if seen.is_empty() {
            return Ok(());
        }
        let selected;
        let part = if seen.len() == batch.len() {
            batch
        } else {
            selected = batch.select(&seen).map_err(arrow_error)?;
            &selected
        };
        let operation = |row: &u32| batch.events.operation[batch.rows.event[*row as usize] as usize];
        let rows: Vec<u32> =
            (0..batch.rows.event.len() as u32).filter(|row| guest.sees(operation(row))).collect();
        let streak = self.streaks.entry(batch.table.uid).or_default();
        let breaks = self.on_error == OnError::DeadLetter;
        self.runner.run(plan, guest, part, |piece| {
            tally.take(piece, part, &seen, &rows);
            breaks && tally.count_refused(&seen, streak)
        })
    }
}

fn nothing() -> Transformed {
    Transformed { batch: None, origin: Some(Vec::new()), refused: Vec::new(), dropped: 0, park: None }
}

/// `__module` of a batch that went through one more transform.
fn joined(before: &Arc<str>, module: &Arc<str>) -> Arc<str> {
    if before.is_empty() { module.clone() } else { format!("{before},{module}").into() }
}

/// Under `on_error: stop`. A guest's message may hold row values and stays out;
/// what is said of a trap are the host's own words.
fn stopped(batch: &ChangeBatch, refusal: &Refusal) -> Error {
    let position = batch.position(refusal.event as usize);
    let reason = match refusal.code {
        RefusalCode::Trap => refusal.message.as_str(),
        code => code.as_str(),
    };
    let error = Error::new(ErrorKind::Transform, format!("an event was refused: {reason}"))
        .with("position", position.tx)
        .with("index", position.idx)
        .hint(
            "`on_error: stop` is set; with `dead_letter` the event would be kept aside and the others go on",
        );
    match &refusal.column {
        Some(column) => error.with("column", column),
        None => error,
    }
}
