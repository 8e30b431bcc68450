//! What can be said on the command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser, Subcommand};

use local::limits::Limits;

use crate::caller::Think;
use crate::child::{self, Serve};
use crate::peer;
use crate::scenarios::herd::Target;
use crate::scenarios::hot_course::{MOST, Shape};
use crate::scenarios::{mixed_flow, popular_posts, ticket_open};
use crate::simulation;

/// Users that a local cloud in the same process can serve: both ends of every
/// connection are descriptors of one process.
const MOST_USERS_IN_PROCESS: usize = 5_000;
/// Users that one process can play: it has 20,000 descriptors, one for each
/// connection, and some for everything else.
const MOST_USERS: usize = 19_000;
/// Users that a simulation plays.
const MOST_SIMULATED_USERS: usize = 200_000;
/// The most environments of each function, unless said otherwise.
const ENVIRONMENTS: u32 = 50;
/// How often each student asks for the same course with `--repeat`.
const REPEATS: usize = 3;
/// Users of `hot-course`, unless said otherwise.
const HOT_COURSE_USERS: usize = 100;
/// Users of `mixed-flow`, unless said otherwise.
const MIXED_FLOW_USERS: usize = 90;
/// The most users that arrive within the shorter ramp.
const FEW_USERS: usize = 90;
/// How long it takes until few users have arrived.
const RAMP_OF_FEW: Duration = Duration::from_secs(60);
/// How long it takes until more have.
const RAMP_OF_MANY: Duration = Duration::from_secs(120);
/// Users of `popular-posts`, unless said otherwise.
const POPULAR_POSTS_USERS: usize = 1_000;
/// How long they read, in seconds.
const POPULAR_POSTS_SECONDS: u64 = 30;
/// Posts of `popular-posts`.
const POSTS: usize = 100_000;
/// Posts that are created through an API whose tables nobody can write to.
const POSTS_BY_API: usize = 500;
/// The most posts of one run.
const MOST_POSTS: usize = 1_000_000;
/// Users of `home`, unless said otherwise.
const HOME_USERS: usize = 100;
/// How long they go on, in seconds.
const HOME_SECONDS: u64 = 30;
/// Users of `ticket-open`, unless said otherwise.
const TICKET_OPEN_USERS: usize = 5_000;
/// Users of `herd`, unless said otherwise.
const HERD_USERS: usize = 1_000;
/// The most members whom a match can admit each second.
const MOST_RATE: u32 = 100_000;
/// The most changes of one `relay` run.
const MOST_EVENTS: usize = 1_000_000;

/// What `compare` exits with.
const COMPARE_EXITS: &str = "\
Exits with 0 if every invariant of both runs held, however their figures compare; with 1 if one is
broken in either, since the figures of a run that lost something count for nothing; and with 2 if a
file is no report, or the two are of different scenarios.";

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
    /// Users create and update schedules, and everything is told.
    MixedFlow(MixedFlow),
    /// Everybody reads the same few posts of many.
    PopularPosts(PopularPosts),
    /// Everybody opens home, and marks and checks the same announcements.
    Home(Home),
    /// A sale opens on the second, and everybody wants seats.
    TicketOpen(TicketOpen),
    /// Everybody does the same thing at the same moment, once.
    Herd(Herd),
    /// The relay alone turns changes into messages.
    Relay(Relay),
    /// All five systems at once in simulated time, with failures and deaths.
    Hour(Hour),
    /// Compares two runs of a scenario by their JSON reports: b ÷ a.
    #[command(after_help = COMPARE_EXITS)]
    Compare(Compare),
    /// Serves a local cloud to the process that started this one.
    #[command(name = child::COMMAND, hide = true)]
    ServeCloud(Serve),
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
    /// Tells nobody: a local cloud in which streams and queues stand still
    #[arg(long, conflicts_with = "url")]
    pub(crate) no_events: bool,
    /// Spreads the seats of each course over so many stripes, instead of as many as are right
    #[arg(long, value_name = "N", conflicts_with = "url", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub(crate) stripes: Option<u32>,
    /// Sends the same enrollments to the peer afterwards, and compares
    #[arg(long, value_name = "URL", conflicts_with = "simulate")]
    pub(crate) peer: Option<String>,
    /// Measures what the database alone carries, and compares
    #[arg(long, conflicts_with = "simulate")]
    pub(crate) ceiling: bool,
    /// What every scenario takes.
    #[command(flatten)]
    pub(crate) common: Common,
}

/// Options of `mixed-flow`.
#[derive(Debug, Args)]
pub(crate) struct MixedFlow {
    /// How often each user creates or updates a schedule
    #[arg(long, value_name = "N", default_value_t = 100)]
    loops: usize,
    /// Seconds between an answer and the next request: 0, or from A to B
    #[arg(long, value_name = "A..B", default_value = "1..5", value_parser = think)]
    think: Think,
    /// Seconds until all users have arrived; 0 is all at once [default: 60, or 120 above 90 users]
    #[arg(long, value_name = "SECONDS")]
    ramp: Option<u64>,
    /// Kills the local cloud in this second of the load, and starts it again
    #[arg(long, value_name = "SECOND", conflicts_with_all = ["url", "simulate"])]
    pub(crate) kill_at: Option<u64>,
    /// What every scenario takes.
    #[command(flatten)]
    pub(crate) common: Common,
}

/// Options of `popular-posts`.
#[derive(Debug, Args)]
pub(crate) struct PopularPosts {
    /// Posts; a --data-dir keeps them, and with --url they are created through the API in every run [default: 100000, or 500 with --url]
    #[arg(long, value_name = "N")]
    posts: Option<usize>,
    /// Which part of the reads goes to a handful of hot posts, from 0 to 1
    #[arg(long, value_name = "PART", default_value_t = 0.8)]
    hot: f64,
    /// What every scenario takes.
    #[command(flatten)]
    pub(crate) common: Common,
}

/// Options of `home`.
#[derive(Debug, Args)]
pub(crate) struct Home {
    /// What every scenario takes.
    #[command(flatten)]
    pub(crate) common: Common,
}

/// Options of `ticket-open`.
#[derive(Debug, Args)]
pub(crate) struct TicketOpen {
    /// Seats of the match, in 40 blocks
    #[arg(long, value_name = "N", default_value_t = 8_000)]
    seats: u32,
    /// Members who are admitted each second
    #[arg(long, value_name = "N", default_value_t = 200)]
    rate: u32,
    /// What every scenario takes.
    #[command(flatten)]
    pub(crate) common: Common,
}

/// Options of `herd`.
#[derive(Debug, Args)]
pub(crate) struct Herd {
    /// What everybody wants
    pub(crate) target: Target,
    /// Spreads its counter over so many stripes from the beginning, instead of as many as are right
    #[arg(long, value_name = "N", conflicts_with = "url", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub(crate) stripes: Option<u32>,
    /// Adds nothing up: a local cloud in which streams and queues stand still, so that the stripes stay as many
    #[arg(long, conflicts_with = "url")]
    pub(crate) no_events: bool,
    /// What every scenario takes.
    #[command(flatten)]
    pub(crate) common: Common,
}

/// Options of `relay`.
#[derive(Debug, Args)]
pub(crate) struct Relay {
    /// Changes that wait in the stream
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    pub(crate) events: usize,
    /// What every scenario takes.
    #[command(flatten)]
    pub(crate) common: Common,
}

/// Options of `hour`.
#[derive(Debug, Args)]
pub(crate) struct Hour {
    /// How long the load lasts
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u32).range(2..=600))]
    pub(crate) minutes: u32,
    /// What every scenario takes.
    #[command(flatten)]
    pub(crate) common: Common,
}

/// What is compared, and where that is written to.
#[derive(Debug, Args)]
pub(crate) struct Compare {
    /// The JSON report of the run to compare with
    #[arg(value_name = "A.json")]
    pub(crate) a: PathBuf,
    /// That of the run to compare
    #[arg(value_name = "B.json")]
    pub(crate) b: PathBuf,
    /// Writes the comparison to this file as a page with both runs in the same plots
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}

/// Options of every scenario.
#[derive(Debug, Args)]
pub(crate) struct Common {
    /// Users at the same time [default: 100, in mixed-flow 90, in popular-posts 1000, in ticket-open 5000, in herd 1000]
    #[arg(long, value_name = "N")]
    users: Option<usize>,
    /// Stops the measured phase after so many seconds [default: in popular-posts and home 30, else never]
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
    /// The most environments of each function of the local cloud [default: 50, with --simulate 1000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) environments: Option<u32>,
    /// Sets the limits of the real services, and failures if they are named, as in partitions=40,lost=0.01
    #[arg(long, value_name = "LIMITS", num_args = 0..=1, require_equals = true, default_missing_value = "", conflicts_with = "url")]
    pub(crate) aws_limits: Option<Limits>,
    /// Runs in simulated time, with those limits: waiting costs nothing, and a seed gives the same figures each time
    #[arg(long, conflicts_with = "url")]
    pub(crate) simulate: bool,
    /// What random choices begin with [default: another one each time]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Writes the report to this file as JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Writes the report to this file as a page with plots
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
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

    /// What every scenario takes. `None` if there is none.
    pub(crate) fn common(&self) -> Option<&Common> {
        match &self.scenario {
            Scenario::HotCourse(options) => Some(&options.common),
            Scenario::MixedFlow(options) => Some(&options.common),
            Scenario::PopularPosts(options) => Some(&options.common),
            Scenario::Home(options) => Some(&options.common),
            Scenario::TicketOpen(options) => Some(&options.common),
            Scenario::Herd(options) => Some(&options.common),
            Scenario::Relay(options) => Some(&options.common),
            Scenario::Hour(options) => Some(&options.common),
            Scenario::Compare(_) | Scenario::ServeCloud(_) => None,
        }
    }

    /// Whether time is simulated.
    pub(crate) fn is_simulated(&self) -> bool {
        let is_hour = matches!(self.scenario, Scenario::Hour(_));
        is_hour || self.common().is_some_and(|common| common.simulate)
    }

    /// The cloud to serve, if that is what was said.
    pub(crate) fn serve(&self) -> Option<&Serve> {
        match &self.scenario {
            Scenario::ServeCloud(serve) => Some(serve),
            Scenario::HotCourse(_)
            | Scenario::MixedFlow(_)
            | Scenario::PopularPosts(_)
            | Scenario::Home(_)
            | Scenario::TicketOpen(_)
            | Scenario::Herd(_)
            | Scenario::Relay(_)
            | Scenario::Hour(_)
            | Scenario::Compare(_) => None,
        }
    }

    fn check(&self) -> Result<(), String> {
        match &self.scenario {
            Scenario::HotCourse(hot_course) => hot_course.check(),
            Scenario::MixedFlow(mixed_flow) => mixed_flow.check(),
            Scenario::PopularPosts(popular_posts) => popular_posts.check(),
            Scenario::Home(home) => home.check(),
            Scenario::TicketOpen(ticket_open) => ticket_open.check(),
            Scenario::Herd(herd) => herd.common.check(herd.users()),
            Scenario::Relay(relay) => relay.check(),
            Scenario::Hour(hour) => hour.check(),
            Scenario::Compare(_) | Scenario::ServeCloud(_) => Ok(()),
        }
    }
}

impl HotCourse {
    /// How many users there are.
    pub(crate) fn users(&self) -> usize {
        self.common.users.unwrap_or(HOT_COURSE_USERS)
    }

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
        self.common.check(self.users())
    }
}

impl MixedFlow {
    /// How many users there are.
    pub(crate) fn users(&self) -> usize {
        self.common.users.unwrap_or(MIXED_FLOW_USERS)
    }

    /// The size of the run.
    pub(crate) fn shape(&self) -> mixed_flow::Shape {
        let users = self.users();
        let usual = if users <= FEW_USERS { RAMP_OF_FEW } else { RAMP_OF_MANY };
        let ramp = self.ramp.map_or(usual, Duration::from_secs);
        mixed_flow::Shape { users, loops: self.loops, think: self.think, ramp }
    }

    fn check(&self) -> Result<(), String> {
        if self.loops == 0 {
            return Err("--loops must be at least 1".into());
        }
        if self.shape().slots_per_account() > mixed_flow::MOST_SLOTS {
            let most = mixed_flow::MOST_SLOTS;
            return Err(format!(
                "lower --loops or --users: each account has {most} time slots, and a user needs \
                 one for each loop"
            ));
        }
        self.common.check(self.users())
    }
}

impl PopularPosts {
    /// How many users there are.
    pub(crate) fn users(&self) -> usize {
        self.common.users.unwrap_or(POPULAR_POSTS_USERS)
    }

    /// The size of the run.
    pub(crate) fn shape(&self) -> popular_posts::Shape {
        let usual = if self.common.url.is_some() { POSTS_BY_API } else { POSTS };
        let time = Duration::from_secs(self.common.seconds.unwrap_or(POPULAR_POSTS_SECONDS));
        popular_posts::Shape { posts: self.posts.unwrap_or(usual), hot: self.hot, time }
    }

    fn check(&self) -> Result<(), String> {
        let shape = self.shape();
        if !(1..=MOST_POSTS).contains(&shape.posts) {
            return Err(format!("--posts must be from 1 to {MOST_POSTS}"));
        }
        if !(0.0..=1.0).contains(&shape.hot) {
            return Err("--hot must be from 0 to 1: 0.8 are eight of ten reads".into());
        }
        if shape.time.is_zero() {
            return Err("--seconds must be at least 1".into());
        }
        self.common.check(self.users())
    }
}

impl Home {
    /// How many users there are.
    pub(crate) fn users(&self) -> usize {
        self.common.users.unwrap_or(HOME_USERS)
    }

    /// How long they go on.
    pub(crate) fn time(&self) -> Duration {
        Duration::from_secs(self.common.seconds.unwrap_or(HOME_SECONDS))
    }

    fn check(&self) -> Result<(), String> {
        if self.time().is_zero() {
            return Err("--seconds must be at least 1".into());
        }
        self.common.check(self.users())
    }
}

impl TicketOpen {
    /// How many users there are.
    pub(crate) fn users(&self) -> usize {
        self.common.users.unwrap_or(TICKET_OPEN_USERS)
    }

    /// The size of the run.
    pub(crate) fn shape(&self) -> ticket_open::Shape {
        ticket_open::Shape { seats: self.seats, rate: self.rate }
    }

    fn check(&self) -> Result<(), String> {
        let seats = ticket_open::Shape::SEATS;
        if !seats.contains(&self.seats) {
            return Err(format!("--seats must be from {} to {}", seats.start(), seats.end()));
        }
        if !(1..=MOST_RATE).contains(&self.rate) {
            return Err(format!("--rate must be from 1 to {MOST_RATE}"));
        }
        self.common.check(self.users())
    }
}

impl Herd {
    /// How many users there are.
    pub(crate) fn users(&self) -> usize {
        self.common.users.unwrap_or(HERD_USERS)
    }
}

impl Relay {
    fn check(&self) -> Result<(), String> {
        if !(1..=MOST_EVENTS).contains(&self.events) {
            return Err(format!("--events must be from 1 to {MOST_EVENTS}"));
        }
        let Common { url, users, seconds, aws_limits, simulate, .. } = &self.common;
        if url.is_some()
            || users.is_some()
            || seconds.is_some()
            || aws_limits.is_some()
            || *simulate
        {
            return Err("relay runs alone in a local cloud of its own: leave --url, --users, \
                 --seconds, --aws-limits and --simulate out"
                .into());
        }
        self.common.check(1)
    }
}

impl Hour {
    fn check(&self) -> Result<(), String> {
        let Common { url, users, seconds, data_dir, .. } = &self.common;
        if url.is_some() || users.is_some() || seconds.is_some() || data_dir.is_some() {
            return Err("hour runs alone in a simulated cloud of its own: leave --url, --users, \
                 --seconds and --data-dir out"
                .into());
        }
        self.common.check(1)
    }
}

impl Common {
    /// The local cloud to start for so many users.
    pub(crate) fn serve(&self, seed: u64, no_events: bool) -> Serve {
        let (data_dir, mut aws_limits) = (self.data_dir.clone(), self.aws_limits.clone());
        let mut usual = ENVIRONMENTS;
        if self.simulate {
            usual = simulation::ENVIRONMENTS;
            aws_limits = aws_limits.or_else(|| Some(Limits::default()));
        }
        let environments = self.environments.unwrap_or(usual);
        Serve { port: 0, data_dir, environments, seed, no_events, aws_limits }
    }

    /// Whether the server of so many users must be another process.
    pub(crate) fn needs_process(users: usize) -> bool {
        users > MOST_USERS_IN_PROCESS
    }

    fn check(&self, users: usize) -> Result<(), String> {
        if users == 0 {
            return Err("--users must be at least 1".into());
        }
        if self.simulate && users > MOST_SIMULATED_USERS {
            return Err(format!("--users must be at most {MOST_SIMULATED_USERS} with --simulate"));
        }
        if !self.simulate && users > MOST_USERS {
            return Err(format!(
                "--users must be at most {MOST_USERS}: one process has 20,000 descriptors. Run \
                 several with the same --url, or say --simulate"
            ));
        }
        let is_http = |url: &String| url.starts_with("http://") || url.starts_with("https://");
        if !self.url.iter().all(is_http) {
            return Err("--url must begin with http:// or https://".into());
        }
        Ok(())
    }
}

/// Reads how long users think, in seconds: one number, or two as in `0.5..2`.
fn think(text: &str) -> Result<Think, String> {
    let seconds = |text: &str| {
        let seconds = text.parse::<f64>().ok().filter(|s| (0.0..=3600.0).contains(s));
        seconds.map(Duration::from_secs_f64)
    };
    let (least, most) = text.split_once("..").unwrap_or((text, text));
    let think = seconds(least).zip(seconds(most)).filter(|(least, most)| least <= most);
    let think = think.map(|(least, most)| Think { least, most });
    think.ok_or_else(|| "expected seconds up to 3600, as in 0, 2.5 or 1..5".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &str) -> Result<Options, String> {
        let words = ["load"].into_iter().chain(arguments.split_whitespace());
        let options = Options::try_parse_from(words).map_err(|error| error.to_string())?;
        options.check()?;
        Ok(options)
    }

    fn mixed_flow(arguments: &str) -> MixedFlow {
        match parse(&format!("mixed-flow {arguments}")).unwrap().scenario {
            Scenario::MixedFlow(options) => options,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_the_contract_names_is_taken() {
        Options::command().debug_assert();
        for good in [
            "hot-course",
            "hot-course --seats 100",
            "hot-course --courses 50 --no-events",
            "hot-course --repeat --seconds 5 --seed 1 --json r.json --html r.html --data-dir d",
            "hot-course --url http://127.0.0.1:9000 --token-key k --users 19000",
            "hot-course --users 5001",
            "hot-course --peer http://127.0.0.1:8081 --ceiling",
            "mixed-flow",
            "mixed-flow --users 490 --loops 5 --think 0 --ramp 0 --seed 1 --html r.html",
            "mixed-flow --kill-at 20 --data-dir d",
            "mixed-flow --url https://example.com --token-key k",
            "popular-posts",
            "popular-posts --posts 100 --users 10000 --hot 1 --seconds 5 --data-dir d --html r.html",
            "popular-posts --url http://127.0.0.1:9000 --posts 1000 --hot 0",
            "home",
            "home --users 600 --seconds 60 --seed 1 --json r.json --html r.html --data-dir d",
            "home --url http://127.0.0.1:9000 --token-key k",
            "ticket-open",
            "ticket-open --users 20 --seats 40 --rate 5 --seconds 60 --seed 1 --json r.json",
            "ticket-open --url http://127.0.0.1:9000 --token-key k",
            "relay --events 1000 --seed 1 --json r.json --data-dir d",
            "hot-course --simulate --users 20000 --students 20000 --seats 20000 --stripes 8",
            "home --aws-limits --users 10",
            "popular-posts --aws-limits=partitions=40,lost=0.01",
            "herd queue --simulate --users 20000 --stripes 8 --no-events",
            "compare a.json b.json",
            "compare a.json b.json --html page.html",
            "hour --minutes 2 --seed 1 --aws-limits=lost=0.02 --json r.json",
        ] {
            assert!(parse(good).is_ok(), "{good}: {:?}", parse(good));
        }
    }

    #[test]
    fn wrong_usage_is_refused_with_the_remedy() {
        for (bad, remedy) in [
            ("hot-course --users 0", "at least 1"),
            ("hot-course --users 19001", "--url"),
            ("hot-course --courses 0", "at least 1"),
            ("hot-course --courses 50 --seats 49", "at most"),
            ("hot-course --students 0", "from 1"),
            ("hot-course --seats 1000001", "at most 1000000"),
            ("hot-course --url ftp://x", "http://"),
            ("hot-course --token-key k", "--url"),
            ("hot-course --url http://x --data-dir d", "cannot be used with"),
            ("hot-course --url http://x --no-events", "cannot be used with"),
            ("hot-course --peer http://x --seats 100", "raise --seats"),
            ("hot-course --nonsense", "unexpected argument"),
            ("mixed-flow --users 0", "at least 1"),
            ("mixed-flow --loops 0", "at least 1"),
            ("mixed-flow --loops 2000000 --users 90", "lower --loops"),
            ("mixed-flow --think 5..1", "1..5"),
            ("mixed-flow --think -1", "unexpected argument"),
            ("mixed-flow --think soon", "1..5"),
            ("mixed-flow --think 1..inf", "1..5"),
            ("mixed-flow --kill-at 5 --url http://x", "cannot be used with"),
            ("popular-posts --posts 0", "from 1 to 1000000"),
            ("popular-posts --posts 1000001", "from 1 to 1000000"),
            ("popular-posts --hot 1.1", "from 0 to 1"),
            ("popular-posts --hot NaN", "from 0 to 1"),
            ("popular-posts --hot most", "invalid"),
            ("popular-posts --seconds 0", "at least 1"),
            ("popular-posts --users 0", "at least 1"),
            ("popular-posts --url http://x --data-dir d", "cannot be used with"),
            ("home --seconds 0", "at least 1"),
            ("home --users 0", "at least 1"),
            ("ticket-open --seats 39", "from 40 to 200000"),
            ("ticket-open --rate 0", "from 1 to 100000"),
            ("ticket-open --users 0", "at least 1"),
            ("relay --events 0", "from 1"),
            ("relay --url http://x", "leave --url"),
            ("relay --users 5", "leave --url"),
            ("relay --simulate", "leave --url"),
            ("compare a.json", "<B.json>"),
            ("compare a.json b.json c.json", "unexpected argument"),
            ("hour --minutes 1", "2..=600"),
            ("hour --users 5", "leave --url"),
            ("hot-course --simulate --url http://x", "cannot be used with"),
            ("hot-course --simulate --users 200001", "at most 200000"),
            ("hot-course --stripes 257", "1..=256"),
            ("herd", "<TARGET>"),
            ("herd post --users 0", "at least 1"),
            ("herd post --stripes 8 --url http://x", "cannot be used with"),
            ("hot-course --aws-limits=lost=2", "from 0 to 1"),
            ("mixed-flow --simulate --kill-at 5", "cannot be used with"),
        ] {
            let message = parse(bad).unwrap_err();
            assert!(message.contains(remedy), "{bad}: {message}");
        }
    }

    #[test]
    fn users_think_and_arrive_as_they_are_told() {
        let seconds = Duration::from_secs_f64;
        let shape = mixed_flow("").shape();
        assert_eq!((shape.users, shape.loops, shape.ramp), (90, 100, seconds(60.0)));
        assert_eq!((shape.think.least, shape.think.most), (seconds(1.0), seconds(5.0)));
        assert_eq!(mixed_flow("--users 490").shape().ramp, seconds(120.0));
        let shape = mixed_flow("--users 490 --ramp 0 --think 0..0.2").shape();
        assert_eq!((shape.ramp, shape.think.most), (seconds(0.0), seconds(0.2)));
        let shape = mixed_flow("--think 2.5").shape();
        assert_eq!((shape.think.least, shape.think.most), (seconds(2.5), seconds(2.5)));
    }

    #[test]
    fn posts_that_must_go_through_an_api_are_fewer() {
        let shape = |arguments: &str| match parse(&format!("popular-posts {arguments}"))
            .unwrap()
            .scenario
        {
            Scenario::PopularPosts(options) => (options.users(), options.shape()),
            other => panic!("{other:?}"),
        };
        let (users, plain) = shape("");
        assert_eq!((users, plain.posts, plain.hot), (1_000, 100_000, 0.8));
        assert_eq!(plain.time, Duration::from_secs(30));
        assert_eq!(shape("--url http://x").1.posts, 500);
        let (_, told) = shape("--url http://x --posts 20 --seconds 2 --hot 0.5");
        assert_eq!((told.posts, told.hot, told.time), (20, 0.5, Duration::from_secs(2)));
    }

    #[test]
    fn many_users_need_a_server_of_their_own() {
        assert!(!Common::needs_process(5_000) && Common::needs_process(5_001));
    }
}
