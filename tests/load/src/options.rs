//! What can be said on the command line.

use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser, Subcommand};

use crate::peer;
use crate::scenarios::hot_course::{MOST, Shape};

/// Users that a local cloud in the same process can serve: both ends of every
/// connection are descriptors of one process.
const MOST_USERS_IN_PROCESS: usize = 5_000;
/// How often each student asks for the same course with `--repeat`.
const REPEATS: usize = 3;

/// Sends load to hotseat and checks what must be true afterwards.
#[derive(Debug, Parser)]
#[command(name = "cargo load", bin_name = "cargo load")]
pub(crate) struct Options {
    /// The scenario.
    #[command(subcommand)]
    pub(crate) scenario: Scenario,
}

/// A scenario with its options.
#[derive(Debug, Subcommand)]
pub(crate) enum Scenario {
    /// Everybody enrolls in the same course.
    HotCourse(HotCourse),
}

/// Options of `hot-course`.
#[derive(Debug, Args)]
pub(crate) struct HotCourse {
    /// Seats of all courses together; fewer than students sells out
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    seats: u64,
    /// Students, each with a member of its own
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    students: usize,
    /// Courses that the seats and the students are spread over
    #[arg(long, value_name = "N", default_value_t = 1)]
    courses: usize,
    /// Lets each student ask for the same course three times
    #[arg(long)]
    repeat: bool,
    /// Sends the same enrollments to the peer afterwards, and compares
    #[arg(long, value_name = "URL")]
    pub(crate) peer: Option<String>,
    /// Measures what the database alone carries, and compares
    #[arg(long)]
    pub(crate) ceiling: bool,
    /// What every scenario takes.
    #[command(flatten)]
    pub(crate) common: Common,
}

/// Options of every scenario.
#[derive(Debug, Args)]
pub(crate) struct Common {
    /// Users at the same time
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) users: usize,
    /// Stops the measured phase after so many seconds
    #[arg(long, value_name = "N")]
    pub(crate) seconds: Option<u64>,
    /// Where the API answers; without it, a local cloud is started
    #[arg(long, conflicts_with_all = ["data_dir", "environments"])]
    pub(crate) url: Option<String>,
    /// Ed25519 private key in PEM that signs the tokens [default: this checkout's]
    #[arg(long, value_name = "FILE", requires = "url")]
    pub(crate) token_key: Option<PathBuf>,
    /// Keeps the data of the local cloud in this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// The most environments of each function of the local cloud
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) environments: u32,
    /// What random choices begin with [default: another one each time]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Writes the report to this file as JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

impl Options {
    /// Reads the command line. On wrong usage, says so and exits with 2.
    pub(crate) fn from_command_line() -> Self {
        let options = Self::parse();
        if let Err(wrong) = options.check() {
            Self::command().error(ErrorKind::ValueValidation, wrong).exit();
        }
        options
    }

    fn check(&self) -> Result<(), String> {
        match &self.scenario {
            Scenario::HotCourse(hot_course) => hot_course.check(),
        }
    }
}

impl HotCourse {
    /// The size of the run.
    pub(crate) fn shape(&self) -> Shape {
        let Self { students, seats, courses, repeat, .. } = *self;
        Shape { students, seats, courses, repeats: if repeat { REPEATS } else { 1 } }
    }

    fn check(&self) -> Result<(), String> {
        let (students, courses) = (self.students as u64, self.courses as u64);
        if !(1..=MOST).contains(&self.students) {
            return Err(format!("--students must be from 1 to {MOST}"));
        }
        if self.seats == 0 {
            return Err("--seats must be at least 1".into());
        }
        if courses == 0 || courses > students || courses > self.seats {
            return Err("--courses must be at least 1, and at most --students and --seats".into());
        }
        if self.seats.div_ceil(courses) > 1_000_000 {
            return Err("--seats must be at most 1000000 for each of --courses".into());
        }
        let is_plain = courses == 1 && !self.repeat && self.seats >= students;
        if self.peer.is_some() && !(is_plain && students <= peer::STUDENTS) {
            let most = peer::STUDENTS;
            return Err(format!(
                "--peer compares one course with a seat for each of at most {most} students: \
                 leave --courses and --repeat out, and raise --seats"
            ));
        }
        self.common.check()
    }
}

impl Common {
    fn check(&self) -> Result<(), String> {
        if self.users == 0 {
            return Err("--users must be at least 1".into());
        }
        if self.url.is_none() && self.users > MOST_USERS_IN_PROCESS {
            return Err(format!(
                "more than {MOST_USERS_IN_PROCESS} users need a process for the server: start \
                 `cargo local --no-sample-data` and name it with --url"
            ));
        }
        let is_http = |url: &String| url.starts_with("http://") || url.starts_with("https://");
        if !self.url.iter().all(is_http) {
            return Err("--url must begin with http:// or https://".into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(arguments: &str) -> Result<(), String> {
        let words = ["load", "hot-course"].into_iter().chain(arguments.split_whitespace());
        let options = Options::try_parse_from(words).map_err(|error| error.to_string())?;
        options.check()
    }

    #[test]
    fn what_the_contract_names_is_taken() {
        for good in [
            "",
            "--seats 100",
            "--courses 50",
            "--repeat --seconds 5 --seed 1 --json r.json --data-dir d",
            "--url http://127.0.0.1:9000 --token-key k --users 20000",
            "--peer http://127.0.0.1:8081 --ceiling",
        ] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
    }

    #[test]
    fn wrong_usage_is_refused_with_the_remedy() {
        for (bad, remedy) in [
            ("--users 0", "at least 1"),
            ("--users 5001", "--url"),
            ("--courses 0", "at least 1"),
            ("--courses 50 --seats 49", "at most"),
            ("--students 0", "from 1"),
            ("--seats 1000001", "at most 1000000"),
            ("--url ftp://x", "http://"),
            ("--token-key k", "--url"),
            ("--url http://x --data-dir d", "cannot be used with"),
            ("--peer http://x --seats 100", "raise --seats"),
            ("--nonsense", "unexpected argument"),
        ] {
            let message = check(bad).unwrap_err();
            assert!(message.contains(remedy), "{bad}: {message}");
        }
    }
}
