//! What other processes are doing: through `/proc` where there is one, else through `ps`.

use std::fs;
use std::path::Path;
use std::process::Command;

use rustix::process::{Pid, Signal, kill_process};

/// One row of the process table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Process {
    pub(crate) number: u32,
    pub(crate) parent: u32,
    /// Ended, but nobody has waited for it.
    pub(crate) zombie: bool,
}

/// Sends a signal. A process that is gone or not ours is left alone.
pub(crate) fn signal(number: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(number).ok().and_then(Pid::from_raw) {
        let outcome = kill_process(pid, signal);
        tracing::trace!(number, ?signal, ?outcome, "signalled");
    }
}

/// Whether the process runs; one that ended and was not waited for does not.
pub(crate) fn is_alive(number: u32) -> bool {
    find(number).is_some_and(|process| !process.zombie)
}

/// Whether the process table has the number at all. PostgreSQL's own test of a stale lock file sees no more than this.
pub(crate) fn is_listed(number: u32) -> bool {
    find(number).is_some()
}

/// The live children of a process.
pub(crate) fn children(parent: u32) -> Vec<u32> {
    table()
        .into_iter()
        .filter(|process| process.parent == parent && !process.zombie)
        .map(|found| found.number)
        .collect()
}

/// The live processes that work in `directory`, as a postmaster and all its children do in their data folder.
///
/// Without `/proc` only `candidate` is looked at, by its command line.
pub(crate) fn working_in(directory: &Path, candidate: Option<u32>) -> Vec<u32> {
    if !has_proc() {
        return candidate.into_iter().filter(|&number| is_alive(number) && names(number, directory)).collect();
    }
    let Ok(directory) = fs::canonicalize(directory) else { return Vec::new() };
    let works_there = |number: u32| fs::read_link(format!("/proc/{number}/cwd")).is_ok_and(|found| found == directory);
    table()
        .into_iter()
        .filter(|process| !process.zombie && works_there(process.number))
        .map(|found| found.number)
        .collect()
}

fn names(number: u32, directory: &Path) -> bool {
    let output = Command::new("ps").args(["-o", "command=", "-p", &number.to_string()]).output();
    output.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains(&*directory.to_string_lossy()))
}

fn has_proc() -> bool {
    Path::new("/proc/self/stat").exists()
}

fn find(number: u32) -> Option<Process> {
    if has_proc() {
        return parse_stat(&fs::read_to_string(format!("/proc/{number}/stat")).ok()?);
    }
    table().into_iter().find(|process| process.number == number)
}

fn table() -> Vec<Process> {
    if has_proc() {
        let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
        let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
        return numbers
            .filter_map(|number| parse_stat(&fs::read_to_string(format!("/proc/{number}/stat")).ok()?))
            .collect();
    }
    let output = Command::new("ps").args(["-A", "-o", "pid=,ppid=,stat="]).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    text.lines().filter_map(parse_ps).collect()
}

/// `number (name) state parent …`; the name may hold spaces and parentheses, so the last one closes it.
fn parse_stat(text: &str) -> Option<Process> {
    let number = text.split(' ').next()?.parse().ok()?;
    let mut fields = text.get(text.rfind(')')? + 1..)?.split_ascii_whitespace();
    let state = fields.next()?;
    Some(Process { number, parent: fields.next()?.parse().ok()?, zombie: matches!(state, "Z" | "X") })
}

fn parse_ps(line: &str) -> Option<Process> {
    let mut fields = line.split_ascii_whitespace();
    let number = fields.next()?.parse().ok()?;
    let parent = fields.next()?.parse().ok()?;
    Some(Process { number, parent, zombie: fields.next()?.starts_with('Z') })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_name_with_parentheses_does_not_hide_the_state() {
        let process = parse_stat("42 (od) (d name) Z 7 42 42").expect("the line is well formed");
        assert_eq!((process.number, process.parent, process.zombie), (42, 7, true));
    }

    #[test]
    fn a_child_is_alive_until_it_ends_and_listed_until_it_is_waited_for() {
        let mut child = Command::new("cat").stdin(std::process::Stdio::piped()).spawn().expect("cat starts");
        assert!(is_alive(child.id()));
        assert!(children(std::process::id()).contains(&child.id()));
        signal(child.id(), Signal::KILL);
        assert!(crate::deadline::holds_within(std::time::Duration::from_secs(5), || !is_alive(child.id())));
        assert!(is_listed(child.id()), "a zombie keeps its number");
        child.wait().expect("the child is ours");
        assert!(!is_listed(child.id()));
    }
}
