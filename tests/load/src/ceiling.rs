//! The ceiling: what the database alone carries.
//!
//! Tasks send the very transaction that `enroll` sends, by the SDK and without
//! a socket, to a local cloud of their own. No HTTP and no handler is in
//! between.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use enrollment::course::Course;
use enrollment::{CourseId, StudentId, TABLE, courses, enroll};
use platform::app::{App, Settings};
use platform::auth::{self, Role};
use platform::clock::Clock;
use platform::table::Patience;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::caller::Caller;
use crate::child::Serve;
use crate::cloud::Cloud;
use crate::error::Error;
use crate::progress;
use crate::record::{Recorder, per_second};
use crate::scenarios::hot_course::{Plan, Shape, create};
use crate::wire::Wire;

/// Sends `enrollments` transactions from `tasks` tasks; how many succeeded a
/// second.
pub(crate) async fn measure(enrollments: usize, tasks: usize, seed: u64) -> Result<f64, Error> {
    let serve = Serve {
        port: 0,
        data_dir: None,
        environments: 50,
        seed,
        no_events: true,
        aws_limits: None,
    };
    let cloud = Cloud::start(serve).await?;
    let seats = enrollments as u64;
    let shape = Shape { students: enrollments, seats, courses: 1, repeats: 1 };
    let plan = Plan::new(shape, cloud.now());
    let recorder = Arc::new(Recorder::new()?);
    let staff = Caller::new(Arc::new(Wire::to(cloud.url())?), &recorder);
    let (token, total) = (cloud.staff_token()?, plan.setup_requests());
    progress::show("set-up", total, &recorder, create(&staff, &token, &plan)).await?;

    let course = course(&environment(&cloud, seed)?, &plan).await?;
    let next = Arc::new(AtomicUsize::new(0));
    let plan = Arc::new(plan);
    let mut running = JoinSet::new();
    let environments = (0..tasks).map(|task| environment(&cloud, seed.wrapping_add(task as u64)));
    let environments = environments.collect::<Result<Vec<App>, _>>()?;
    let started = Instant::now();
    for app in environments {
        running.spawn(send(app, Arc::clone(&plan), Arc::clone(&course), Arc::clone(&next)));
    }
    let mut sent = 0;
    while let Some(task) = running.join_next().await {
        sent += task.map_err(|error| Error::Ceiling(error.to_string()))??;
    }
    let rate = per_second(sent, started.elapsed());
    cloud.stop().await;
    Ok(rate)
}

/// An App like a function's, but reached by nobody.
fn environment(cloud: &Cloud, seed: u64) -> Result<App, Error> {
    let clients = cloud.clients().ok_or_else(|| Error::Ceiling("no database".into()))?;
    let random = fastrand::Rng::with_seed(seed);
    let app = App::new(Settings::default(), Clock::System, random, clients);
    app.map_err(|error| Error::Ceiling(error.to_string()))
}

async fn course(app: &App, plan: &Plan) -> Result<Arc<Course>, Error> {
    let id = CourseId::try_from(plan.course_id(0)).map_err(|e| Error::Ceiling(e.to_string()))?;
    let course = courses::get(app, id).await.map_err(|problem| failed(&problem))?;
    course.ok_or_else(|| Error::Ceiling("the course is not there".into()))
}

/// Enrolls students until none is left; how many it were.
async fn send(
    app: App,
    plan: Arc<Plan>,
    course: Arc<Course>,
    next: Arc<AtomicUsize>,
) -> Result<u64, Error> {
    let mut sent = 0;
    loop {
        let student = next.fetch_add(1, Ordering::Relaxed);
        if student >= plan.students() {
            return Ok(sent);
        }
        let caller = auth::Caller { member_id: plan.member(student), role: Role::Member };
        let student_id = StudentId::try_from(plan.student_id(student));
        let student_id = student_id.map_err(|error| Error::Ceiling(error.to_string()))?;
        // In turn, as the seats were dealt out: so each stripe has enough.
        let stripe = u32::try_from(student % course.stripes as usize).unwrap_or_default();
        let writes = enroll::transaction(&app, caller, student_id, Arc::clone(&course), stripe);
        let writes = writes.map_err(|problem| failed(&problem))?;
        let done = app.table(TABLE).transact(writes, &mut Patience::default()).await;
        done.map_err(|error| Error::Ceiling(error.to_string()))?;
        sent += 1;
    }
}

fn failed(problem: &platform::Problem) -> Error {
    let cause = problem.cause().unwrap_or(problem.kind().title);
    Error::Ceiling(cause.to_owned())
}
