//! The Lambda function `release-hold`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(ticketing::release_hold::FUNCTION)
}
