//! The Lambda function `list-posts`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(blog::list_posts::FUNCTION)
}
