//! The Lambda function `not-found`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(platform::not_found::FUNCTION)
}
