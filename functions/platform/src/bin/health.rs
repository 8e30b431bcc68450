//! The Lambda function `health`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(platform::health::FUNCTION)
}
