//! The Lambda function `create-schedule`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(schedule::create_schedule::FUNCTION)
}
