//! The metrics are OpenMetrics to a parser that is not ours.

use tidemark_tests::Pipeline;
use uuid::Uuid;

use crate::gateway::Gateway;
use crate::{TOKEN, python};

/// Reads an address with a token; prints each sample's name, labels and value.
const READ: &str = r"
import sys, urllib.request
from prometheus_client.openmetrics.parser import text_string_to_metric_families
request = urllib.request.Request(sys.argv[1], headers={'Authorization': 'Bearer ' + sys.argv[2]})
answer = urllib.request.urlopen(request)
assert answer.headers['Content-Type'] == 'application/openmetrics-text; version=1.0.0; charset=utf-8', answer.headers
for family in text_string_to_metric_families(answer.read().decode()):
    assert family.type == 'gauge' and family.documentation, family
    for sample in family.samples:
        print(sample.name, sorted(sample.labels.items()), sample.value)
";

#[tokio::test]
async fn a_parser_of_openmetrics_reads_every_figure_also_with_hostile_labels() {
    let mut pipeline = Pipeline::new().await;
    let user = Uuid::new_v4();
    pipeline.save(user, "2026-07-19T17:30:00+02:00", "Bench Press", &[(100.0, 5)]).await;
    pipeline.claim().await;
    let run = pipeline.one("SELECT id, attempt, lease_token FROM public.user_stats_projection_runs", &[]).await;
    let (id, attempt, token): (i64, i32, Uuid) = (run.get(0), run.get(1), run.get(2));
    let hostile = "quo\"te\\ and\nline } # EOF";
    let fail = "SELECT tidemark.run_fail_v1($1, $2, $3, $4, '')";
    let failed = pipeline.one(fail, &[&id, &attempt, &token, &hostile]).await;
    assert_eq!(failed.get::<_, String>(0), "retry");

    let gateway = Gateway::start(&pipeline, TOKEN).await;
    let url = format!("http://{}/metrics", gateway.address);
    let (passed, said) = python::run("python", &["-c", READ, &url, TOKEN]).await;
    assert!(passed, "{said}");
    let hostile = r#"tidemark_last_hour_failed_runs [('code', 'quo"te\\ and\nline } # EOF')] 1"#;
    for line in ["tidemark_stale_users [] 1", "tidemark_leases_active [] 0", hostile] {
        assert!(said.lines().any(|one| one.starts_with(line)), "{line} is not in\n{said}");
    }
}
