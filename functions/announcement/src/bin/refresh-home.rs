//! The Lambda function `refresh-home`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(announcement::refresh_home::FUNCTION)
}
