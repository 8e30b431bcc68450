//! The Lambda function `get-checklist`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(announcement::get_checklist::FUNCTION)
}
