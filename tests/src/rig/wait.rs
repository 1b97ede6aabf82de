//! Waiting for a named event.

use std::time::{Duration, Instant};

/// How long an event may take on a busy two-core machine before the test calls it lost.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Looks for an event until `probe` finds it, or panics after [`PATIENCE`] with what the probe
/// saw last.
pub fn wait_for<T>(event: &str, mut probe: impl FnMut() -> Result<T, String>) -> T {
    let start = Instant::now();
    loop {
        match probe() {
            Ok(found) => return found,
            Err(seen) if start.elapsed() > PATIENCE => {
                panic!("waited {} s for {event}; seen last: {seen}", PATIENCE.as_secs())
            }
            Err(_) => pause(),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the one place that polls; everyone else waits here")]
fn pause() {
    std::thread::sleep(Duration::from_millis(10));
}

#[cfg(test)]
mod tests {
    use super::wait_for;

    #[test]
    fn returns_what_the_probe_finds() {
        let mut looks = 0;
        let found = wait_for("the third look", || {
            looks += 1;
            if looks == 3 { Ok(looks) } else { Err(format!("look {looks}")) }
        });
        assert_eq!(found, 3);
    }
}
