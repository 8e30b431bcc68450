//! The Lambda function `count-announcements`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(announcement::count_announcements::FUNCTION)
}
