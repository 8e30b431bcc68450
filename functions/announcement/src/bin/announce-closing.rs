//! The Lambda function `announce-closing`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(announcement::announce_closing::FUNCTION)
}
