//! Files that a person names, read up to a bound: a device or a pipe must not
//! fill the memory.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Longest module of a transform; a whole interpreter takes about 40 MiB.
pub(crate) const MODULE_BYTES_MAX: u64 = 256 << 20;

/// The file's content.
///
/// # Errors
/// What the file system says, and a file of more than `bytes_max` bytes.
pub(crate) fn read_bounded(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(bytes_max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        return Err(io::Error::other(format!("longer than {bytes_max} bytes")));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_is_the_longest_file_that_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, b"12345").unwrap();
        assert_eq!(read_bounded(&file, 5).unwrap(), b"12345");
        assert!(read_bounded(&file, 4).unwrap_err().to_string().contains("longer than 4 bytes"));
        assert!(read_bounded(Path::new("/dev/zero"), 9).is_err());
    }
}
