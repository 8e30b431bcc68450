//! The Lambda function `update-post`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(blog::update_post::FUNCTION)
}
