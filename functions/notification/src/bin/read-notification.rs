//! The Lambda function `read-notification`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(notification::read_notification::FUNCTION)
}
