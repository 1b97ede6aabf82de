//! Events and cells as tests write them.

use crate::{Cell, Column, Image, Operation, Operations, Vector};

/// A cell.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "the cases are those of the contract's `vector`")]
pub enum Value {
    Null,
    Absent,
    Boolean(bool),
    Integer(i64),
    Unsigned(u64),
    Float(f64),
    Text(String),
    Binary(Vec<u8>),
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Integer(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Boolean(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Text(value.into())
    }
}

impl Value {
    /// The cell of a column at a row.
    pub(super) fn at(column: &Column, row: usize) -> Self {
        let read = match &column.vector {
            Vector::Boolean(_) => column.booleans().map(|cells| cells.get(row).map(Self::Boolean)),
            Vector::Integer(_) => column.integers().map(|cells| cells.get(row).map(Self::Integer)),
            Vector::Unsigned(_) => column.unsigneds().map(|cells| cells.get(row).map(Self::Unsigned)),
            Vector::Float(_) => column.floats().map(|cells| cells.get(row).map(Self::Float)),
            Vector::Text(_) => column.texts().map(|cells| cells.get(row).map(|text| Self::Text(text.into()))),
            Vector::Binary(_) => {
                column.binaries().map(|cells| cells.get(row).map(|bytes| Self::Binary(bytes.into())))
            }
        };
        match read.expect("a text column is UTF-8") {
            Cell::Value(value) => value,
            Cell::Null => Self::Null,
            Cell::Absent => Self::Absent,
        }
    }
}

/// One change event, its images as complete rows of the table.
#[derive(Clone, Debug)]
pub struct Event {
    operation: Operation,
    before: Option<Vec<Value>>,
    after: Option<Vec<Value>>,
}

/// An inserted row.
pub fn insert(after: impl Into<Vec<Value>>) -> Event {
    Event { operation: Operation::Insert, before: None, after: Some(after.into()) }
}

/// An updated row with both images.
pub fn update(before: impl Into<Vec<Value>>, after: impl Into<Vec<Value>>) -> Event {
    Event { operation: Operation::Update, before: Some(before.into()), after: Some(after.into()) }
}

/// A deleted row.
pub fn delete(before: impl Into<Vec<Value>>) -> Event {
    Event { operation: Operation::Delete, before: Some(before.into()), after: None }
}

/// A row read by a snapshot.
pub fn snapshot(after: impl Into<Vec<Value>>) -> Event {
    Event { operation: Operation::Snapshot, before: None, after: Some(after.into()) }
}

/// One image of an event.
#[derive(Debug)]
pub struct Row<'e> {
    pub(super) event: usize,
    pub(super) image: Image,
    pub(super) operation: Operation,
    pub(super) cells: &'e [Value],
}

impl<'e> Row<'e> {
    /// The images of events, the `before` of each directly in front of its
    /// `after`.
    pub(super) fn of(events: &'e [Event]) -> Vec<Self> {
        let mut rows = Vec::new();
        for (event, Event { operation, before, after }) in events.iter().enumerate() {
            for (image, cells) in [(Image::Before, before), (Image::After, after)] {
                if let Some(cells) = cells {
                    rows.push(Row { event, image, operation: *operation, cells });
                }
            }
        }
        rows
    }

    pub(super) fn flag(&self) -> Operations {
        match self.operation {
            Operation::Insert => Operations::INSERT,
            Operation::Update => Operations::UPDATE,
            Operation::Delete => Operations::DELETE,
            Operation::Snapshot => Operations::SNAPSHOT,
        }
    }
}
