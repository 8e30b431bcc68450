//! The Lambda function `get-post`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(blog::get_post::FUNCTION)
}
