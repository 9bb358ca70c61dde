// How a time came about, in words: what a result's details say of warm-up, samples, cold
// copies, audit, clocks and isolation (docs/measuring.md, docs/isolation.md). Only what is
// there is told: results of older runners have less.
import * as format from "./format.js";

const ms = (ns) => `${(ns / 1e6).toFixed(ns < 1e8 ? 1 : 0)} ms`;

function range(list, unit) {
  const known = (list ?? []).filter((x) => typeof x === "number");
  if (known.length === 0) return "";
  const lo = Math.min(...known), hi = Math.max(...known);
  return hi - lo < 0.5 ? `${hi.toFixed(0)} ${unit}` : `${lo.toFixed(0)} to ${hi.toFixed(0)} ${unit}`;
}

function warmup(d) {
  if (!d.warmup) return "";
  const clock = d.warmup_clock && d.warmup_clock !== "unknown" ? `, clock ${d.warmup_clock}` : "";
  return `${d.warmup}${Number.isFinite(d.warmup_ns) ? ` after ${ms(d.warmup_ns)}` : ""}${clock}`;
}

function asked(a) {
  return a ? `± ${format.percent(a.ci_target)} within ${ms(a.budget_ns)}, `
    + `${a.min_samples} to ${a.max_samples} samples` : "";
}

// Told proven only where the probe says so; its own text has the numbers.
export function coldState(result) {
  if (result.mode?.temperature !== "cold") return "";
  const probe = result.details?.cold_probe;
  const sets = result.details?.sets ? `${result.details.sets} copies of all tensors` : "";
  const state = !probe ? "not proven on this device"
    : `${probe.verdict}${probe.text ? `: ${probe.text}` : ""}`;
  return [sets, state].filter(Boolean).join("; ");
}

function icache(result) {
  if (result.mode?.icache !== "cold") return "";
  const copies = result.details?.icache?.copies;
  return copies ? `cold: ${copies} copies of the code in turn` : "cold";
}

function audit(a) {
  if (!a || !(a.launches > 0)) return "";
  return `${format.time(a.launch_ns)} a launch on inputs that changed just before, `
    + `by the judge's clock`;
}

function repeats(d) {
  if (!d.launches) return "";
  const n = d.distinct_outputs;
  const outputs = n === 1 ? ", the same bits each time" : n > 1 ? `, ${n} different outputs` : "";
  return `${d.launches} launches on equal inputs${outputs}`;
}

function naive(n) {
  if (!n) return "";
  return n.why ? `${n.state}: ${n.why}` : n.state;
}

function isolation(i) {
  if (!i) return "";
  const names = { judge_closed: "judge closed", capabilities_dropped: "capabilities dropped",
    no_new_privileges: "no new privileges", system_call_filter: "system call filter" };
  const has = Object.keys(names).filter((k) => i[k] === true).map((k) => names[k]);
  const lacks = Object.keys(names).filter((k) => i[k] === false).map((k) => names[k]);
  return has.join(", ") + (lacks.length ? `; not: ${lacks.join(", ")}` : "");
}

export function checkFacts(result) {
  const d = result.details ?? {};
  return [["repeated", repeats(d)], ["naive kernel", naive(d.naive)]];
}

export function timeConditions(result) {
  const d = result.details ?? {};
  const t = result.timing ?? {};
  return [["asked for", asked(d.asked)], ["warm-up", warmup(d)],
    ["cold", coldState(result)], ["instruction cache", icache(result)],
    ["audit", audit(d.audit)],
    ["drift", typeof t.drift === "number" ? format.percent(t.drift) : ""],
    ["worth", typeof t.effective_samples === "number"
      ? `${t.effective_samples.toFixed(0)} independent samples` : ""],
    ["clock", range(t.clock_mhz, "MHz")], ["power", range(t.power_w, "W")],
    ["temperature", range(t.temperature_c, "°C")],
    ["waited for the device", d.lock_wait_ns > 1e6 ? ms(d.lock_wait_ns) : ""]];
}

export function placeConditions(result) {
  const p = result.environment?.placement;
  const cpu = (n) => (n >= 0 ? `processor ${n}` : "no processor of its own");
  const pinned = p ? [`subject ${cpu(p.subject_cpu)} (nice ${p.subject_nice})`,
    `judge ${cpu(p.judge_cpu)} (nice ${p.judge_nice})`, p.note].filter(Boolean).join(", ") : "";
  return [["isolation", isolation(result.details?.isolation)], ["placement", pinned]];
}
