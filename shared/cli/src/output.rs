//! Where words and documents go: documents and tables to stdout, everything else to stderr.

use std::io::Write as _;

use serde::Serialize;
use tracing_subscriber::EnvFilter;

/// How the command answers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    json: bool,
}

impl Output {
    /// Answers as JSON, or for people.
    pub(crate) fn new(json: bool) -> Self {
        Self { json }
    }

    /// Whether one JSON document is wanted.
    pub(crate) fn is_json(self) -> bool {
        self.json
    }

    /// Prints `document` as JSON, or what `text` makes for people.
    pub(crate) fn answer<T: Serialize>(self, document: &T, text: impl FnOnce() -> String) -> anyhow::Result<()> {
        let answer = if self.json { serde_json::to_string_pretty(document)? } else { for_terminals(&text()) };
        match writeln!(std::io::stdout(), "{answer}") {
            // Whoever reads has had enough, as `head` has.
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
            other => Ok(other?),
        }
    }

    /// A line for the person who watches; never on stdout.
    pub(crate) fn note(self, line: &str) {
        eprintln!("{}", for_terminals(line));
    }
}

/// Names and notes come from people: no control character of theirs reaches the terminal, nor one that turns the direction of
/// what follows it. Line breaks stay.
pub(crate) fn for_terminals(text: &str) -> String {
    let controls = |character: char| {
        character.is_control() && character != '\n'
            || matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars().map(|character| if controls(character) { '\u{fffd}' } else { character }).collect()
}

/// Logs go to stderr; warnings only, unless asked for.
pub(crate) fn init_logging(verbose: u8) {
    let default = match verbose {
        0 => "error",
        1 => "info",
        _ => "debug",
    };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_unset| EnvFilter::new(default));
    // A second subscriber in the same process would be an error of ours; the first one then stays.
    let _already_set = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).try_init();
}

#[cfg(test)]
mod tests {
    use super::for_terminals;

    #[test]
    fn no_control_character_but_the_line_break_and_no_turn_of_direction_reaches_the_terminal() {
        assert_eq!(for_terminals("\u{202e}tauqS\u{2066}"), "\u{fffd}tauqS\u{fffd}");
        assert_eq!(for_terminals("Squat\u{1b}[2J\u{9b}1m\r\nBench"), "Squat\u{fffd}[2J\u{fffd}1m\u{fffd}\nBench");
    }
}
