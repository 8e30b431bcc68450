//! The Lambda function `put-course`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(enrollment::put_course::FUNCTION)
}
