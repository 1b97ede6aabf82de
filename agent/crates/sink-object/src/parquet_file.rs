//! A Parquet file that is being written.

use std::fs::File;
use std::path::{Path, PathBuf};

use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use tidegate_format::lake::LakeEncoder;
use tidegate_model::{ChangeBatch, Error, ErrorKind, Result};

use crate::fault::io_error;

/// Encodes batches into row groups.
#[derive(Debug)]
pub(crate) struct ParquetFile {
    path: PathBuf,
    encoder: LakeEncoder,
    writer: ArrowWriter<File>,
}

impl ParquetFile {
    /// Begins a file.
    pub(crate) fn create(path: PathBuf, encoder: LakeEncoder) -> Result<Self> {
        let file = File::create_new(&path).map_err(|error| io_error("stage rows", &path, error))?;
        // Without Arrow's own schema in the footer, readers see plain text where we hand in
        // dictionaries: that is only our way of building it.
        let options = ArrowWriterOptions::new().with_properties(properties()).with_skip_arrow_metadata(true);
        let writer = ArrowWriter::try_new_with_options(file, encoder.schema().clone(), options)
            .map_err(|error| fault(&path, error))?;
        Ok(Self { path, encoder, writer })
    }

    /// Adds a batch; returns its rows.
    pub(crate) fn write(&mut self, batch: &ChangeBatch) -> Result<u64> {
        let rows = self.encoder.encode(batch)?;
        self.writer.write(&rows).map_err(|error| fault(&self.path, error))?;
        Ok(rows.num_rows() as u64)
    }

    /// Bytes of the file so far, those still in memory estimated.
    pub(crate) fn bytes(&self) -> u64 {
        (self.writer.bytes_written() + self.writer.in_progress_size()) as u64
    }

    /// Bytes of memory that the open row group takes.
    pub(crate) fn memory(&self) -> usize {
        self.writer.memory_size()
    }

    /// Writes the open row group out.
    pub(crate) fn flush(&mut self) -> Result<()> {
        self.writer.flush().map_err(|error| fault(&self.path, error))
    }

    /// Ends the file, not flushed to disk yet; returns its size.
    pub(crate) fn finish(mut self) -> Result<u64> {
        self.writer.finish().map_err(|error| fault(&self.path, error))?;
        Ok(self.writer.bytes_written() as u64)
    }
}

fn properties() -> WriterProperties {
    WriterProperties::builder()
        .set_created_by(concat!("tidegate ", env!("CARGO_PKG_VERSION")).to_owned())
        // Level 1: twice the speed of the default level for a few percent of size.
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(1).expect("1 is a level of zstd")))
        // Row groups are small and cut by memory: limits by page serve nobody.
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .set_max_row_group_row_count(None)
        .build()
}

/// A disk that fails hides inside a Parquet error.
fn fault(path: &Path, error: ParquetError) -> Error {
    match error {
        ParquetError::External(source) => match source.downcast::<std::io::Error>() {
            Ok(error) => io_error("stage rows", path, *error),
            Err(other) => internal(path, other),
        },
        other => internal(path, other.into()),
    }
}

fn internal(path: &Path, error: Box<dyn std::error::Error + Send + Sync>) -> Error {
    Error::new(ErrorKind::Internal, "rows cannot be written as Parquet")
        .during("stage rows")
        .with("path", path.display())
        .because(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_shows_through_a_parquet_error() {
        let full = std::io::Error::from(std::io::ErrorKind::StorageFull);
        let error = fault(Path::new("/lake"), ParquetError::from(full));
        assert_eq!(error.kind(), ErrorKind::Storage);
        assert!(error.is_transient());
        assert!(error.to_string().contains("free space on the file system of /lake"), "{error}");
    }
}
