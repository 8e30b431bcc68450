//! The Lambda function `remove-favorite`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(announcement::remove_favorite::FUNCTION)
}
