//! Files that are being written on local disk, until a commit makes them
//! objects.
//!
//! A file holds rows of one target version, one module version and one snapshot
//! generation, so a reader can take or leave it as a whole. Memory is bounded:
//! row groups of all open files share one budget, and few files are open at once.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tidegate_format::lake::LakeEncoder;
use tidegate_format::name::table_text;
use tidegate_format::{FileRecord, PositionRecord};
use tidegate_model::{ChangeBatch, DeadLetter, EventPosition, Result, TableName, TargetVersion, fail};

use crate::config::{Format, ObjectSinkConfig};
use crate::fault::io_error;
use crate::layout::{DEAD_LETTERS, ObjectIds, ObjectName, table_folder};
use crate::lines::LinesFile;
use crate::parquet_file::ParquetFile;

/// A finished file with what the log will say about it.
#[derive(Debug)]
pub(crate) struct StagedFile {
    /// Where it lies.
    pub(crate) path: PathBuf,
    /// Its entry; `key` is where it goes.
    pub(crate) record: FileRecord,
}

/// All files since the last commit.
#[derive(Debug)]
pub(crate) struct Staging {
    config: ObjectSinkConfig,
    writer: String,
    claim: u64,
    ids: ObjectIds,
    /// The one written last stands last.
    open: Vec<OpenFile>,
    finished: Vec<StagedFile>,
}

#[derive(Debug)]
struct OpenFile {
    content: Content,
    module: Arc<str>,
    generation: u64,
    path: PathBuf,
    name: ObjectName,
    file: Encoder,
    rows: u64,
    range: Option<(EventPosition, EventPosition)>,
}

/// What a file is about.
#[derive(Debug, Clone, PartialEq)]
enum Content {
    Rows(Arc<TargetVersion>),
    DeadLetters,
}

#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "at most a few dozen exist at one time")]
enum Encoder {
    Parquet(ParquetFile),
    Lines(LinesFile),
}

impl Staging {
    /// Staging for a claim; clears what an earlier process left in the folder.
    pub(crate) fn open(config: ObjectSinkConfig, claim: u64) -> Result<Self> {
        let writer = config.writer();
        let fault = |error| io_error("clear the staging folder", &config.staging, error);
        fs::create_dir_all(&config.staging).map_err(fault)?;
        for entry in fs::read_dir(&config.staging).map_err(fault)? {
            let path = entry.map_err(fault)?.path();
            let name = path.to_str().and_then(ObjectName::of_key);
            if name.is_some_and(|name| name.writer == writer) {
                fs::remove_file(&path).map_err(fault)?;
            }
        }
        let (ids, open, finished) = (ObjectIds::default(), Vec::new(), Vec::new());
        Ok(Self { config, writer, claim, ids, open, finished })
    }

    /// Adds rows of a target.
    pub(crate) fn write(&mut self, target: &Arc<TargetVersion>, batch: &ChangeBatch) -> Result<()> {
        if batch.is_empty() {
            return Ok(());
        }
        let (first, last) = (batch.position(0), batch.position(batch.len() - 1));
        let content = Content::Rows(target.clone());
        let file = self.file(content, &batch.module, batch.generation)?;
        file.rows += match &mut file.file {
            Encoder::Parquet(parquet) => parquet.write(batch)?,
            Encoder::Lines(lines) => lines.write(batch, target)?,
        };
        file.cover(first, last);
        self.enforce_limits()
    }

    /// Adds a dead letter.
    pub(crate) fn write_dead_letter(&mut self, letter: &DeadLetter) -> Result<()> {
        let pipeline = self.config.pipeline.clone();
        let position = letter.position();
        let file = self.file(Content::DeadLetters, &Arc::from(""), 0)?;
        if let Encoder::Lines(lines) = &mut file.file {
            file.rows += lines.write_dead_letter(&pipeline, letter)?;
        }
        file.cover(position, position);
        self.enforce_limits()
    }

    /// Finishes the open files of these targets.
    pub(crate) fn seal(&mut self, targets: &[TableName]) -> Result<()> {
        let sealed = |file: &OpenFile| match &file.content {
            Content::Rows(target) => targets.contains(&target.name),
            Content::DeadLetters => false,
        };
        while let Some(index) = self.open.iter().position(sealed) {
            self.finish(index)?;
        }
        Ok(())
    }

    /// Finishes and flushes every file, and hands them all out.
    pub(crate) fn take(&mut self) -> Result<Vec<StagedFile>> {
        while !self.open.is_empty() {
            self.finish(0)?;
        }
        // Flushed here and not one by one when they end: by now the system has written most.
        for file in &self.finished {
            flush_file(&file.path).map_err(|error| io_error("flush staged rows", &file.path, error))?;
        }
        Ok(std::mem::take(&mut self.finished))
    }

    /// Forgets every file.
    pub(crate) fn discard(&mut self) -> Result<()> {
        let open = self.open.drain(..).map(|file| file.path);
        let paths: Vec<_> = open.chain(self.finished.drain(..).map(|file| file.path)).collect();
        paths.iter().try_for_each(|path| remove_staged(path))
    }

    /// True when rows of this target wait for a commit.
    pub(crate) fn holds(&self, target: &TableName) -> bool {
        let open = self.open.iter().any(|file| match &file.content {
            Content::Rows(of) => of.name == *target,
            Content::DeadLetters => false,
        });
        let text = table_text(target);
        open || self.finished.iter().any(|file| file.record.table == text)
    }

    /// Bytes of all files, those in memory estimated.
    pub(crate) fn bytes(&self) -> u64 {
        let finished: u64 = self.finished.iter().map(|file| file.record.bytes).sum();
        finished + self.open.iter().map(|file| file.file.bytes()).sum::<u64>()
    }

    /// The open file for such rows; it becomes the last of the list.
    fn file(&mut self, content: Content, module: &Arc<str>, generation: u64) -> Result<&mut OpenFile> {
        let same = |file: &OpenFile| {
            file.content == content && file.module == *module && file.generation == generation
        };
        let file = match self.open.iter().rposition(same) {
            Some(index) => self.open.remove(index),
            None => {
                if self.open.len() >= self.config.max_open_files {
                    self.finish(0)?;
                }
                self.create(content, module, generation)?
            }
        };
        self.open.push(file);
        Ok(self.open.last_mut().expect("one was just pushed"))
    }

    fn create(&mut self, content: Content, module: &Arc<str>, generation: u64) -> Result<OpenFile> {
        let name = ObjectName { writer: self.writer.clone(), claim: self.claim, id: self.ids.next() };
        let path = self.config.staging.join(name.to_string());
        let file = match (&content, self.config.format) {
            (Content::Rows(target), Format::Parquet) => {
                Encoder::Parquet(ParquetFile::create(path.clone(), LakeEncoder::new(target.clone()))?)
            }
            (Content::Rows(_), Format::JsonLines) | (Content::DeadLetters, _) => {
                Encoder::Lines(LinesFile::create(path.clone())?)
            }
        };
        Ok(OpenFile { content, module: module.clone(), generation, path, name, file, rows: 0, range: None })
    }

    /// Closes the file written last when it is full, and frees memory until the
    /// open row groups fit their budget.
    fn enforce_limits(&mut self) -> Result<()> {
        let last = self.open.len() - 1;
        let full = &self.open[last];
        if full.rows >= self.config.max_file_rows || full.file.bytes() >= self.config.max_file_bytes {
            self.finish(last)?;
        }
        while self.open.iter().map(|file| file.file.memory()).sum::<usize>() > self.config.memory_bytes {
            let largest = self.open.iter_mut().max_by_key(|file| file.file.memory());
            largest.expect("memory is taken by a file").file.flush()?;
        }
        Ok(())
    }

    /// Ends an open file; not flushed yet.
    fn finish(&mut self, index: usize) -> Result<()> {
        let OpenFile { content, module, generation, path, name, file, rows, range } = self.open.remove(index);
        let bytes = match file.finish() {
            Ok(bytes) => bytes,
            Err(error) => {
                // The rows are lost to this commit, and the space is needed.
                let _ = remove_staged(&path);
                return Err(error);
            }
        };
        let Some((min, max)) = range.filter(|_| rows > 0) else { return remove_staged(&path) };
        let modules = module.split(',').filter(|module| !module.is_empty()).map(str::to_owned).collect();
        let place = |table, table_uid, schema_version, key| FileRecord {
            table,
            table_uid,
            schema_version,
            key,
            rows,
            bytes,
            min: PositionRecord::from(min),
            max: PositionRecord::from(max),
            modules,
            generation,
        };
        let record = match content {
            Content::Rows(target) => {
                let folder = table_folder(&target.name);
                let key = name.key(&folder, target.version, self.config.format.extension());
                place(table_text(&target.name), target.uid.0, target.version, key)
            }
            Content::DeadLetters => {
                let key = name.key(DEAD_LETTERS, 1, Format::JsonLines.extension());
                place(DEAD_LETTERS.to_owned(), 0, 1, key)
            }
        };
        self.finished.push(StagedFile { path, record });
        Ok(())
    }
}

impl OpenFile {
    fn cover(&mut self, first: EventPosition, last: EventPosition) {
        let (min, max) = self.range.unwrap_or((first, last));
        self.range = Some((min.min(first), max.max(last)));
    }
}

impl Encoder {
    fn bytes(&self) -> u64 {
        match self {
            Self::Parquet(parquet) => parquet.bytes(),
            Self::Lines(lines) => lines.bytes(),
        }
    }

    /// Memory that [`flush`](Self::flush) frees.
    fn memory(&self) -> usize {
        match self {
            Self::Parquet(parquet) => parquet.memory(),
            Self::Lines(_) => 0,
        }
    }

    fn flush(&mut self) -> Result<()> {
        match self {
            Self::Parquet(parquet) => parquet.flush(),
            Self::Lines(_) => Ok(()),
        }
    }

    /// Ends the file; returns its size.
    fn finish(self) -> Result<u64> {
        match self {
            Self::Parquet(parquet) => parquet.finish(),
            Self::Lines(lines) => lines.finish(),
        }
    }
}

/// Removes a staged file, if it is still there: a store may have consumed it.
pub(crate) fn remove_staged(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(io_error("delete a staged file", path, error))
        }
        _ => Ok(()),
    }
}

fn flush_file(path: &Path) -> std::io::Result<()> {
    fail::before("staged-file")?;
    File::open(path)?.sync_all()?;
    fail::after("staged-file");
    Ok(())
}
