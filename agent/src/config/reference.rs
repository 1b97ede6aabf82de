//! `${env:NAME}` and `${file:PATH}`: values that do not stand in the file.

use std::io;
use std::path::{Path, PathBuf};

use crate::bounded::read_bounded;

/// Longest file that a reference may name.
const SECRET_BYTES_MAX: u64 = 1 << 20;

/// Where references lead.
pub(super) struct References<'a> {
    /// Folder that relative paths start from: the one of the pipeline's file.
    pub(super) folder: PathBuf,
    /// Reads an environment variable.
    pub(super) variable: &'a dyn Fn(&str) -> Option<String>,
}

impl References<'_> {
    /// The text with every reference replaced; `$${` stands for `${`. What was
    /// put in is not looked at again.
    ///
    /// # Errors
    /// Message and hint, naming the reference and never a value.
    pub(super) fn resolve(&self, text: &str) -> Result<String, (String, String)> {
        let mut resolved = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(start) = rest.find("${") {
            if rest[..start].ends_with('$') {
                resolved.push_str(&rest[..start]);
                resolved.push('{');
                rest = &rest[start + 2..];
                continue;
            }
            let Some(length) = rest[start..].find('}') else {
                return Err(("a reference has no closing brace".into(), "write ${env:NAME}".into()));
            };
            resolved.push_str(&rest[..start]);
            resolved.push_str(&self.look_up(&rest[start + 2..start + length])?);
            rest = &rest[start + length + 1..];
        }
        resolved.push_str(rest);
        Ok(resolved)
    }

    /// The path as it is when absolute, else below the file's folder.
    pub(super) fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        // Component by component, so that `./state` leaves no `.` in messages.
        self.folder.join(path).components().collect()
    }

    fn look_up(&self, reference: &str) -> Result<String, (String, String)> {
        match reference.split_once(':') {
            Some(("env", name)) => (self.variable)(name).ok_or_else(|| {
                let message = format!("the environment variable '{name}' is not set, or is not UTF-8");
                (message, format!("export {name}=…"))
            }),
            Some(("file", path)) => {
                let path = self.path(path);
                // Files of secrets end in a newline that is no part of them.
                read_bounded(&path, SECRET_BYTES_MAX)
                    .and_then(|bytes| String::from_utf8(bytes).map_err(io::Error::other))
                    .map(|text| text.trim_end_matches(['\r', '\n']).to_owned())
                    .map_err(|error| {
                        let message = format!("'{}' cannot be read: {error}", path.display());
                        (message, "the path is relative to the pipeline's file".into())
                    })
            }
            _ => Err((
                format!("'${{{reference}}}' is no reference"),
                "write ${env:NAME} or ${file:PATH}, and $${ for a plain ${".into(),
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn references_are_replaced_once() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("token"), "se${env:cret\n").unwrap();
        let variable = |name: &str| (name == "USER_NAME").then(|| "ada".to_owned());
        let references = References { folder: folder.path().into(), variable: &variable };
        for (text, expected) in [
            ("plain", Ok("plain")),
            ("${env:USER_NAME}", Ok("ada")),
            ("a-${env:USER_NAME}-${env:USER_NAME}", Ok("a-ada-ada")),
            ("${file:token}", Ok("se${env:cret")),
            ("$${env:USER_NAME}", Ok("${env:USER_NAME}")),
            ("5$ and $5", Ok("5$ and $5")),
            ("${env:OTHER}", Err("'OTHER' is not set")),
            ("${vault:x}", Err("is no reference")),
            ("${env:USER_NAME", Err("no closing brace")),
            ("${file:missing}", Err("cannot be read")),
            ("${file:/dev/zero}", Err("longer than 1048576 bytes")),
        ] {
            match (references.resolve(text), expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{text}"),
                (Err((message, _)), Err(part)) => assert!(message.contains(part), "{text}: {message}"),
                (found, _) => panic!("{text}: {found:?}"),
            }
        }
    }

    #[test]
    fn paths_start_at_the_file() {
        let references = References { folder: "/etc/tidegate".into(), variable: &|_| None };
        for (path, expected) in
            [("./state", "/etc/tidegate/state"), ("/var/x", "/var/x"), ("a/b.wasm", "/etc/tidegate/a/b.wasm")]
        {
            assert_eq!(references.path(path), Path::new(expected));
        }
    }
}
