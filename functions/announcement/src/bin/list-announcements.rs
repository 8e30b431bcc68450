//! The Lambda function `list-announcements`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(announcement::list_announcements::FUNCTION)
}
