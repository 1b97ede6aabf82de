//! Named fail points around every durable step, for crash tests.
//!
//! `TIDEGATE_FAIL=name:before|after|enospc|eio[:n]` acts on the n-th pass (from
//! 1, default 1) of the point `name`: `before` and `after` end the process the
//! way `kill -9` does, `enospc` and `eio` make the step fail with that error.
//! Several, separated by commas. Compiled only with debug assertions: a release
//! binary holds neither the code nor the names.

use std::io;

/// In front of a durable step.
///
/// # Errors
/// The error that `TIDEGATE_FAIL` asks for; never otherwise.
#[inline(always)]
pub fn before(name: &'static str) -> io::Result<()> {
    #[cfg(debug_assertions)]
    armed::before(name)?;
    #[cfg(not(debug_assertions))]
    let _ = name;
    Ok(())
}

/// Behind a durable step that has succeeded.
#[inline(always)]
pub fn after(name: &'static str) {
    #[cfg(debug_assertions)]
    armed::after(name);
    #[cfg(not(debug_assertions))]
    let _ = name;
}

#[cfg(debug_assertions)]
mod armed {
    use std::io;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    struct Point {
        name: String,
        action: String,
        pass: u64,
        passes: AtomicU64,
    }

    fn points() -> &'static [Point] {
        static POINTS: OnceLock<Vec<Point>> = OnceLock::new();
        POINTS.get_or_init(|| {
            let text = std::env::var("TIDEGATE_FAIL").unwrap_or_default();
            text.split(',').filter(|point| !point.is_empty()).map(parse).collect()
        })
    }

    fn parse(text: &str) -> Point {
        let mut parts = text.split(':');
        let (name, action) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        assert!(
            ["before", "after", "enospc", "eio"].contains(&action),
            "TIDEGATE_FAIL: {text:?} is not name:before|after|enospc|eio[:n]"
        );
        let pass = parts.next().map_or(1, |n| n.parse().expect("TIDEGATE_FAIL: n is a number"));
        Point { name: name.into(), action: action.into(), pass, passes: AtomicU64::new(0) }
    }

    /// True when this pass of the point is the one to act on.
    fn due(point: &Point) -> bool {
        point.passes.fetch_add(1, Ordering::SeqCst) + 1 == point.pass
    }

    fn die() -> ! {
        // abort() would write a core file; the kernel's kill is what a crash test means.
        let pid = std::process::id().to_string();
        let _ = std::process::Command::new("kill").args(["-9", &pid]).status();
        std::process::abort()
    }

    pub(super) fn before(name: &str) -> io::Result<()> {
        for point in points().iter().filter(|p| p.name == name && p.action != "after") {
            if due(point) {
                match point.action.as_str() {
                    "before" => die(),
                    "enospc" => return Err(io::Error::from(io::ErrorKind::StorageFull)),
                    _ => return Err(io::Error::from_raw_os_error(5)),
                }
            }
        }
        Ok(())
    }

    pub(super) fn after(name: &str) {
        if points().iter().any(|p| p.name == name && p.action == "after" && due(p)) {
            die();
        }
    }
}
