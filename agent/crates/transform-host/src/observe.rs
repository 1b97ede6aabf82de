//! What a guest tells about itself: log lines and metrics, both bounded.
//!
//! A guest sees rows, so whatever it writes may hold row values, and row values
//! never stand in the agent's log. By default a log line therefore leaves only
//! its level and length; its text is shown where a person runs a module on
//! recorded rows.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Log lines of a transform that are reported per second; the rest is counted.
const LINES_PER_SECOND: u32 = 100;

/// Metric names of a transform; further ones are counted and ignored.
const NAMES_MAX: usize = 50;
const NAME_BYTES_MAX: usize = 64;

/// Characters of a guest's text that are kept.
const TEXT_CHARS_MAX: usize = 1_000;

/// What becomes of text that a guest writes about rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum GuestText {
    /// Only level and length are logged; messages of `transient` and `fatal` are
    /// left out of errors.
    #[default]
    Withhold,
    /// Shown. For runs on rows that may be seen, never for a pipeline.
    Show,
}

/// A transform's metrics and the gate of its log lines; outlives its instances.
#[derive(Debug)]
pub(crate) struct Observer {
    transform: Arc<str>,
    text: GuestText,
    metrics: BTreeMap<String, f64>,
    window: Instant,
    lines: u32,
    suppressed: u64,
}

impl Observer {
    pub(crate) fn new(transform: Arc<str>, text: GuestText) -> Self {
        let (metrics, window) = (BTreeMap::new(), Instant::now());
        Self { transform, text, metrics, window, lines: 0, suppressed: 0 }
    }

    /// Reports one line.
    pub(crate) fn log(&mut self, level: &'static str, message: &str) {
        if self.window.elapsed() >= Duration::from_secs(1) {
            self.window = Instant::now();
            self.lines = 0;
        }
        if self.lines == LINES_PER_SECOND {
            self.suppressed += 1;
            return;
        }
        self.lines += 1;
        let text = match self.text {
            GuestText::Withhold => String::new(),
            GuestText::Show => printable(message),
        };
        let (transform, bytes, suppressed) = (&self.transform, message.len(), self.suppressed);
        if matches!(level, "warn" | "error") || self.text == GuestText::Show {
            tracing::warn!(%transform, level, bytes, suppressed, text, "log line of a transform");
        } else {
            tracing::debug!(%transform, level, bytes, suppressed, text, "log line of a transform");
        }
    }

    /// Changes a metric; a name beyond the cap is ignored.
    pub(crate) fn metric(&mut self, name: &str, change: impl FnOnce(&mut f64)) {
        if let Some(value) = self.metrics.get_mut(name) {
            change(value);
        } else if self.metrics.len() < NAMES_MAX && is_metric_name(name) {
            change(self.metrics.entry(name.to_owned()).or_default());
        }
    }

    /// The metrics so far, by name.
    pub(crate) fn metrics(&self) -> &BTreeMap<String, f64> {
        &self.metrics
    }
}

/// Names are labels of the agent's own metrics, so their alphabet is small.
fn is_metric_name(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-';
    !name.is_empty() && name.len() <= NAME_BYTES_MAX && name.chars().all(allowed)
}

/// A guest's text, fit for a terminal and for a dead letter: cut, and without
/// control characters.
pub(crate) fn printable(text: &str) -> String {
    let mut chars = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    let mut cut: String = chars.by_ref().take(TEXT_CHARS_MAX).collect();
    if chars.next().is_some() {
        cut.push('…');
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_capped() {
        let mut observer = Observer::new("t".into(), GuestText::Withhold);
        for n in 0..60 {
            observer.metric(&format!("name_{n}"), |value| *value += 1.0);
        }
        observer.metric("name_0", |value| *value += 1.0);
        observer.metric("No Name", |value| *value += 1.0);
        assert_eq!(observer.metrics().len(), NAMES_MAX);
        assert_eq!(observer.metrics()["name_0"], 2.0);
    }

    #[test]
    fn text_is_cut_and_harmless() {
        assert_eq!(printable("a\u{1b}[31m\nb"), "a [31m b");
        assert_eq!(printable(&"x".repeat(2_000)).chars().count(), TEXT_CHARS_MAX + 1);
    }
}
