//! The Lambda function `add-favorite`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(announcement::add_favorite::FUNCTION)
}
