//! `cargo load`: sends a scenario's load to hotseat, checks what must be true
//! afterwards, and reports how fast it was and what it cost.
//!
//! `cargo load compare` compares two such reports.
//!
//! Exits with 1 when an invariant is broken or the run could not be made, and
//! with 2 when it was called wrongly.

mod backlog;
mod call;
mod caller;
mod ceiling;
mod child;
mod cloud;
mod compare;
mod direct;
mod error;
mod invariants;
mod options;
mod over_time;
mod page;
mod peer;
mod progress;
mod record;
mod report;
mod run;
mod scenarios;
mod simulation;
mod status;
mod stripes;
mod users;
mod way;
mod wire;

use std::io::Write;
use std::process::ExitCode;

use options::Options;

/// The one that `cargo local` has, since a cloud of one's own runs in here.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What clap exits with, too.
const WRONG_USAGE: u8 = 2;

fn main() -> ExitCode {
    let options = Options::from_command_line();
    if let Some(serve) = options.serve() {
        return child::serve(serve.clone());
    }
    let runtime =
        if options.is_simulated() { simulation::runtime() } else { tokio::runtime::Runtime::new() };
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return failed(&error),
    };
    match runtime.block_on(run::run(options)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) if error.is_wrong_usage() => {
            say(&error);
            ExitCode::from(WRONG_USAGE)
        }
        Err(error) => failed(&error),
    }
}

fn failed(error: &dyn std::error::Error) -> ExitCode {
    say(error);
    ExitCode::FAILURE
}

fn say(error: &dyn std::error::Error) {
    // Nobody can be told that standard error is closed.
    let _ = writeln!(std::io::stderr().lock(), "error: {error}");
}
