//! Every shape and language of the known formats, each by a small export written by hand.
#![allow(clippy::unwrap_used)]

use jiff::civil::DateTime;
use rust_decimal::Decimal;
use tidemark_importers::{CellProblem, Format, Import, ImportError, ParseOptions, SkipReason, parse};
use tidemark_stats::Unit;

fn import(text: &str) -> Import {
    parse(text.as_bytes(), &ParseOptions::default()).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Start, length, exercise, weight with its unit, reps and metres of each set.
type Seen = (DateTime, Option<i64>, String, Option<(String, Unit)>, Option<i32>, Option<Decimal>);

fn sets(import: &Import) -> Vec<Seen> {
    let of = |workout: &tidemark_importers::ImportedWorkout| {
        let (start, length) = (workout.local_start, workout.duration_seconds);
        let seen = move |set: &tidemark_importers::ImportedSet| {
            let weight = set.weight.map(|weight| (weight.value().to_string(), weight.unit()));
            (start, length, set.exercise.clone(), weight, set.reps, set.distance_meters)
        };
        workout.sets.iter().map(seen).collect::<Vec<_>>()
    };
    import.workouts.iter().flat_map(of).collect()
}

const STRONG_SHAPES: [&str; 4] = [
    "Date,Workout Name,Duration,Exercise Name,Set Order,Weight,Reps,Distance,Seconds,Notes,Workout Notes,RPE\n\
     2024-03-01 10:00:00,\"A\",1h 5m,\"Bench\",1,82.5,8,5,0,\"\",\"\",\n\
     2024-03-01 10:00:00,\"A\",1h 5m,\"Bench\",Rest Timer,0,0,0,90,,,\n",
    "Date;Workout Name;Exercise Name;Set Order;Weight;Weight Unit;Reps;RPE;Distance;Distance Unit;Seconds;Notes;Workout Notes;Workout Duration\n\
     2024-03-01 10:00:00;\"A\";\"Bench\";1;82,5;kg;8;;5;km;0;\"\";\"\";1h 5m\n\
     2024-03-01 10:00:00;\"A\";\"Bench\";Rest Timer;;;;;;;90;;;1h 5m\n",
    "\"Workout #\";\"Date\";\"Workout Name\";\"Duration (sec)\";\"Exercise Name\";\"Set Order\";\"Weight (kg)\";\"Reps\";\"RPE\";\"Distance (meters)\";\"Seconds\";\"Notes\";\"Workout Notes\"\n\
     \"1\";\"2024-03-01 10:00:00\";\"A\";\"3900\";\"Bench\";\"1\";\"82.5\";\"8\";\"\";\"5000\";\"\";\"\";\"\"\n\
     \"1\";\"2024-03-01 10:00:00\";\"A\";\"3900\";\"Bench\";\"Rest Timer\";\"\";\"\";\"\";\"\";\"90\";\"\";\"\"\n",
    "Date,Workout Name,Exercise Name,Set Order,kg,Reps,km,Seconds,Notes\n\
     2024-03-01 10:00:00,\"A\",\"Bench\",1,82.5,8,5,0,\"\"\n\
     2024-03-01 10:00:00,\"A\",\"Bench\",Rest Timer,,,,90,\"\"\n",
];

#[test]
fn the_four_shapes_of_strong_say_the_same() {
    for (shape, text) in STRONG_SHAPES.into_iter().enumerate() {
        let import = import(text);
        let (_, length, exercise, weight, reps, metres) = sets(&import).remove(0);
        assert_eq!((import.format, import.rows, import.skipped[0].reason), (Format::Strong, 2, SkipReason::RestTimer));
        assert_eq!((exercise.as_str(), weight, reps), ("Bench", Some(("82.5".to_owned(), Unit::Kilogram)), Some(8)));
        assert_eq!(metres, Some(Decimal::from(5000)), "{shape}");
        assert_eq!(length, (shape != 3).then_some(3900), "the oldest shape has no duration");
        assert_eq!(import.assumed_unit, (shape == 0).then_some(Unit::Kilogram), "only the classic shape says no unit");
    }
}

#[test]
fn units_may_change_from_row_to_row() {
    let text = "Date;Workout Name;Exercise Name;Set Order;Weight;Weight Unit;Reps;Distance;Distance Unit\n\
        2024-03-01 10:00:00;A;Bench;1;100;kg;5;;\n2024-03-01 10:00:00;A;Bench;2;225;lbs;5;1;mi\n";
    let found = sets(&import(text));
    assert_eq!(found[0].3, Some(("100".to_owned(), Unit::Kilogram)));
    assert_eq!((&found[1].3, found[1].5), (&Some(("225".to_owned(), Unit::Pound)), Some(Decimal::new(1_609_344, 3))));
}

#[test]
fn strong_is_read_in_every_language_of_the_table() {
    for (header, order) in [
        (
            "Datum,Workout-Name,Dauer,Name der Übung,Reihenfolge festlegen,Gewicht,Wiederh.,Entfernung,Sekunden,Notizen,Workout-Notizen,RPE",
            "Ruhezeit",
        ),
        (
            "Date,Nom de l'entraînement,Durée,Nom de l'exercice,Ordre de la série,Poids,Réps,Distance,Secondes,Notes,Notes de l’entraînement,RPE",
            "Minuteur de repos",
        ),
        (
            "Data,Nome do treino,Duração,Nome do exercício,Ordem da série,Peso,Reps,Distância,Segundos,Notas,Notas do treino,RPE",
            "Cronômetro de descanso",
        ),
        (
            "Fecha,Nombre del entrenamiento,Duración,Nombre del ejercicio,Orden de la serie,Peso,Repeticiones,Distancia,Segundos,Notas,Notas del entrenamiento,RPE",
            "Descanso",
        ),
        (
            "Data,Nome allenamento,Durata,Nome esercizio,Ordine serie,Peso,Ripetizioni,Distanza,Secondi,Note,Note allenamento,RPE",
            "Timer di riposo",
        ),
        (
            "Tarih,Antrenman Adı,Süre,Egzersiz Adı,Set Sırası,Ağırlık,Tekrar,Mesafe,Saniye,Notlar,Antrenman Notları,RPE",
            "Dinlenme Süresi",
        ),
        ("날짜,운동 이름,운동 시간,운동명,세트 순서,무게,횟수,거리,초,메모,운동 메모,RPE", "휴식 타이머"),
        ("日付,ワークアウト名,時間,種目名,セット順,重量,回数,距離,秒,メモ,ワークアウトメモ,RPE", "休憩タイマー"),
    ] {
        let text = format!(
            "{header}\r\n2025-08-23 17:51:23,\"A\",2h 23min,\"Chest Press\",1,50.0,12.0,0,0.0,\"\",\"\",\r\n\
             2025-08-23 17:51:23,\"A\",2h 23min,\"Chest Press\",{order},0,0.0,0,120.0,,,\r\n"
        );
        let import = import(&text);
        assert_eq!(import.skipped[0].reason, SkipReason::RestTimer, "{header}");
        let found = sets(&import);
        assert_eq!((found.len(), found[0].1, found[0].4), (1, Some(8580), Some(12)), "{header}");
    }
}

#[test]
fn hevy_takes_each_unit_with_each_other() {
    for (weight, unit) in [("weight_kg", Unit::Kilogram), ("weight_lbs", Unit::Pound)] {
        for (distance, metres) in [("distance_km", Decimal::from(1500)), ("distance_miles", Decimal::new(2_414_016, 3))]
        {
            let text = format!(
                "title,start_time,end_time,description,exercise_title,superset_id,exercise_notes,set_index,set_type,{weight},reps,{distance},duration_seconds,rpe\n\
                 A,\"15 févr. 2025, 07:48\",\"17 févr. 2025, 07:48\",,Sled,,,0,normal,60,5,1.5,30,8.25\n"
            );
            let import = import(&text);
            assert_eq!(sets(&import)[0].3, Some(("60".to_owned(), unit)));
            assert_eq!((sets(&import)[0].5, sets(&import)[0].1), (Some(metres), Some(48 * 3600)));
            assert_eq!((import.workouts[0].sets[0].rpe, import.assumed_unit), (Some(Decimal::new(825, 2)), None));
        }
    }
}

#[test]
fn fitnotes_is_read_with_its_three_headers() {
    for (header, row) in [
        (
            "Date,Exercise,Category,Weight,Weight Unit,Reps,Distance,Distance Unit,Time,Comment",
            "2024-03-01,Bench,Chest,135,lbs,5,,,,",
        ),
        ("Date,Exercise,Category,Weight (lbs),Reps,Distance,Distance Unit,Time", "2024-03-01,Bench,Chest,135,5,,,"),
        (
            "Date,Exercise,Category,Weight (kg),Weight (lbs),Reps,Distance,Distance Unit,Time,Notes,Kind",
            "2024-03-01,Bench,Chest,,135,5,,,,,wr",
        ),
    ] {
        let import = import(&format!("{header}\n{row}\n"));
        assert_eq!(import.format, Format::FitNotes);
        assert_eq!(
            (&sets(&import)[0].3, sets(&import)[0].4),
            (&Some(("135".to_owned(), Unit::Pound)), Some(5)),
            "{header}"
        );
    }
    let both = "Date,Exercise,Category,Weight (kg),Weight (lbs),Reps\n2024-03-01,Bench,Chest,60,135,5\n";
    let problem = CellProblem::TwoUnits;
    let expected = ImportError::Cell { line: 2, column: "Weight (lbs)".to_owned(), problem };
    assert_eq!(parse(both.as_bytes(), &ParseOptions::default()), Err(expected));
}

#[test]
fn joined_exports_are_read_and_what_they_repeat_is_skipped() {
    let once = STRONG_SHAPES[0];
    let joined = import(&once.repeat(2));
    let reasons: Vec<_> = joined.skipped.iter().map(|row| row.reason).collect();
    assert_eq!((joined.rows, sets(&joined).len()), (5, 1));
    assert_eq!(
        reasons,
        [SkipReason::RestTimer, SkipReason::RepeatedHeader, SkipReason::Repeated, SkipReason::RestTimer]
    );
    let other = format!("{once}{}", STRONG_SHAPES[3]);
    assert_eq!(parse(other.as_bytes(), &ParseOptions::default()), Err(ImportError::OtherHeader { line: 4 }));
}

#[test]
fn a_workout_that_nobody_could_edit_is_refused() {
    let text = |sets: usize| {
        let row = "2024-03-01 10:00:00,\"A\",1h,\"Bench\",1,60,8,0,0,\"\",\"\",\n";
        format!("{}\n{}", STRONG_SHAPES[0].lines().next().unwrap(), row.repeat(sets))
    };
    assert_eq!(sets(&import(&text(2000))).len(), 2000);
    let error = parse(text(2001).as_bytes(), &ParseOptions::default()).unwrap_err();
    assert_eq!(error, ImportError::WorkoutTooLarge { line: 2002 });
    let name = text(1).replace("Bench", &"é".repeat(201));
    let problem = CellProblem::TooLong { characters_max: 200 };
    let expected = ImportError::Cell { line: 2, column: "Exercise Name".to_owned(), problem };
    assert_eq!(parse(name.as_bytes(), &ParseOptions::default()), Err(expected));
}

#[test]
fn the_guide_knows_every_required_name_and_every_language_of_the_tables() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |name: &str| std::fs::read_to_string(root.join(name)).unwrap();
    let (guide, headers, months) = (read("../../docs/IMPORTING.md"), read("data/headers.csv"), read("data/months.csv"));
    for (code, language) in [
        ("en", "English"),
        ("de", "German"),
        ("fr", "French"),
        ("es", "Spanish"),
        ("it", "Italian"),
        ("pt", "Portuguese"),
        ("tr", "Turkish"),
        ("ko", "Korean"),
        ("ja", "Japanese"),
        ("nl", "Dutch"),
        ("sv", "Swedish"),
        ("pl", "Polish"),
        ("ru", "Russian"),
    ] {
        assert!(guide.contains(language), "{language}");
        assert!(months.contains(&format!("\n{code},1,")), "{code}");
    }
    let known = ["en", "de", "fr", "es", "it", "pt", "tr", "ko", "ja", "nl", "sv", "pl", "ru"];
    for line in headers.lines().chain(months.lines()).skip(1) {
        let mut cells = line.split(',');
        let language = if line.matches(',').count() > 3 { cells.nth(3) } else { cells.next() };
        assert!(known.contains(&language.unwrap()) || line == "language,month,name", "{line}");
    }
    for format in ["Strong", "Hevy", "FitNotes", "StrongLifts", "Fitbod", "GymBook"] {
        assert!(guide.contains(format) && headers.contains(&format!("\n{format},start,")), "{format}");
    }
}
