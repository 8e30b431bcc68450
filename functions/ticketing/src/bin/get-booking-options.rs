//! The Lambda function `get-booking-options`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(ticketing::get_booking_options::FUNCTION)
}
