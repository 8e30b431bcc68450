//! The Lambda function `redrive`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(notification::redrive::FUNCTION)
}
