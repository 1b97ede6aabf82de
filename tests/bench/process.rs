//! CPU time and memory of processes, as Linux tells them in `/proc` (proc(5)).
//!
//! A thread's own time is told in nanoseconds (`schedstat`), which the short parts need; a whole
//! process, with the threads of it that have ended, only in ticks of 10 ms (`stat`), which is little
//! against the seconds that an agent runs.

use std::fs;
use std::thread;
use std::time::Duration;

/// Ticks a second of the times in `stat`: USER_HZ, a part of Linux's interface to programs.
const TICKS: u64 = 100;

/// Fields of `stat` behind the process's name, which may hold spaces and ends with the last bracket.
const USER_TIME: usize = 11;
const CHILDREN_USER_TIME: usize = 13;

/// CPU time of the calling thread.
pub(crate) fn thread_cpu() -> Duration {
    // The scheduler adds up what a thread has run when it switches or at a tick: let it do so now.
    thread::yield_now();
    let text = read("/proc/thread-self/schedstat");
    Duration::from_nanos(first_number(&text).expect("nanoseconds, with the kernel option CONFIG_SCHED_INFO"))
}

/// CPU time of a process, user and system, since it started.
pub(crate) fn process_cpu(pid: u32) -> Duration {
    times(&read(&format!("/proc/{pid}/stat")), USER_TIME)
}

/// CPU time of all children that ended and were waited for.
pub(crate) fn children_cpu() -> Duration {
    times(&read("/proc/self/stat"), CHILDREN_USER_TIME)
}

/// Resident memory of a process at this moment, in MiB.
pub(crate) fn resident_mib(pid: u32) -> f64 {
    memory_mib(pid, "VmRSS:")
}

/// Highest resident memory of a process since it started, or since [`reset_peak`], in MiB.
pub(crate) fn peak_mib(pid: u32) -> f64 {
    memory_mib(pid, "VmHWM:")
}

/// Lets [`peak_mib`] begin anew.
pub(crate) fn reset_peak(pid: u32) {
    fs::write(format!("/proc/{pid}/clear_refs"), "5").expect("the process is our child");
}

/// Two neighbouring fields: user and system time.
fn times(stat: &str, first: usize) -> Duration {
    let (_, fields) = stat.rsplit_once(')').expect("the name is in brackets");
    let fields = fields.split_whitespace().skip(first).take(2);
    let ticks: u64 = fields.map(|field| field.parse::<u64>().expect("a time is a number")).sum();
    Duration::from_millis(ticks * 1000 / TICKS)
}

fn memory_mib(pid: u32, field: &str) -> f64 {
    let status = read(&format!("/proc/{pid}/status"));
    let kib = status.lines().find_map(|line| first_number(line.strip_prefix(field)?));
    kib.unwrap_or_else(|| panic!("no {field} in the status of process {pid}")) as f64 / 1024.0
}

fn first_number(text: &str) -> Option<u64> {
    text.split_whitespace().next()?.parse().ok()
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"))
}
