//! The Lambda function `drop`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(enrollment::drop::FUNCTION)
}
