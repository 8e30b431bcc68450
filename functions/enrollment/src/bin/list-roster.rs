//! The Lambda function `list-roster`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(enrollment::list_roster::FUNCTION)
}
