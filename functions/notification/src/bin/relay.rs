//! The Lambda function `relay`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(notification::relay::FUNCTION)
}
