//! The Lambda function `enroll`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(enrollment::enroll::FUNCTION)
}
