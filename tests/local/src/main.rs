//! `cargo local`: the cloud on this machine, from a terminal.

use std::error::Error;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueEnum};
use local::limits::Limits;
use local::{Cloud, DevKey, Options, event};
use platform::auth::Role;
use platform::clock::Clock;
use platform::lambda::to_api_gateway;
use platform::telemetry;
use ticketing::ids::OrderId;
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

/// A request makes thousands of small allocations: this one takes a fifth less
/// time than the system's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Runs hotseat on this machine: DynamoDB, the HTTP API and every function in
/// one process.
#[derive(Parser)]
#[command(name = "cargo local", args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    serve: Serve,
}

#[derive(Subcommand)]
enum Command {
    /// Serves the API until it is told to stop (the default).
    Serve(Serve),
    /// Prints an access token.
    Token(Token),
    /// Prints a function's example event, with a token filled in.
    Event {
        /// The function, as in `enroll`.
        function: String,
    },
    /// Prints the public halves of signing keys: a value for the template's
    /// parameter `TokenKeys`.
    PublicKeys {
        /// Files, each with one Ed25519 private key in PEM.
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Runs a function once on an event and prints its answer.
    Invoke(Invoke),
    /// Tells a running local cloud of a payment, signed, and prints its answer.
    Pay(Pay),
}

#[derive(Args)]
struct Serve {
    /// The API's port; 0 takes a free one.
    #[arg(long, default_value_t = 9000)]
    port: u16,
    /// The address to listen at. Whoever reaches it can do anything here.
    #[arg(long, value_name = "ADDRESS", default_value_t = Ipv4Addr::LOCALHOST.into())]
    bind: IpAddr,
    /// Keeps the data in this folder across restarts.
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// The most execution environments of each function.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    environments: u32,
    /// Writes into this file the settings with which functions that run elsewhere
    /// find this cloud: `NAME='value'` lines.
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,
    /// Starts without courses and students.
    #[arg(long)]
    no_sample_data: bool,
    /// Keeps changes, messages and schedules from their functions.
    #[arg(long)]
    no_events: bool,
    /// The limits of the real services, and failures if they are named, as in
    /// partitions=40,lost=0.01.
    #[arg(long, value_name = "LIMITS", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    aws_limits: Option<Limits>,
    /// What random choices begin with; another one each time without.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

#[derive(Args)]
struct Token {
    /// The member's id.
    #[arg(long, value_name = "M", value_parser = member_id)]
    member: String,
    /// What the member may do.
    #[arg(long, value_enum, default_value_t = RoleName::Member)]
    role: RoleName,
    /// How long the token is valid.
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..=525_600))]
    minutes: u32,
}

#[derive(Args)]
struct Invoke {
    /// The function, as in `enroll`.
    function: String,
    /// The event's file.
    event: PathBuf,
    /// The data to run it on; sample data without.
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
}

#[derive(Args)]
struct Pay {
    /// The order's id.
    order: OrderId,
    /// What was paid, in the smallest unit of the currency.
    amount: u64,
    /// Where the API answers.
    #[arg(long, default_value = "http://127.0.0.1:9000")]
    url: String,
}

#[derive(Clone, Copy, ValueEnum)]
enum RoleName {
    Member,
    Staff,
}

impl From<RoleName> for Role {
    fn from(name: RoleName) -> Self {
        match name {
            RoleName::Member => Self::Member,
            RoleName::Staff => Self::Staff,
        }
    }
}

fn member_id(text: &str) -> Result<String, String> {
    if platform::auth::is_member_id(text) {
        return Ok(text.to_owned());
    }
    Err("expected 1 to 64 printable ASCII characters without #".to_owned())
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    log_to_stderr();
    let command = cli.command.unwrap_or(Command::Serve(cli.serve));
    match run(command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: {error}"); // nobody listens if it is closed
            ExitCode::FAILURE
        }
    }
}

fn log_to_stderr() {
    let filter = telemetry::filter_of_process("warn,local=info");
    let layer = tracing_subscriber::fmt::layer().with_writer(io::stderr);
    tracing_subscriber::registry().with(layer.with_filter(filter)).init();
}

fn run(command: Command) -> Result<(), Box<dyn Error>> {
    match command {
        Command::Serve(serve) => tokio::runtime::Runtime::new()?.block_on(serve_until_told(serve)),
        Command::Token(token) => {
            print(&signed(&token.member, token.role.into(), i64::from(token.minutes) * 60)?)
        }
        Command::Event { function } => {
            let (path, key) = (event::path(&function), DevKey::of_checkout()?);
            print(event::filled(&path, &key, Clock::System.now())?.trim_end())
        }
        Command::PublicKeys { files } => print(&local::public_keys(&files)?),
        Command::Invoke(invoke) => tokio::runtime::Runtime::new()?.block_on(run_once(&invoke)),
        Command::Pay(pay) => tokio::runtime::Runtime::new()?.block_on(pay_once(&pay)),
    }
}

fn signed(member_id: &str, role: Role, lifetime_s: i64) -> Result<String, local::KeyError> {
    let key = DevKey::of_checkout()?;
    Ok(key.token(member_id, role, Clock::System.now(), lifetime_s))
}

fn print(line: &str) -> Result<(), Box<dyn Error>> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()?;
    Ok(())
}

async fn serve_until_told(serve: Serve) -> Result<(), Box<dyn Error>> {
    let (mut interrupt, mut terminate) =
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let cloud = Cloud::start(Options {
        data_dir: serve.data_dir,
        environments: serve.environments,
        sample_data: !serve.no_sample_data,
        events: !serve.no_events,
        limits: serve.aws_limits,
        seed: serve.seed,
        ..Options::default()
    })
    .await?;
    let served = cloud.serve_at(serve.bind, serve.port).await?;
    if let Some(path) = &serve.settings {
        let written = std::fs::write(path, served.settings());
        written.map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    print(&format!("dynamodb {}", served.dynamodb_url()))?;
    print(&format!("sqs {}", served.sqs_url()))?;
    print(&format!("secrets {}", served.secrets_url()))?;
    print(&format!("ready {}", served.url()))?;
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    tracing::info!("stopping");
    tokio::select! {
        () = served.stop() => {}
        _ = interrupt.recv() => tracing::warn!("stopped with requests in flight"),
        _ = terminate.recv() => tracing::warn!("stopped with requests in flight"),
    }
    Ok(())
}

async fn run_once(invoke: &Invoke) -> Result<(), Box<dyn Error>> {
    let cloud = Cloud::start(Options {
        data_dir: invoke.data_dir.clone(),
        sample_data: invoke.data_dir.is_none(),
        ..Options::default()
    })
    .await?;
    let (function, path) = (&invoke.function, &invoke.event);
    let (key, now) = (DevKey::of_checkout()?, Clock::System.now());
    let answer = if cloud.takes_requests(function)? {
        let outcome = cloud.invoke(function, event::read(path, &key, now)?).await?;
        serde_json::to_value(to_api_gateway(outcome.response))?
    } else {
        cloud.invoke_event(function, event::read(path, &key, now)?).await?.response?
    };
    print(&serde_json::to_string_pretty(&answer)?)
}

async fn pay_once(pay: &Pay) -> Result<(), Box<dyn Error>> {
    let (key, now) = (DevKey::of_checkout()?, Clock::System.now());
    let sent = local::pay(&pay.url, &key, &pay.order, pay.amount, now).await;
    let (status, answer) = sent.map_err(|error| {
        let cause = error.source().map_or_else(|| error.to_string(), ToString::to_string);
        format!("no answer from {}: {cause}; run `cargo local`, or give its --url", pay.url)
    })?;
    print(&answer)?;
    if (200..300).contains(&status) { Ok(()) } else { Err(format!("answered {status}").into()) }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn parse(line: &str) -> Result<Cli, clap::Error> {
        Cli::try_parse_from(line.split(' '))
    }

    #[test]
    fn to_serve_is_what_is_done_without_a_command() {
        Cli::command().debug_assert();
        let serve = parse("local --port 0 --no-sample-data --no-events").unwrap().serve;
        assert!(serve.port == 0 && serve.no_sample_data && serve.no_events);
        assert!(serve.bind.is_loopback(), "nobody else gets in unless it is asked for");
        let bound = parse("local --bind 192.0.2.1").unwrap().serve;
        assert_eq!(bound.bind, IpAddr::from([192, 0, 2, 1]));
        let limits = |line| parse(line).unwrap().serve.aws_limits;
        assert_eq!(limits("local --aws-limits"), Some(Limits::default()));
        let told = limits("local --aws-limits=partitions=9,lost=0.01 --seed 1").unwrap();
        assert_eq!((told.partitions, told.lost), (9, 0.01));
        assert_eq!(limits("local --port 0"), None);
        let named = parse("local serve --environments 7").unwrap().command;
        assert!(matches!(named, Some(Command::Serve(Serve { environments: 7, port: 9000, .. }))));
    }

    #[test]
    fn wrong_usage_is_refused() {
        for line in [
            "local --port x",
            "local --bind x",
            "local --environments 0",
            "local --aws-limits=lost=2",
            "local --aws-limits=speed=1",
            "local token",
            "local token --member a#b",
            "local token --member a --role boss",
            "local event",
            "local invoke enroll",
            "local public-keys",
            "local pay",
            "local pay x 9000",
            "local pay 01941f29-7c00-7000-8000-000000000001",
            "local pay 01941f29-7c00-7000-8000-000000000001 90.00",
            "local fly",
        ] {
            assert_eq!(parse(line).err().unwrap().exit_code(), 2, "{line}");
        }
    }
}
