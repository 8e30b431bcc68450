//! The Lambda function `count-views`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(blog::count_views::FUNCTION)
}
