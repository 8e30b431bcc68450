//! The Lambda function `delete-schedule`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(schedule::delete_schedule::FUNCTION)
}
