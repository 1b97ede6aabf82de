//! The file as a tree in which every value knows its line.
//!
//! Deserialising straight into the settings would stop at the first fault and
//! forget where each value stood. So the parser's only job is this tree; what
//! the keys mean is told by [`super::keys`] and read by [`super::section`].

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;
use tidegate_model::{Error, ErrorKind, Result};

/// A value and the line that it starts on.
#[derive(Clone)]
pub(super) struct Node {
    /// From 1.
    pub(super) line: u64,
    pub(super) value: Value,
}

/// What YAML makes of a value.
#[derive(Clone)]
pub(super) enum Value {
    Null,
    Bool(bool),
    Integer(i128),
    Float(f64),
    Text(String),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// A key and its value.
#[derive(Clone)]
pub(super) struct Entry {
    pub(super) key: String,
    /// The key's own line.
    pub(super) line: u64,
    pub(super) node: Node,
}

impl Node {
    /// Parses one YAML document.
    ///
    /// # Errors
    /// `Config` with line and column; the message quotes nothing of the file,
    /// which may hold a password.
    pub(super) fn parse(text: &str) -> Result<Self> {
        // Without it `off` and `no` would be booleans wherever a word is meant.
        let options = serde_saphyr::options! { strict_booleans: true };
        serde_saphyr::from_str_with_options::<Spanned<Value>>(text, options).map(Self::from).map_err(
            |error| {
                let line = error.location().map_or(1, |location| location.line());
                let reason = error.without_snippet().to_string();
                Error::new(ErrorKind::Config, format!("{line}: this is not YAML: {reason}"))
            },
        )
    }

    /// The word for the value's kind, with its article.
    pub(super) fn kind(&self) -> &'static str {
        match self.value {
            Value::Null => "nothing",
            Value::Bool(_) => "a boolean",
            Value::Integer(_) | Value::Float(_) => "a number",
            Value::Text(_) => "text",
            Value::List(_) => "a list",
            Value::Map(_) => "a map",
        }
    }
}

impl From<Spanned<Value>> for Node {
    fn from(spanned: Spanned<Value>) -> Self {
        Self { line: spanned.referenced.line(), value: spanned.value }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ValueVisitor;

        impl<'de> Visitor<'de> for ValueVisitor {
            type Value = Value;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a YAML value")
            }

            fn visit_unit<E>(self) -> Result<Value, E> {
                Ok(Value::Null)
            }

            fn visit_none<E>(self) -> Result<Value, E> {
                Ok(Value::Null)
            }

            fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
                Value::deserialize(deserializer)
            }

            fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
                Ok(Value::Bool(value))
            }

            fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
                Ok(Value::Integer(value.into()))
            }

            fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
                Ok(Value::Integer(value.into()))
            }

            fn visit_i128<E>(self, value: i128) -> Result<Value, E> {
                Ok(Value::Integer(value))
            }

            fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
                Ok(Value::Float(value))
            }

            fn visit_str<E>(self, value: &str) -> Result<Value, E> {
                Ok(Value::Text(value.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
                let mut nodes = Vec::new();
                while let Some(item) = list.next_element::<Spanned<Value>>()? {
                    nodes.push(item.into());
                }
                Ok(Value::List(nodes))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(key) = map.next_key::<Spanned<String>>()? {
                    let node = map.next_value::<Spanned<Value>>()?.into();
                    entries.push(Entry { key: key.value, line: key.referenced.line(), node });
                }
                Ok(Value::Map(entries))
            }
        }

        deserializer.deserialize_any(ValueVisitor)
    }
}
