//! Options of an object sink.

use std::path::{Path, PathBuf};

use tidegate_format::writer_id;
use tidegate_model::{Error, ErrorKind, Result};

/// How rows are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Parquet, zstd.
    Parquet,
    /// One JSON object a line.
    JsonLines,
}

impl Format {
    /// What objects of this format end with.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Parquet => "parquet",
            Self::JsonLines => "jsonl",
        }
    }
}

/// Where and how a sink writes.
#[derive(Debug, Clone)]
pub struct ObjectSinkConfig {
    /// Folder of the lake; made when it is not there.
    pub root: PathBuf,
    /// How rows are stored.
    pub format: Format,
    /// Folder for files that are being written, best on the lake's file system:
    /// a commit then moves them, else it copies. Of this sink alone.
    pub staging: PathBuf,
    /// Name of the pipeline.
    pub pipeline: String,
    /// Name of the sink in it.
    pub sink: String,
    /// A file is closed at this many rows; a batch is never split.
    pub max_file_rows: u64,
    /// A file is closed at this many bytes; a batch is never split.
    pub max_file_bytes: u64,
    /// Memory for row groups of all open Parquet files together; the largest is
    /// written out when they take more.
    pub memory_bytes: usize,
    /// Files open at one time; the one not written for longest is closed.
    pub max_open_files: usize,
}

impl ObjectSinkConfig {
    /// A configuration with the default limits.
    pub fn new(root: PathBuf, format: Format, staging: PathBuf, pipeline: &str, sink: &str) -> Self {
        Self {
            root,
            format,
            staging,
            pipeline: pipeline.to_owned(),
            sink: sink.to_owned(),
            max_file_rows: 10_000_000,
            max_file_bytes: 256 << 20,
            memory_bytes: 16 << 20,
            max_open_files: 128,
        }
    }

    /// The id under which this sink writes: the same for the same pipeline and
    /// sink, wherever they run.
    pub fn writer(&self) -> String {
        writer_id(&self.pipeline, &self.sink)
    }

    /// Pipeline and sink, for people.
    pub fn name(&self) -> String {
        format!("{}/{}", self.pipeline, self.sink)
    }
}

/// The folder that a `file:` URL names; a relative one starts at `base`.
///
/// # Errors
/// `Unsupported` for another scheme, `Config` for a host in the URL or no path.
pub fn path_of_url(url: &str, base: &Path) -> Result<PathBuf> {
    let Some(rest) = url.strip_prefix("file:") else {
        return Err(Error::new(ErrorKind::Unsupported, "only file: URLs are supported yet")
            .with("url", url.split(':').next().unwrap_or_default())
            .hint("write url: \"file:out/lake\""));
    };
    let path = match rest.strip_prefix("//") {
        Some(absolute) if absolute.starts_with('/') => absolute,
        Some(_) => {
            return Err(Error::new(ErrorKind::Config, "a file: URL cannot name a host")
                .hint("write file:/path, file:///path, or file:relative/path"));
        }
        None => rest,
    };
    if path.is_empty() {
        return Err(
            Error::new(ErrorKind::Config, "the file: URL has no path").hint("write url: \"file:out/lake\"")
        );
    }
    Ok(base.join(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_urls() {
        let base = Path::new("/etc/tidegate");
        for (url, path) in [
            ("file:out/lake", "/etc/tidegate/out/lake"),
            ("file:/srv/lake", "/srv/lake"),
            ("file:///srv/lake", "/srv/lake"),
        ] {
            assert_eq!(path_of_url(url, base).unwrap(), Path::new(path));
        }
        assert_eq!(path_of_url("s3://bucket", base).unwrap_err().kind(), ErrorKind::Unsupported);
        assert_eq!(path_of_url("file://host/x", base).unwrap_err().kind(), ErrorKind::Config);
        assert_eq!(path_of_url("file:", base).unwrap_err().kind(), ErrorKind::Config);
    }
}
