//! `tidemark status`: what the system is doing, and first what needs attention.

use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use std::time::Duration;

use serde_json::Value;
use tidemark_queue::Connection;
use tidemark_status::Document;
use tokio::time::MissedTickBehavior;

use crate::database::Source;
use crate::output::{Output, for_terminals};
use crate::refusal::explain_queue;
use crate::status_screen;

/// How often `--watch` looks.
const LOOK: Duration = Duration::from_secs(1);

/// Options of `tidemark status`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    tidemark status --watch\n  \
    tidemark status --json | jq .queue")]
pub(crate) struct Options {
    /// Look again every second until Ctrl-C (with --json: one document per line)
    #[arg(long)]
    watch: bool,
}

/// Runs the command.
pub(crate) async fn run(options: &Options, source: &Source, output: Output) -> anyhow::Result<ExitCode> {
    let database = source.open()?;
    let mut connection = database.worker("status-command")?;
    if options.watch {
        watch(&mut connection, output).await?;
    } else {
        let value = tidemark_status::read(&mut connection).await.map_err(explain_queue)?;
        let document = Document::from_value(&value)?;
        output.answer(&value, || status_screen::draw(&document))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Draws the screen anew every second. A database that is away is said so on the screen and tried again.
async fn watch(connection: &mut Connection, output: Output) -> anyhow::Result<()> {
    // The first look fails as the plain command would: a wrong address is not worth watching.
    let mut value = Ok(tidemark_status::read(connection).await.map_err(explain_queue)?);
    let mut looks = tokio::time::interval(LOOK);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    looks.tick().await;
    // Once for all looks: an interrupt between two of them counts as well.
    let mut interrupted = std::pin::pin!(tokio::signal::ctrl_c());
    let mut screen = Screen::open(output);
    loop {
        if screen.show(&value)? == Reader::Gone {
            return Ok(());
        }
        tokio::select! {
            outcome = &mut interrupted => return Ok(outcome?),
            read = async {
                looks.tick().await;
                tidemark_status::read(connection).await
            } => value = read,
        }
    }
}

/// Whether anybody still reads what is written.
#[derive(Debug, PartialEq, Eq)]
enum Reader {
    There,
    Gone,
}

/// Where `--watch` draws: in place on a terminal, one screen after the other elsewhere.
struct Screen {
    json: bool,
    in_place: bool,
}

impl Screen {
    fn open(output: Output) -> Self {
        let in_place = !output.is_json() && std::io::stdout().is_terminal();
        if in_place {
            // The other screen, without the cursor: what stood on the terminal is there again afterwards.
            print!("\x1b[?1049h\x1b[?25l");
        }
        Self { json: output.is_json(), in_place }
    }

    fn show(&mut self, value: &Result<Value, tidemark_queue::Error>) -> anyhow::Result<Reader> {
        let text = match value {
            Ok(value) if self.json => format!("{value}\n"),
            Ok(value) => frame(value, self.in_place)?,
            Err(error) => {
                eprintln!("{error}; trying again every second");
                return Ok(Reader::There);
            }
        };
        let mut stdout = std::io::stdout().lock();
        match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
            Ok(()) => Ok(Reader::There),
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(Reader::Gone),
            Err(error) => Err(error.into()),
        }
    }
}

/// One drawing of the screen. `in_place`: over the one before.
fn frame(value: &Value, in_place: bool) -> anyhow::Result<String> {
    let screen = for_terminals(&status_screen::draw(&Document::from_value(value)?));
    let text = format!("{screen}\n\nCtrl-C ends this.\n");
    // Lines are overwritten, each cleared behind its end, and what is below the last goes: nothing flickers.
    Ok(if in_place { format!("\x1b[H{}\x1b[J", text.replace('\n', "\x1b[K\n")) } else { text })
}

impl Drop for Screen {
    fn drop(&mut self) {
        if self.in_place {
            print!("\x1b[?25h\x1b[?1049l");
            // Nothing is left to do where the terminal is gone.
            let _flushed = std::io::stdout().flush();
        }
    }
}

#[cfg(test)]
mod tests {
    use tidemark_testkit::TestDatabase;

    use super::*;

    #[tokio::test]
    async fn a_note_cannot_steer_the_terminal_of_whoever_watches() {
        let database = TestDatabase::new().await;
        let admin = database.admin().await;
        let pause = "UPDATE public.stats_projection_worker_settings SET claim_enabled = false, note = $1";
        admin.execute(pause, &[&"before\u{1b}[2Jafter\u{9b}31m"]).await.expect("a note may hold anything");
        let value = tidemark_queue::status::read(&admin).await.expect("there is a document");
        for in_place in [false, true] {
            let drawn = frame(&value, in_place).expect("the document can be drawn");
            let own = ["\x1b[H", "\x1b[K", "\x1b[J"].iter().fold(drawn, |text, sequence| text.replace(sequence, ""));
            assert!(own.contains("before\u{fffd}[2Jafter\u{fffd}31m"), "{own:?}");
            assert!(!own.contains(['\u{1b}', '\u{9b}']), "{own:?}");
        }
    }
}
