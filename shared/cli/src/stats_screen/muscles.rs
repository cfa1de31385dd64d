//! Sets by muscle, week by week.

use std::collections::BTreeMap;

use jiff::ToSpan as _;
use jiff::civil::Date;

use super::figures::tenths;
use super::rows::MuscleWeek;
use crate::table::{Column, narrow_table};

/// As many as fit beside the names and the volume.
const WEEKS_SHOWN: usize = 6;

/// Sets of the latest weeks, the running one last; where nothing was logged in them, of the weeks up to the last that has sets.
/// Nothing where no muscle was ever worked.
pub(super) fn draw(rows: &[MuscleWeek], running_week: Date) -> anyhow::Result<Option<String>> {
    let Some(last_logged) = rows.iter().map(|row| row.week_start).max() else {
        return Ok(None);
    };
    let mut weeks = weeks_up_to(running_week)?;
    let is_now = last_logged >= weeks[0];
    if !is_now {
        weeks = weeks_up_to(last_logged)?;
    }
    let mut muscles: BTreeMap<&str, ([f64; WEEKS_SHOWN], f64)> = BTreeMap::new();
    for row in rows {
        // A week that began on another weekday, before the person moved the start, counts where its first date lies.
        let Some(place) = weeks.iter().rposition(|&week| week <= row.week_start) else { continue };
        if place + 1 == WEEKS_SHOWN && row.week_start >= weeks[place].checked_add(7.days())? {
            continue;
        }
        let (sets, volume) = muscles.entry(&row.muscle).or_default();
        sets[place] += row.sets;
        if place + 1 == WEEKS_SHOWN {
            *volume += row.working_volume_kg;
        }
    }
    let mut muscles: Vec<_> = muscles.into_iter().collect();
    let total = |sets: &[f64; WEEKS_SHOWN]| sets.iter().sum::<f64>();
    muscles.sort_by(|(_, (one, _)), (_, (other, _))| total(other).total_cmp(&total(one)));
    let titles: Vec<String> =
        weeks
            .iter()
            .enumerate()
            .map(|(place, week)| {
                if is_now && place + 1 == WEEKS_SHOWN {
                    "this week".to_owned()
                } else {
                    week.to_string()[5..].to_owned()
                }
            })
            .collect();
    let mut columns = vec![Column::Words("MUSCLE")];
    columns.extend(titles.iter().map(|title| Column::Figures(title)));
    columns.push(Column::Figures("volume kg"));
    let table = narrow_table(
        &columns,
        muscles.into_iter().map(|(muscle, (sets, volume))| {
            let sets = sets.iter().map(|&sets| if sets > 0.0 { tenths(sets) } else { "·".to_owned() });
            [muscle.to_owned()].into_iter().chain(sets).chain([tenths(volume)]).collect()
        }),
    );
    let note =
        if is_now { String::new() } else { format!("\n (nothing was logged since the week from {last_logged})") };
    let title = " SETS BY MUSCLE AND WEEK; volume of the last week; secondary muscles count half";
    Ok(Some(format!("{title}\n{table}{note}")))
}

/// The first dates of the weeks shown, the last of them `last`.
fn weeks_up_to(last: Date) -> anyhow::Result<[Date; WEEKS_SHOWN]> {
    let mut weeks = [last; WEEKS_SHOWN];
    for place in (0..WEEKS_SHOWN - 1).rev() {
        weeks[place] = weeks[place + 1].checked_sub(7.days())?;
    }
    Ok(weeks)
}
