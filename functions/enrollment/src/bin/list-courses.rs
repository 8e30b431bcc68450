//! The Lambda function `list-courses`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(enrollment::list_courses::FUNCTION)
}
