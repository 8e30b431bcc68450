//! The Lambda function `notify`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(notification::notify::FUNCTION)
}
