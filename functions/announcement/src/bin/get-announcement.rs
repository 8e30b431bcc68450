//! The Lambda function `get-announcement`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(announcement::get_announcement::FUNCTION)
}
