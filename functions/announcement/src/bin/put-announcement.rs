//! The Lambda function `put-announcement`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(announcement::put_announcement::FUNCTION)
}
