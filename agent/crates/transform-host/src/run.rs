//! Runs a batch, whatever the guest does with it.
//!
//! A call that fails as a whole (a trap, no memory, too long, a broken contract,
//! `permanent`) fails because of some events, and the others must go on. So the
//! batch is halved until the failing events stand alone: some 2 k log2(n / k)
//! calls for k bad events of n. Halves run in order and finished ones are kept.
//!
//! The verdict on an event that fails alone comes from a fresh instance, so that
//! it depends on the event and not on what ran before; and never from the clock:
//! an event that was interrupted is run again with counted fuel, which is the
//! same number on every machine.

use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use tidegate_model::{ChangeBatch, Error, ErrorKind, RefusalCode, Result};

use crate::bindings::exports::tidegate::transform::columns::Output;
use crate::component::Module;
use crate::convert::{self, Answer, Input};
use crate::instance::{Bound, Failure, Instance};
use crate::observe::{GuestText, Observer, printable};
use crate::plan::{GuestPlan, TablePlan};

/// Waits between tries after `transient`; then the pipeline's own retry goes on.
const BACKOFF: [Duration; 5] = [
    Duration::from_millis(10),
    Duration::from_millis(40),
    Duration::from_millis(160),
    Duration::from_millis(640),
    Duration::from_millis(2_560),
];

/// A configured module and its warm instance.
pub(crate) struct Runner {
    pub(crate) module: Module,
    pub(crate) config: String,
    pub(crate) memory_limit: usize,
    pub(crate) text: GuestText,
    pub(crate) observer: Arc<Mutex<Observer>>,
    pub(crate) instance: Option<Instance>,
}

/// The outcome for a run of events.
pub(crate) struct Piece {
    pub(crate) events: Range<u32>,
    pub(crate) rows: Range<usize>,
    pub(crate) outcome: Outcome,
}

pub(crate) enum Outcome {
    /// The guest answered; rows count from the piece's first one.
    Answer(Answer),
    /// The one event of the piece is refused.
    Refused(RefusalCode, String),
}

/// What to do about a call.
enum Step {
    Done(Outcome),
    /// Halve it.
    Split,
}

impl Runner {
    /// A new, configured instance.
    ///
    /// # Errors
    /// See [`Instance::new`].
    pub(crate) fn fresh(&self) -> Result<Instance> {
        Instance::new(&self.module.fast, &self.config, self.memory_limit, self.observer.clone())
    }

    /// Runs a batch piece by piece, in order, until `done` says that it has seen
    /// enough.
    ///
    /// # Errors
    /// What stops the pipeline: `fatal`, a plan that is not the same twice, and
    /// (transient) `transient` beyond the tries.
    pub(crate) fn run(
        &mut self,
        plan: &TablePlan,
        guest: &GuestPlan,
        batch: &ChangeBatch,
        mut done: impl FnMut(Piece) -> bool,
    ) -> Result<()> {
        let mut open: Vec<Range<u32>> = std::iter::once(0..batch.len() as u32).collect();
        while let Some(events) = open.pop() {
            let whole = events.len() == batch.len();
            let part;
            let piece = if whole {
                batch
            } else {
                let keep: Vec<u32> = events.clone().collect();
                part = batch.select(&keep).map_err(arrow_error)?;
                &part
            };
            match self.step(plan, guest, piece)? {
                Step::Split => {
                    let middle = events.start.midpoint(events.end);
                    open.push(middle..events.end);
                    open.push(events.start..middle);
                }
                Step::Done(outcome) => {
                    let first = batch.rows_of(events.start as usize).start;
                    let rows = first..first + piece.rows.event.len();
                    if done(Piece { events, rows, outcome }) {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    fn step(&mut self, plan: &TablePlan, guest: &GuestPlan, piece: &ChangeBatch) -> Result<Step> {
        let alone = piece.len() == 1;
        let mut tries = BACKOFF.iter();
        loop {
            let fresh = self.prepare(plan)?;
            let failure = match self.call(plan, guest, piece) {
                Ok(answer) => return Ok(Step::Done(Outcome::Answer(answer))),
                Err(failure) => failure,
            };
            match failure {
                Failure::Transient(message) => match tries.next() {
                    Some(wait) => pause(*wait),
                    None => {
                        return Err(self.gave_up(ErrorKind::Connection, "asks for another try", &message));
                    }
                },
                Failure::Fatal(message) => {
                    return Err(self.gave_up(ErrorKind::Transform, "cannot run", &message));
                }
                _ if !alone => {
                    self.instance = None;
                    return Ok(Step::Split);
                }
                _ if !fresh => self.instance = None,
                Failure::Interrupted => {
                    self.instance = None;
                    return self.metered(plan, guest, piece).map(Step::Done);
                }
                failure => {
                    self.instance = None;
                    return Ok(Step::Done(refused(failure)));
                }
            }
        }
    }

    /// Makes an instance that has planned this table stand ready; true when
    /// nothing has run on it yet.
    fn prepare(&mut self, plan: &TablePlan) -> Result<bool> {
        if self.instance.as_ref().is_some_and(Instance::is_worn) {
            self.instance = None;
        }
        let mut instance = match self.instance.take() {
            Some(instance) => instance,
            None => self.fresh()?,
        };
        replan(&mut instance, plan)?;
        let fresh = instance.is_fresh();
        self.instance = Some(instance);
        Ok(fresh)
    }

    fn call(&mut self, plan: &TablePlan, guest: &GuestPlan, piece: &ChangeBatch) -> Result<Answer, Failure> {
        let instance = self.instance.as_mut().expect("prepared");
        call(instance, plan, guest, piece, Bound::Clock)
    }

    /// The verdict on one event that the clock interrupted.
    fn metered(&mut self, plan: &TablePlan, guest: &GuestPlan, piece: &ChangeBatch) -> Result<Outcome> {
        let module = self.module.metered()?;
        let mut instance = Instance::new(module, &self.config, self.memory_limit, self.observer.clone())?;
        replan(&mut instance, plan)?;
        match call(&mut instance, plan, guest, piece, Bound::Fuel) {
            Ok(answer) => Ok(Outcome::Answer(answer)),
            Err(Failure::Interrupted) => Err(Error::transient(
                ErrorKind::Transform,
                "an event takes the module longer than a minute, but fewer instructions than allowed",
            )
            .with("table", &plan.input.name)
            .with("position", piece.transaction(0).position)
            .hint("give the machine more processor time; the event is tried again")),
            Err(Failure::Transient(message)) => {
                Err(self.gave_up(ErrorKind::Connection, "asks for another try", &message))
            }
            Err(Failure::Fatal(message)) => Err(self.gave_up(ErrorKind::Transform, "cannot run", &message)),
            Err(failure) => Ok(refused(failure)),
        }
    }

    /// The guest has seen rows, so its own words stay out of errors.
    fn gave_up(&self, kind: ErrorKind, what: &str, message: &str) -> Error {
        let said = match self.text {
            GuestText::Show => format!("the module {what}: {}", printable(message)),
            GuestText::Withhold => {
                format!("the module {what} (its message is withheld: it may hold row values)")
            }
        };
        let error = match kind {
            ErrorKind::Connection => Error::transient(kind, said),
            _ => Error::new(kind, said),
        };
        error.hint("run the module with `tidegate transform test` on recorded rows to see its message")
    }
}

/// A new instance must plan as the first one did.
fn replan(instance: &mut Instance, plan: &TablePlan) -> Result<()> {
    if instance.has_planned(&plan.input) {
        return Ok(());
    }
    let again = instance.plan_table(&plan.input)?;
    let again = again.ok().and_then(|again| crate::plan::check(&plan.input, again).ok());
    if again.as_ref() == Some(plan) {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Transform,
        "the module plans the same table version differently the second time",
    )
    .with("table", &plan.input.name)
    .hint("`plan-table` may depend on configuration and schema only"))
}

fn call(
    instance: &mut Instance,
    plan: &TablePlan,
    guest: &GuestPlan,
    piece: &ChangeBatch,
    bound: Bound,
) -> Result<Answer, Failure> {
    let arrays = convert::arrays(piece, &guest.reads);
    let input = Input::new(piece, &guest.reads, &arrays);
    let output: Output = instance.transform(&plan.input, &input, bound)?;
    convert::check(output, guest, input.rows())
        .map_err(|convert::Violation(rule)| Failure::Trap(format!("broken contract: {rule}")))
}

fn refused(failure: Failure) -> Outcome {
    match failure {
        Failure::Permanent(message) => Outcome::Refused(RefusalCode::Other, printable(&message)),
        Failure::OutOfFuel => {
            Outcome::Refused(RefusalCode::Trap, "it takes more instructions than an event may".into())
        }
        Failure::Trap(reason) => Outcome::Refused(RefusalCode::Trap, reason),
        Failure::Transient(_) | Failure::Fatal(_) | Failure::Interrupted => {
            unreachable!("these are no verdict on an event")
        }
    }
}

pub(crate) fn arrow_error(error: arrow::error::ArrowError) -> Error {
    Error::new(ErrorKind::Internal, "columns cannot be rearranged").because(error)
}

#[expect(clippy::disallowed_methods, reason = "transforms run on a thread of their own, by contract")]
fn pause(wait: Duration) {
    thread::sleep(wait);
}
