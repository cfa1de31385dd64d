//! A figure over time as dots on the terminal.
//!
//! Our own: the small libraries for this either have no axis of time or bring a licence that deny.toml does not allow.

use jiff::civil::Date;

/// Characters across and down. Each holds 2 × 4 dots of a Braille pattern.
const COLUMNS: usize = 64;
const LINES: usize = 8;
const DOTS_ACROSS: usize = COLUMNS * 2;
const DOTS_DOWN: usize = LINES * 4;
/// Points further apart than this are not joined: nothing is known of the time between them.
const JOINED_DAYS: i32 = 35;
/// The Braille pattern without a dot, and the bits of its dots by row and column, as Unicode numbers them.
const NO_DOT: u32 = 0x2800;
const DOTS: [[u32; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];

/// Draws `points` in the order of their dates, with the least and the greatest value and both dates at the axes. `None` where
/// there are not two of them.
pub(crate) fn plot(points: &[(Date, f64)], label: impl Fn(f64) -> String) -> Option<String> {
    let ((first, _), (last, _)) = (points.first()?, points.last()?);
    if first == last {
        return None;
    }
    let least = points.iter().map(|(_on, value)| *value).fold(f64::INFINITY, f64::min);
    let most = points.iter().map(|(_on, value)| *value).fold(f64::NEG_INFINITY, f64::max);
    let across = |on: Date| {
        let share = f64::from(days(*first, on)) / f64::from(days(*first, *last));
        dot(share, DOTS_ACROSS)
    };
    // One value only lies in the middle.
    let down = |value: f64| dot(if most > least { (most - value) / (most - least) } else { 0.5 }, DOTS_DOWN);
    let mut canvas = Canvas::new();
    let mut before: Option<(Date, f64)> = None;
    for &(on, value) in points {
        let (x, y) = (across(on), down(value));
        match before {
            Some((on_before, value_before)) if days(on_before, on) <= JOINED_DAYS => {
                canvas.join((across(on_before), down(value_before)), (x, y));
            }
            _ => canvas.set(x, y),
        }
        before = Some((on, value));
    }
    Some(framed(&canvas, [label(most), label(f64::midpoint(most, least)), label(least)], (*first, *last), most > least))
}

/// The lines of the canvas between its axes.
fn framed(canvas: &Canvas, [most, middle, least]: [String; 3], (first, last): (Date, Date), has_range: bool) -> String {
    let width = [&most, &middle, &least].into_iter().map(|label| label.chars().count()).max().unwrap_or(0);
    let mut text = Vec::new();
    for (line, dots) in canvas.lines().enumerate() {
        let label = match line {
            0 if has_range => most.as_str(),
            line if line + 1 == LINES && has_range => least.as_str(),
            line if line == LINES / 2 => middle.as_str(),
            _ => "",
        };
        text.push(format!(" {label:>width$} │{dots}").trim_end().to_owned());
    }
    text.push(format!(" {:width$} └{}", "", "─".repeat(COLUMNS)));
    let (first, last) = (first.to_string(), last.to_string());
    let room = COLUMNS.saturating_sub(last.len());
    text.push(format!(" {:width$}  {first:<room$}{last}", ""));
    text.join("\n")
}

fn days(from: Date, to: Date) -> i32 {
    to.duration_since(from).as_hours().try_into().map_or(i32::MAX, |hours: i32| hours / 24)
}

/// Which of `count` dots a share from 0 to 1 is.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "0 to count")]
fn dot(share: f64, count: usize) -> usize {
    ((share.clamp(0.0, 1.0) * (count - 1) as f64).round() as usize).min(count - 1)
}

struct Canvas {
    cells: [[u32; COLUMNS]; LINES],
}

impl Canvas {
    fn new() -> Self {
        Self { cells: [[NO_DOT; COLUMNS]; LINES] }
    }

    fn set(&mut self, x: usize, y: usize) {
        self.cells[y / 4][x / 2] |= DOTS[y % 4][x % 2];
    }

    /// A straight line of dots, both ends included.
    fn join(&mut self, (from_x, from_y): (usize, usize), (to_x, to_y): (usize, usize)) {
        let steps = from_x.abs_diff(to_x).max(from_y.abs_diff(to_y)).max(1);
        let between = |from: usize, to: usize, step: usize| (from * (steps - step) + to * step + steps / 2) / steps;
        for step in 0..=steps {
            self.set(between(from_x, to_x, step), between(from_y, to_y, step));
        }
    }

    fn lines(&self) -> impl Iterator<Item = String> {
        // Trailing patterns without a dot are blanks, so that they can be left out.
        self.cells.iter().map(|line| {
            let dots: String = line.iter().filter_map(|&cell| char::from_u32(cell)).collect();
            dots.trim_end_matches('\u{2800}').to_owned()
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use jiff::civil::date;

    use super::*;

    fn kilograms(value: f64) -> String {
        format!("{value:.1}")
    }

    #[test]
    fn a_plot_goes_from_the_first_to_the_last_date_and_leaves_long_pauses_open() {
        let weeks =
            [(0, 100.0), (7, 102.5), (14, 101.0), (21, 107.5), (90, 95.0), (97, 104.0), (104, 110.0), (118, 112.5)];
        let points: Vec<(Date, f64)> = weeks
            .into_iter()
            .map(|(day, value)| (date(2026, 1, 5).checked_add(jiff::Span::new().days(day)).unwrap(), value))
            .collect();
        insta::assert_snapshot!(plot(&points, kilograms).unwrap());
    }

    #[test]
    fn equal_values_lie_in_the_middle_and_one_date_is_no_plot() {
        let on = date(2026, 1, 5);
        assert_eq!(plot(&[], kilograms), None);
        assert_eq!(plot(&[(on, 100.0)], kilograms), None);
        let level = plot(&[(on, 100.0), (date(2026, 1, 12), 100.0)], kilograms).unwrap();
        assert_eq!(level.matches("100.0").count(), 1, "{level}");
    }
}
