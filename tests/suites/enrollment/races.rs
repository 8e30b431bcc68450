//! Many callers want the same thing at once.
//!
//! Each race runs on several threads, with an execution environment per
//! caller, and ends by comparing everything that says who is in.

use suites::{World, count, course, race};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn exactly_the_capacity_gets_in_and_no_seat_is_left_behind() {
    let world = World::start().await;
    world.students(96).await;
    world.course(101, 40).await;
    let answers = race(1..=96, |student| world.enroll(student, 101)).await;
    assert_eq!(count(&answers, 201), 40);
    for answer in answers.into_iter().filter(|answer| answer.status != 201) {
        answer.refused(409, "COURSE_FULL");
    }
    assert_eq!(world.seats(101).await, (40, 40, 0));
    world.assert_consistent(&[101], 96).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_last_seat_of_many_stripes_is_found_and_given_once() {
    let world = World::start().await;
    world.students(96).await;
    world.course(101, 33).await;
    for student in 1..=32 {
        world.enroll(student, 101).await.expect(201);
    }
    let answers = race(33..=96, |student| world.enroll(student, 101)).await;
    assert_eq!(count(&answers, 201), 1);
    assert_eq!(count(&answers, 409), 63);
    world.assert_consistent(&[101], 96).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_same_student_gets_in_once() {
    let world = World::start().await;
    world.students(1).await;
    world.course(101, 100).await;
    let answers = race(0..64, |_| world.enroll(1, 101)).await;
    assert_eq!(count(&answers, 201), 1);
    for answer in answers.into_iter().filter(|answer| answer.status != 201) {
        answer.refused(409, "ALREADY_ENROLLED");
    }
    assert_eq!(world.seats(101).await, (100, 1, 99));
    world.assert_consistent(&[101], 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_same_key_gets_the_same_answer_however_many_send_it_at_once() {
    let world = World::start().await;
    world.students(1).await;
    world.course(101, 100).await;
    let caller = world.as_member("m1").with("idempotency-key", "one");
    let answers = race(0..64, |_| caller.enroll(1, 101)).await;
    assert_eq!(count(&answers, 201), 64);
    assert!(answers.iter().all(|answer| answer.json == answers[0].json));
    assert_eq!(world.seats(101).await, (100, 1, 99));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_student_cannot_outrun_credits_or_hours() {
    let world = World::start().await;
    world.students(1).await;
    // Ten days' worth of courses at 3 credits, of which 18 credits pay six;
    // each in two versions that overlap.
    let mut courses = Vec::new();
    for (place, day) in ["MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"].iter().enumerate() {
        for version in 0..2 {
            let id = 101 + place as u64 * 10 + version;
            world.course_at(id, 50, day, 2, 4 + u32::try_from(version).unwrap()).await;
            courses.push(id);
        }
    }
    let answers = race(courses.repeat(5), |course| world.enroll(1, course)).await;
    assert_eq!(count(&answers, 201), 6);
    assert_eq!(count(&answers, 409), 64);
    let codes: Vec<&str> = answers.iter().map(suites::Answer::code).collect();
    let allowed = ["", "ALREADY_ENROLLED", "TIMETABLE_CONFLICT", "CREDIT_LIMIT_EXCEEDED"];
    assert!(codes.iter().all(|code| allowed.contains(code)), "{codes:?}");
    world.assert_consistent(&courses, 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_seat_that_is_dropped_many_times_at_once_comes_back_once() {
    let world = World::start().await;
    world.students(1).await;
    world.course(101, 7).await;
    world.enroll(1, 101).await.expect(201);
    let answers = race(0..64, |_| world.drop_course(1, 101)).await;
    assert_eq!(count(&answers, 204), 1);
    for answer in answers.into_iter().filter(|answer| answer.status != 204) {
        answer.refused(404, "ENROLLMENT_NOT_FOUND");
    }
    assert_eq!(world.seats(101).await, (7, 0, 7));
    world.assert_consistent(&[101], 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn drops_and_enrollments_around_a_full_course_keep_every_seat() {
    let world = World::start().await;
    world.students(80).await;
    world.course(101, 20).await;
    for student in 1..=20 {
        world.enroll(student, 101).await.expect(201);
    }
    let answers = race(1..=80, |student| {
        let world = &world;
        async move {
            if student <= 20 {
                world.drop_course(student, 101).await
            } else {
                world.enroll(student, 101).await
            }
        }
    });
    let answers = answers.await;
    assert_eq!(count(&answers, 204), 20);
    let entered = count(&answers, 201) as u64;
    assert!(entered <= 20, "{entered} got in");
    assert_eq!(world.seats(101).await, (20, entered, 20 - entered));
    // Those who came too early get what is left.
    world.clock.advance(1_000);
    let answers = race(21..=80, |student| world.enroll(student, 101)).await;
    assert_eq!(count(&answers, 201) as u64, 20 - entered);
    assert_eq!(world.seats(101).await, (20, 20, 0));
    world.assert_consistent(&[101], 80).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_capacities_asked_for_at_once_one_is_reached() {
    let world = World::start().await;
    world.course(101, 7).await;
    let staff = world.as_staff();
    let capacities = [7, 300].repeat(32);
    let put = |capacity: u64| staff.put("/courses/101", course(capacity, "MON", 1, 3));
    let answers = race(capacities, put).await;
    for answer in &answers {
        let is_definite = answer.status == 200 || answer.code() == "BUSY";
        assert!(is_definite, "{} {}", answer.status, answer.json);
    }
    let (capacity, enrolled, left) = world.seats(101).await;
    assert_eq!((enrolled, left), (0, capacity));
    // Whoever was last may have been told to try again; then it goes through.
    put(12).await.expect(200);
    assert_eq!(world.seats(101).await, (12, 0, 12));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn capacity_raised_and_lowered_during_the_rush_stays_exact() {
    let world = World::start().await;
    world.students(96).await;
    world.course(101, 30).await;
    let staff = world.as_staff();
    let put = |capacity: u64| staff.put("/courses/101", course(capacity, "MON", 1, 3));
    let watched = async {
        for _ in 0..60 {
            let (capacity, seats, left) = world.moment(101, 70).await;
            assert_eq!(capacity, seats, "the stripes hold the capacity at every moment");
            assert!(left <= seats);
            tokio::task::yield_now().await;
        }
    };
    let changes = race([60, 20, 45, 70, 33, 64, 25, 50], put);
    let (answers, changed, _) =
        tokio::join!(race(1..=96, |student| world.enroll(student, 101)), changes, watched);
    for answer in &answers {
        // A machine that is slow enough uses up what a request may wait.
        let is_allowed = answer.status == 201 || ["COURSE_FULL", "BUSY"].contains(&answer.code());
        assert!(is_allowed, "{} {}", answer.status, answer.json);
    }
    for answer in &changed {
        let is_allowed =
            answer.status == 200 || ["CAPACITY_BELOW_ENROLLED", "BUSY"].contains(&answer.code());
        assert!(is_allowed, "{} {}", answer.status, answer.json);
    }
    let (_, enrolled, _) = world.seats(101).await;
    assert_eq!(enrolled, count(&answers, 201) as u64);
    world.assert_consistent(&[101], 96).await;
    // In the end the capacity is what staff say, and everybody left gets in.
    put(96).await.expect(200);
    world.clock.advance(5_000);
    for student in 1..=96 {
        let answer = world.enroll(student, 101).await;
        assert!(answer.status == 201 || answer.code() == "ALREADY_ENROLLED", "{}", answer.json);
    }
    assert_eq!(world.seats(101).await, (96, 96, 0));
    world.assert_consistent(&[101], 96).await;
}
