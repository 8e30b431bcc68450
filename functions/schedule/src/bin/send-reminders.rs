//! The Lambda function `send-reminders`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(schedule::send_reminders::FUNCTION)
}
