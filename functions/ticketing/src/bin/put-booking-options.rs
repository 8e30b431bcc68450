//! The Lambda function `put-booking-options`.

fn main() -> Result<(), platform::lambda::Error> {
    platform::lambda::run(ticketing::put_booking_options::FUNCTION)
}
