//! The Lambda function `put-student`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(enrollment::put_student::FUNCTION)
}
