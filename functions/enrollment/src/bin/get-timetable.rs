//! The Lambda function `get-timetable`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(enrollment::get_timetable::FUNCTION)
}
