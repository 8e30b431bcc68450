//! What requests cost, by the meter: the same at the first seat and at the
//! ten-thousandth.

use suites::World;

/// One environment per function, so that what one request reads the next knows.
async fn world() -> World {
    World::with_environments(1).await
}

#[tokio::test]
async fn enroll_is_one_call_at_the_first_seat_and_at_the_ten_thousandth() {
    const STUDENTS: u64 = 10_000;
    let world = world().await;
    world.course(101, 2 * STUDENTS).await;
    world.plans(STUDENTS + 1).await;
    world.enroll(STUDENTS + 1, 101).await.expect(201); // reads the course
    let mut first = None;
    for student in 1..=STUDENTS {
        let usage = world.enroll(student, 101).await.expect(201).usage;
        assert_eq!(usage.total_calls(), 1, "student {student}: {usage:?}");
        assert_eq!(usage.calls_of("TransactWriteItems"), 1);
        let first = first.get_or_insert(usage.clone());
        assert_eq!(usage.read_units, 0.0);
        assert!(usage.write_units <= first.write_units + 1.0, "{usage:?} after {first:?}");
        assert!(usage.write_units <= 8.0, "{usage:?}");
    }
    assert_eq!(world.seats(101).await, (2 * STUDENTS, STUDENTS + 1, STUDENTS - 1));
}

#[tokio::test]
async fn a_full_course_costs_a_bounded_number_of_reads_and_then_none_for_a_second() {
    for capacity in [1, 30, 256, 300] {
        let world = world().await;
        world.students(2).await;
        world.course(101, capacity).await;
        world.plans(capacity + 2).await;
        for student in 3..=capacity + 2 {
            world.enroll(student, 101).await.expect(201);
        }
        world.clock.advance(1_000);
        let usage = world.enroll(1, 101).await.refused(409, "COURSE_FULL").usage;
        assert!(usage.total_calls() <= 11, "{capacity} seats: {usage:?}");
        for student in [1, 2, 1] {
            let usage = world.enroll(student, 101).await.refused(409, "COURSE_FULL").usage;
            assert_eq!((usage.total_calls(), usage.read_units), (1, 0.0), "{usage:?}");
        }
        let usage = world.enroll(3, 101).await.refused(409, "ALREADY_ENROLLED").usage;
        assert_eq!((usage.total_calls(), usage.read_units), (1, 0.0));
        world.clock.advance(1_000);
        world.drop_course(3, 101).await.expect(204);
        let usage = world.enroll(1, 101).await.expect(201).usage;
        assert!(usage.total_calls() <= 11, "{usage:?}");
    }
}

#[tokio::test]
async fn drop_is_at_most_two_calls() {
    let world = world().await;
    world.students(1).await;
    world.course(101, 300).await;
    world.enroll(1, 101).await.expect(201);
    let usage = world.drop_course(1, 101).await.expect(204).usage;
    assert_eq!(usage.calls_of("GetItem"), 1);
    assert_eq!(usage.calls_of("TransactWriteItems"), 1);
    assert_eq!(usage.total_calls(), 2);
    let usage = world.drop_course(1, 101).await.refused(404, "ENROLLMENT_NOT_FOUND").usage;
    assert_eq!(usage.total_calls(), 1);
}

#[tokio::test]
async fn refusals_by_the_plan_cost_one_call() {
    let world = world().await;
    world.students(2).await;
    world.course(101, 300).await;
    world.course_at(102, 300, "MON", 3, 4).await;
    world.enroll(1, 101).await.expect(201);
    world.enroll(2, 102).await.expect(201); // both courses are known now
    let calls = async |student, course, status, code| {
        world.enroll(student, course).await.refused(status, code).usage.total_calls()
    };
    assert_eq!(calls(1, 101, 409, "ALREADY_ENROLLED").await, 1);
    assert_eq!(calls(1, 102, 409, "TIMETABLE_CONFLICT").await, 1);
    assert_eq!(calls(9, 101, 404, "STUDENT_NOT_FOUND").await, 1);
    let refused = world.as_member("m2").enroll(1, 101).await.refused(403, "FORBIDDEN");
    assert_eq!(refused.usage.total_calls(), 1);
}

#[tokio::test]
async fn reads_cost_the_same_however_much_there_is() {
    let world = world().await;
    world.course(101, 600).await;
    world.plans(500).await;
    let cost = async |path: &str| {
        world.clock.advance(5_000);
        world.as_staff().get(path).await.expect(200).usage
    };
    let roster = "/courses/101/enrollments?limit=10";
    world.enroll(1, 101).await.expect(201);
    let timetable = "/students/1/enrollments";
    let before = (cost(roster).await, cost("/courses/101").await, cost(timetable).await);
    for student in 2..=500 {
        world.enroll(student, 101).await.expect(201);
    }
    for id in 1..=99 {
        world.course(id, 1).await;
    }
    let after = (cost(roster).await, cost("/courses/101").await, cost(timetable).await);
    assert_eq!(before.0.total_calls(), after.0.total_calls());
    assert_eq!(before.1, after.1);
    assert_eq!(before.2, after.2);
    assert!(after.0.read_units <= 16.0, "{:?}", after.0);
    let first = cost("/courses?limit=10").await;
    let path = format!("/courses?limit=10&cursor={}", {
        let page = world.as_staff().get("/courses?limit=80").await.expect(200).json;
        page["nextCursor"].as_str().expect("more pages").to_owned()
    });
    assert_eq!(first, cost(&path).await, "the first page and a late one");
}

#[tokio::test]
async fn what_needs_no_data_calls_nothing() {
    let world = world().await;
    assert_eq!(world.as_nobody().get("/health").await.expect(200).usage.total_calls(), 0);
    let refused = world.as_nobody().enroll(1, 1).await.refused(401, "UNAUTHENTICATED");
    assert_eq!(refused.usage.total_calls(), 0);
}
