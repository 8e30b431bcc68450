//! The Lambda function `get-course`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(enrollment::get_course::FUNCTION)
}
