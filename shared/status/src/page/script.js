
"use strict";
const KEY = "tidemark-status-token";
const EVERY_MS = 5000;
const part = (id) => document.getElementById(id);
let timer = 0;
let asked = 0;

function element(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

function duration(seconds) {
  if (seconds === null || seconds === undefined) return "none";
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 172800) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86400)} days`;
}

const number = (value) => (value === null || value === undefined ? "none" : Number(value).toLocaleString());
const milliseconds = (value) => (value === null || value === undefined ? "none" : `${number(value)} ms`);

function pairs(id, entries) {
  part(id).replaceChildren(...entries.flatMap(([name, value]) => [element("dt", name), element("dd", value)]));
}

function table(id, head, rows) {
  const made = part(id);
  made.replaceChildren();
  if (rows.length === 0) return;
  const headRow = element("tr");
  for (const name of head) {
    const cell = element("th", name);
    cell.scope = "col";
    headRow.append(cell);
  }
  made.append(headRow);
  for (const row of rows) {
    const line = element("tr");
    line.append(...row.map((value) => element("td", value)));
    made.append(line);
  }
}

function showAttention(found) {
  const entry = (className, what, next) => {
    const line = element("li", undefined, className);
    line.append(element("p", what));
    if (next) line.append(element("p", `Next: ${next}`));
    return line;
  };
  const lines = found.map((one) => entry(one.urgency, one.what, one.next));
  part("attention").replaceChildren(...(lines.length ? lines : [entry("good", "Nothing needs attention.")]));
}

function show({ worker_status: status, attention }) {
  const { queue, leases, last_hour: hour, ticks, settings, jobs } = status;
  showAttention(attention);
  pairs("queue", [
    ["Stale users", number(status.stale_users)],
    ["Users waiting", number(queue.pending_users)],
    ["Requests waiting", number(queue.pending_jobs)],
    ["Oldest request", duration(queue.oldest_pending_seconds)],
    ["Without attempts left", number(queue.exhausted_failed_jobs)],
  ]);
  part("jobs-part").hidden = !jobs || Object.keys(jobs).length === 0;
  if (!part("jobs-part").hidden) {
    pairs("jobs", [
      ["Waiting", number(jobs.pending)],
      ["Of these for their time", number(jobs.scheduled)],
      ["Oldest due", duration(jobs.oldest_pending_seconds)],
      ["Running", number(jobs.running)],
      ["Stuck", number(jobs.stuck)],
      ["Done", number(jobs.done)],
      ["Dead", number(jobs.dead) + (jobs.cancelled ? ` (${number(jobs.cancelled)} cancelled)` : "")],
      ["Dead in the last hour", number(jobs.dead_last_hour)],
      ["Open alerts", number(jobs.open_alerts)],
    ]);
  }
  pairs("leases", [
    ["Active", `${number(leases.active)} of ${number(settings.max_active)}`],
    ["Expired, not recovered", number(leases.expired_unrecovered)],
    ["Waiting in backoff", number(leases.backoff_waiting)],
  ]);
  table("lease-list", ["Phase", "Age", "Attempt", "User"],
    leases.active_list.map((one) => [one.phase, duration(one.age_seconds), one.attempt, one.user_id]));
  const codes = Object.entries(hour.failed_by_code).map(([code, count]) => `${code} ×${count}`).join(", ");
  pairs("hour", [
    ["Published", number(hour.completed)],
    ["Failed", number(hour.failed) + (codes ? ` (${codes})` : "")],
    ["Compute, 95 % within", milliseconds(hour.compute_ms_p95)],
    ["Compute, longest", milliseconds(hour.compute_ms_max)],
    ["Publish, 95 % within", milliseconds(hour.publish_ms_p95)],
    ["Publish, longest", milliseconds(hour.publish_ms_max)],
  ]);
  const order = ["claim", "compute", "publish", "work"];
  const names = Object.keys(ticks).sort((a, b) => order.indexOf(a) - order.indexOf(b));
  table("ticks", ["Function", "State", "Last tick", "Outcome"], names.map((name) => [
    name,
    settings[`${name}_enabled`] === false ? "paused" : "on",
    ticks[name].age_seconds === null ? "never" : `${duration(ticks[name].age_seconds)} ago`,
    ticks[name].last_outcome || "none",
  ]));
  pairs("settings", Object.entries(settings).filter(([name]) => name !== "id")
    .map(([name, value]) => [name, value === "" ? "none" : String(value)]));
  part("as-of").textContent = `As of ${new Date(status.as_of).toLocaleString()}`;
  part("ask").hidden = true;
  part("status").hidden = false;
  part("forget").hidden = false;
}

function ask(why) {
  clearTimeout(timer);
  sessionStorage.removeItem(KEY);
  part("status").hidden = true;
  part("forget").hidden = true;
  part("as-of").textContent = "";
  part("refused").textContent = why;
  part("ask").hidden = false;
  part("token").focus();
}

async function refresh() {
  clearTimeout(timer);
  const mine = ++asked;
  const token = sessionStorage.getItem(KEY);
  if (!token) return ask("");
  try {
    const answer = await fetch("dashboard", { headers: { Authorization: `Bearer ${token}` }, cache: "no-store" });
    if (mine !== asked) return;
    if (answer.status === 401) return ask("This token is not valid.");
    const body = await answer.json();
    if (mine !== asked) return;
    if (answer.ok) show(body);
    else part("as-of").textContent = `Not current: ${body.error.message}`;
  } catch {
    if (mine !== asked) return;
    part("as-of").textContent = "Not current: no answer from the status function; trying again.";
  }
  timer = setTimeout(refresh, EVERY_MS);
}

part("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem(KEY, part("token").value.trim());
  part("token").value = "";
  refresh();
});
part("forget").addEventListener("click", () => { asked += 1; ask(""); });
document.addEventListener("visibilitychange", () => {
  if (document.hidden) clearTimeout(timer);
  else if (sessionStorage.getItem(KEY)) refresh();
});
refresh();
