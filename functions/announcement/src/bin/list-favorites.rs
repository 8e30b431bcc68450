//! The Lambda function `list-favorites`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(announcement::list_favorites::FUNCTION)
}
