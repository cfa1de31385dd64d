//! When a schedule comes true: an expression in a time zone, through changes of the clock.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};

use super::expression::{Expression, Unusable};

/// An expression in a time zone.
///
/// | where the clock is changed | by the calendar (`5 2 * * *`) | by the clock (`*/10 * * * *`, `0 * * * *`) |
/// |---|---|---|
/// | a local time is left out | once, at the first instant after the gap | not at all: the clock never shows it |
/// | a local time comes twice | once, the first time | both times |
///
/// An expression goes by the clock when its minutes or hours are written with `*`, or its hours name every hour. The zones
/// are those of the IANA database that is built in: every machine plans alike, whatever it has installed.
#[derive(Debug, Clone)]
pub struct Timetable {
    expression: Expression,
    zone: TimeZone,
}

impl Timetable {
    /// Reads a cron expression of five fields and the IANA name of a zone.
    ///
    /// # Errors
    /// What is wrong with which of them.
    pub fn new(cron_expression: &str, time_zone: &str) -> Result<Self, Unusable> {
        let expression = Expression::parse(cron_expression)?;
        let zone = TimeZone::get(time_zone).map_err(|_unknown| Unusable::TimeZone)?;
        if zone.is_unknown() {
            return Err(Unusable::TimeZone);
        }
        Ok(Self { expression, zone })
    }

    /// The first planned instant after `after`; always a whole minute of the local clock, or the end of a gap in it.
    ///
    /// # Errors
    /// [`Unusable::Never`] where none comes before the year 5000.
    pub fn next_after(&self, after: Timestamp) -> Result<Timestamp, Unusable> {
        if self.expression.by_the_clock { self.next_shown(after) } else { self.next_in_calendar(after) }
    }

    /// Instants follow local times in their order, several of which may meet at the end of a gap, so the first one that lies
    /// after `after` is the next. More than one is passed over only where `after` lies in the second of two equal hours.
    fn next_in_calendar(&self, after: Timestamp) -> Result<Timestamp, Unusable> {
        let mut local = self.zone.to_datetime(after);
        loop {
            local = self.expression.next_local(local, false)?;
            let instant = self.first_instant(local)?;
            if instant > after {
                return Ok(instant);
            }
        }
    }

    /// When `local` is first shown; where the clock leaves it out, the end of that gap.
    fn first_instant(&self, local: DateTime) -> Result<Timestamp, Unusable> {
        let instant = match self.zone.to_ambiguous_timestamp(local).offset() {
            AmbiguousOffset::Unambiguous { offset } => offset.to_timestamp(local),
            AmbiguousOffset::Fold { before, .. } => before.to_timestamp(local),
            // Read with the offset that holds after the gap, a local time within it lies before the change.
            AmbiguousOffset::Gap { after, .. } => {
                after.to_timestamp(local).map(|within| self.next_change(within).unwrap_or(within))
            }
        };
        instant.map_err(|_out_of_range| Unusable::Never)
    }

    /// Between two changes of the clock, local time is elapsed time: the first match in the present stretch is the next,
    /// unless the stretch ends before it. Each stretch after the first is entered at its first instant.
    fn next_shown(&self, after: Timestamp) -> Result<Timestamp, Unusable> {
        let mut from = after;
        let mut inclusive = false;
        loop {
            let offset = self.zone.to_offset(from);
            let local = self.expression.next_local(offset.to_datetime(from), inclusive)?;
            let instant = offset.to_timestamp(local).map_err(|_out_of_range| Unusable::Never)?;
            match self.next_change(from) {
                Some(change) if change <= instant => from = change,
                _ => return Ok(instant),
            }
            inclusive = true;
        }
    }

    /// When the zone's clock is changed next.
    fn next_change(&self, after: Timestamp) -> Option<Timestamp> {
        self.zone.following(after).next().map(|transition| transition.timestamp())
    }
}

#[cfg(test)]
mod tests;
