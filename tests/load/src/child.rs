//! A local cloud in a process of its own: this very program, called with a
//! command that only it knows.
//!
//! It has its own descriptors, and it can be killed. It ends when its standard
//! input does, so that it does not outlive this process.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

use clap::Args;
use local::limits::Limits;
use tokio::signal::unix::{SignalKind, signal};

use crate::error::Error;

/// The command.
pub(crate) const COMMAND: &str = "serve-cloud";
/// How long it may take until it serves: tables are made, or logs of a killed
/// one are read.
const STARTS_WITHIN: Duration = Duration::from_secs(60);

/// How the cloud of a process is to be.
#[derive(Args, Clone, Debug, PartialEq)]
pub(crate) struct Serve {
    /// The API's port; 0 takes a free one
    #[arg(long)]
    pub(crate) port: u16,
    /// Where its data stays
    #[arg(long)]
    pub(crate) data_dir: Option<PathBuf>,
    /// The most environments of each function
    #[arg(long)]
    pub(crate) environments: u32,
    /// What its randomness begins with
    #[arg(long)]
    pub(crate) seed: u64,
    /// Lets nothing come out of streams and queues
    #[arg(long)]
    pub(crate) no_events: bool,
    /// The limits of the real services
    #[arg(long, require_equals = true)]
    pub(crate) aws_limits: Option<Limits>,
}

impl Serve {
    fn arguments(&self) -> Vec<std::ffi::OsString> {
        let mut arguments: Vec<std::ffi::OsString> = vec![
            COMMAND.into(),
            "--port".into(),
            self.port.to_string().into(),
            "--environments".into(),
            self.environments.to_string().into(),
            "--seed".into(),
            self.seed.to_string().into(),
        ];
        if let Some(folder) = &self.data_dir {
            arguments.extend(["--data-dir".into(), folder.into()]);
        }
        if self.no_events {
            arguments.push("--no-events".into());
        }
        if let Some(limits) = &self.aws_limits {
            arguments.push(format!("--aws-limits={limits}").into());
        }
        arguments
    }
}

/// A process that serves a cloud. It ends when this is dropped, since its
/// standard input does.
pub(crate) struct Process {
    serve: Serve,
    child: Child,
    /// Where the API answers.
    pub(crate) url: String,
    /// Where DynamoDB does.
    pub(crate) dynamodb_url: String,
}

impl Process {
    /// Starts one, and comes back when it serves.
    pub(crate) async fn start(serve: Serve) -> Result<Self, Error> {
        let started = tokio::task::spawn_blocking(move || start(serve));
        match tokio::time::timeout(STARTS_WITHIN, started).await {
            Ok(Ok(process)) => process,
            Ok(Err(error)) => Err(Error::Child(error.to_string())),
            Err(_) => Err(Error::Child(format!("it does not serve within {STARTS_WITHIN:?}"))),
        }
    }

    /// Ends it as the system ends a process that it cannot wait for.
    pub(crate) fn kill(&mut self) -> Result<(), Error> {
        self.child.kill().map_err(failed)?;
        // It is gone at once; only its end has to be taken note of.
        self.child.wait().map(drop).map_err(failed)
    }

    /// Starts another one in its place, with the same data at the same port.
    pub(crate) async fn start_again(&mut self) -> Result<(), Error> {
        *self = Self::start(self.serve.clone()).await?;
        Ok(())
    }

    /// Lets it end, when its last request is through.
    pub(crate) async fn stop(mut self) {
        drop(self.child.stdin.take());
        // How it ended does not matter any more.
        let _ = tokio::task::spawn_blocking(move || self.child.wait()).await;
    }
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::Child(error.to_string())
}

fn start(mut serve: Serve) -> Result<Process, Error> {
    let program = std::env::current_exe().map_err(failed)?;
    let mut child = Command::new(program)
        .args(serve.arguments())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        // A Ctrl-C on the terminal is for those who send.
        .process_group(0)
        .spawn()
        .map_err(failed)?;
    let output = child.stdout.take().ok_or_else(|| failed("no output"))?;
    match read_urls(BufReader::new(output)) {
        Some((url, dynamodb_url)) => {
            serve.port = port_of(&url).unwrap_or(serve.port);
            Ok(Process { serve, child, url, dynamodb_url })
        }
        None => {
            drop(child.stdin.take());
            let status = child.wait().map_err(failed)?;
            Err(Error::Child(format!("it ended with {status}")))
        }
    }
}

/// Where it says that the API and DynamoDB answer. `None` if it ended before.
fn read_urls(output: impl BufRead) -> Option<(String, String)> {
    let mut dynamodb_url = None;
    for line in output.lines().map_while(Result::ok) {
        match line.split_once(' ') {
            Some(("dynamodb", url)) => dynamodb_url = Some(url.to_owned()),
            Some(("ready", url)) => return Some((url.to_owned(), dynamodb_url?)),
            _ => {}
        }
    }
    None
}

fn port_of(url: &str) -> Option<u16> {
    url.rsplit(':').next()?.parse().ok()
}

/// What the process does.
pub(crate) fn serve(serve: Serve) -> ExitCode {
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => return crate::failed(&error),
    };
    let served = runtime.block_on(serve_until_told(serve));
    // Something may still read standard input, and needs not be waited for.
    runtime.shutdown_background();
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => crate::failed(&error),
    }
}

async fn serve_until_told(serve: Serve) -> Result<(), Error> {
    let mut terminate = signal(SignalKind::terminate())?;
    let port = serve.port;
    let served = local::Cloud::start(crate::cloud::options(serve)).await?.serve(port).await?;
    {
        let mut out = std::io::stdout().lock();
        writeln!(out, "dynamodb {}\nready {}", served.dynamodb_url(), served.url())?;
        out.flush()?;
    }
    let input_ends = tokio::task::spawn_blocking(|| {
        std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink())
    });
    tokio::select! {
        _ = terminate.recv() => {}
        _ = input_ends => {}
    }
    served.stop().await;
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::options::Options;

    #[test]
    fn the_process_understands_what_it_is_told() {
        for (data_dir, no_events) in [(None, true), (Some("a b".into()), false)] {
            let aws_limits = no_events.then(|| "lost=0.01".parse().unwrap());
            let serve =
                Serve { port: 9, data_dir, environments: 7, seed: 1, no_events, aws_limits };
            let words = [std::ffi::OsString::from("load")].into_iter().chain(serve.arguments());
            let options = Options::try_parse_from(words).unwrap();
            assert_eq!(options.serve(), Some(&serve));
        }
    }

    #[test]
    fn urls_are_read_once_it_is_ready() {
        let output = "dynamodb http://127.0.0.1:2\nsqs http://x\nready http://127.0.0.1:1\nmore";
        let urls = read_urls(output.as_bytes()).unwrap();
        assert_eq!(urls, ("http://127.0.0.1:1".to_owned(), "http://127.0.0.1:2".to_owned()));
        assert_eq!(port_of(&urls.0), Some(1));
        assert_eq!(read_urls("dynamodb http://127.0.0.1:2\n".as_bytes()), None);
    }
}
