//! The Lambda function `get-home`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(announcement::get_home::FUNCTION)
}
