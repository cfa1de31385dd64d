//! What one contender did in one measurement, and what is said of several.

use std::time::Duration;

/// Jobs, the time they took and the WAL they wrote.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rate {
    pub(super) jobs: u32,
    pub(super) elapsed: Duration,
    pub(super) wal_bytes: i64,
}

impl Rate {
    /// Jobs per second.
    pub(super) fn per_second(&self) -> f64 {
        f64::from(self.jobs) / self.elapsed.as_secs_f64()
    }

    /// WAL bytes per job.
    pub(super) fn wal_per_job(&self) -> f64 {
        // A measurement writes far less than the 2^53 bytes that a double holds exactly.
        #[allow(clippy::cast_precision_loss)]
        let bytes = self.wal_bytes as f64;
        bytes / f64::from(self.jobs.max(1))
    }
}

/// The rounds of one contender.
pub(super) struct Rates {
    pub(super) name: &'static str,
    pub(super) rates: Vec<Rate>,
}

impl Rates {
    /// No round yet.
    pub(super) fn of(name: &'static str) -> Self {
        Self { name, rates: Vec::new() }
    }

    /// The median of the jobs per second.
    pub(super) fn per_second(&self) -> f64 {
        median(self.rates.iter().map(Rate::per_second).collect())
    }

    /// As the details name it: rate and WAL.
    pub(super) fn told(&self) -> String {
        let wal = median(self.rates.iter().map(Rate::wal_per_job).collect());
        format!("{} {:.0}/s ({wal:.0} B WAL)", self.name, self.per_second())
    }
}

/// The best of the contenders by its median.
pub(super) fn best<'a>(contenders: impl IntoIterator<Item = &'a Rates>) -> f64 {
    contenders.into_iter().map(Rates::per_second).fold(0.0, f64::max)
}

/// All of them in words.
pub(super) fn told(contenders: &[Rates]) -> String {
    contenders.iter().map(Rates::told).collect::<Vec<_>>().join(", ")
}

/// The middle value; of an even number the upper middle. Zero of none.
pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_the_median_of_its_rounds_and_not_their_mean() {
        let mut rates = Rates::of("one");
        for milliseconds in [1_000, 100, 4_000] {
            rates.rates.push(Rate { jobs: 400, elapsed: Duration::from_millis(milliseconds), wal_bytes: 80_000 });
        }
        assert_eq!(rates.told(), "one 400/s (200 B WAL)");
    }
}
