//! The Lambda function `list-notifications`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(notification::list_notifications::FUNCTION)
}
