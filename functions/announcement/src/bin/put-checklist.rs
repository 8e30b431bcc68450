//! The Lambda function `put-checklist`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(announcement::put_checklist::FUNCTION)
}
