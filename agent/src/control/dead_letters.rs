//! Dead letters, read from the queue's own files.
//!
//! The queue is a lake of JSON lines with a commit log, so reading it needs
//! neither the agent nor a lock. A list tells reasons; only the single letter
//! shows the event's original images, which are row values.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Path as UrlPath, Query, State};
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use tidegate_format::DeadLetterRecord;
use tidegate_model::Result;
use tidegate_sink_object::Lake;

use super::Control;
use super::answer::Refused;
use super::pipelines::find;

/// A list is at most this long; the newest come first.
const LIST_MAX: usize = 1000;

/// A dead letter without the event's values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// 16 hexadecimal digits that name it.
    pub id: String,
    /// `schema.table` at the source.
    pub table: String,
    /// `c`, `u`, `d` or `r`.
    pub operation: String,
    /// Who refused: `source`, `transform:NAME`, `sink:NAME`.
    pub stage: String,
    /// Reason for programs.
    pub code: String,
    /// Column to blame.
    pub column: Option<String>,
    /// `__pos` of the event.
    pub pos: String,
    /// `__idx` of the event.
    pub idx: i64,
    /// Commit time at the source, ISO UTC.
    pub commit_ts: String,
    /// The module that refused; empty for other stages.
    pub module: String,
}

impl From<&DeadLetterRecord> for Summary {
    fn from(letter: &DeadLetterRecord) -> Self {
        Self {
            id: letter.id.clone(),
            table: format!("{}.{}", letter.table.schema, letter.table.table),
            operation: letter.operation.clone(),
            stage: letter.stage.clone(),
            code: letter.code.clone(),
            column: letter.column.clone(),
            pos: letter.pos.clone(),
            idx: letter.idx,
            commit_ts: letter.commit_ts.clone(),
            module: letter.module.clone(),
        }
    }
}

/// Parameters of the list.
#[derive(Debug, Deserialize)]
pub(super) struct Page {
    #[serde(default = "list_default")]
    limit: usize,
}

fn list_default() -> usize {
    100
}

/// The newest dead letters of a queue, newest first, at most `limit` of them.
/// A queue that does not exist yet has none.
///
/// # Errors
/// `Storage` when the queue's files cannot be read, `Corrupt` when one is damaged.
pub async fn list(queue: &Path, limit: usize) -> Result<Vec<Summary>> {
    let mut newest = VecDeque::new();
    visit(queue, &mut |letter| {
        if newest.len() == limit {
            newest.pop_front();
        }
        newest.push_back(Summary::from(&letter));
    })
    .await?;
    Ok(newest.into_iter().rev().collect())
}

/// The dead letter of this id, with the event's original images.
///
/// # Errors
/// As [`list`].
pub async fn show(queue: &Path, id: &str) -> Result<Option<DeadLetterRecord>> {
    let mut found = None;
    visit(queue, &mut |letter| {
        if letter.id == id {
            found = Some(letter);
        }
    })
    .await?;
    Ok(found)
}

async fn visit(queue: &Path, visit: &mut (dyn FnMut(DeadLetterRecord) + Send)) -> Result<()> {
    if !queue.exists() {
        return Ok(());
    }
    let letters = &mut |letter| {
        visit(letter);
        Ok(())
    };
    Lake::open(queue).await?.dead_letters(letters).await
}

pub(super) async fn get_list(
    State(control): State<Arc<Control>>,
    UrlPath(pipeline): UrlPath<String>,
    Query(page): Query<Page>,
) -> Result<Json<Vec<Summary>>, Refused> {
    let queue = find(&control, &pipeline)?.config.dead_letter.path.clone();
    Ok(Json(list(&queue, page.limit.clamp(1, LIST_MAX)).await?))
}

pub(super) async fn get_one(
    State(control): State<Arc<Control>>,
    UrlPath((pipeline, id)): UrlPath<(String, String)>,
) -> Result<Json<DeadLetterRecord>, Refused> {
    let queue = find(&control, &pipeline)?.config.dead_letter.path.clone();
    show(&queue, &id).await?.map(Json).ok_or_else(|| {
        Refused::new(
            StatusCode::NOT_FOUND,
            format!("there is no dead letter '{id}'"),
            "list them with `tidegate dead-letters list`",
        )
    })
}
