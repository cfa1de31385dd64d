//! How long a receiver asks to be left alone.

use std::time::Duration;

use http::HeaderMap;
use http::header::{DATE, HeaderName, RETRY_AFTER};
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// The longest that a receiver is left alone, whatever it asks for.
pub const RETRY_AFTER_MAX: Duration = Duration::from_secs(3600);

/// The forms of a date in HTTP, the newest first; all are in UTC.
const DATE_FORMS: [&str; 3] = ["%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT", "%a %b %e %H:%M:%S %Y"];

/// What `Retry-After` asks for, seconds or a date, at most [`RETRY_AFTER_MAX`]; zero for a date that has passed. `None`
/// where it is missing or neither, a negative or fractional number for instance.
///
/// A date is compared with the receiver's own clock where it tells its time, and with `now` otherwise.
pub(super) fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = text(headers, &RETRY_AFTER)?;
    let asked = match text.parse::<u64>() {
        // The parser takes a plus sign, HTTP does not.
        Ok(seconds) if text.starts_with(|first: char| first.is_ascii_digit()) => Duration::from_secs(seconds),
        Ok(_) => return None,
        Err(_) => {
            let now = self::text(headers, &DATE).and_then(date).unwrap_or(TimeZone::UTC.to_datetime(now));
            let left: SignedDuration = date(text)?.duration_since(now);
            Duration::try_from(left).unwrap_or_default()
        }
    };
    Some(asked.min(RETRY_AFTER_MAX))
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}

fn date(text: &str) -> Option<DateTime> {
    DATE_FORMS.iter().find_map(|form| DateTime::strptime(form, text).ok())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use http::HeaderValue;

    use super::*;

    const NOW: &str = "2026-03-01T12:00:00Z";

    fn asked(value: &str, date: Option<&'static str>) -> Option<u64> {
        let mut headers = HeaderMap::new();
        headers.insert(RETRY_AFTER, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        if let Some(date) = date {
            headers.insert(DATE, HeaderValue::from_static(date));
        }
        retry_after(&headers, NOW.parse().unwrap()).map(|duration| duration.as_secs())
    }

    #[test]
    fn seconds_are_honoured_up_to_an_hour() {
        for (value, seconds) in [("0", 0), ("1", 1), (" 120 ", 120), ("3600", 3600), ("3601", 3600), ("86400", 3600)] {
            assert_eq!(asked(value, None), Some(seconds), "{value}");
        }
    }

    #[test]
    fn what_is_no_length_of_time_is_ignored() {
        for value in [
            "",
            "-1",
            "+1",
            "1.5",
            "1e3",
            "soon",
            "99999999999999999999999",
            "NaN",
            "12 seconds",
            "ä",
            "Sun, 31 Feb 2026 12:00:00 GMT",
            "Sun, 01 Mar 2026 25:00:00 GMT",
            "2026-03-01T12:00:30Z",
        ] {
            assert_eq!(asked(value, None), None, "{value}");
        }
        assert_eq!(retry_after(&HeaderMap::new(), NOW.parse().unwrap()), None);
    }

    #[test]
    fn every_form_of_a_date_is_honoured() {
        for value in ["Sun, 01 Mar 2026 12:00:30 GMT", "Sunday, 01-Mar-26 12:00:30 GMT", "Sun Mar  1 12:00:30 2026"] {
            assert_eq!(asked(value, None), Some(30), "{value}");
        }
    }

    #[test]
    fn a_date_is_held_between_zero_and_an_hour() {
        assert_eq!(asked("Sun, 01 Mar 2026 11:59:00 GMT", None), Some(0));
        assert_eq!(asked("Fri, 31 Dec 9999 23:59:59 GMT", None), Some(3600));
        assert_eq!(asked("Thu, 01 Jan 1970 00:00:00 GMT", None), Some(0));
    }

    #[test]
    fn a_date_is_measured_on_the_receivers_own_clock() {
        let ten_minutes_slow = Some("Sun, 01 Mar 2026 11:50:00 GMT");
        assert_eq!(asked("Sun, 01 Mar 2026 11:50:45 GMT", ten_minutes_slow), Some(45));
        assert_eq!(asked("Sun, 01 Mar 2026 12:00:45 GMT", Some("yesterday")), Some(45));
    }
}
