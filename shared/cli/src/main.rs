//! `tidemark`: the command line. One file per command under `commands/`.

mod arguments;
mod audit;
mod bench;
mod commands;
mod confirmation;
mod database;
mod doctor;
mod failure;
mod freshness;
mod http_server;
mod importing;
mod interrupt;
mod job_line;
mod job_status;
mod local_user;
mod near_miss;
mod output;
mod plot;
mod published;
mod refusal;
mod setting;
mod settings_change;
mod statements;
mod stats_screen;
mod status_screen;
mod table;
mod ticker;

use std::process::ExitCode;

use clap::Parser;

use crate::arguments::Arguments;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    output::init_logging(arguments.verbose);
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failure::report(&anyhow::Error::new(error)),
    };
    match runtime.block_on(commands::run(arguments)) {
        Ok(code) => code,
        Err(error) => failure::report(&error),
    }
}
