// One task: its samples as they came, with the median and its interval; what was
// checked and with which limits; where it ran.
import uPlot from "./uPlot.esm.js";
import { h } from "./dom.js";
import * as format from "./format.js";
import { checkFacts, placeConditions, timeConditions } from "./condition_facts.js";
import { errorMap } from "./error_map.js";

function css(variable) {
  return getComputedStyle(document.documentElement).getPropertyValue(variable).trim();
}

function unitOf(median) {
  return [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]].find(([u]) => median >= u) ?? [1, "ns"];
}

const value1 = (x) => (typeof x === "number" ? x : null);

function hasClock(timing) {
  return (timing.clock_mhz ?? []).some((x) => typeof x === "number");
}

// Series: samples that count, samples left out, the median, the interval's two ends, and
// the clock where it is known of at least one sample.
function plotData(timing, unit) {
  const left = new Set([...(timing.invalid ?? []), ...(timing.flagged ?? [])]);
  const at = timing.samples.map((_, i) => i + 1);
  const value = (x) => (typeof x === "number" ? x / unit : null);
  const level = (x) => at.map(() => value(x));
  return [at,
    timing.samples.map((s, i) => (left.has(i) ? null : value(s))),
    timing.samples.map((s, i) => (left.has(i) ? value(s) : null)),
    level(timing.median), level(timing.ci_lo), level(timing.ci_hi),
    ...(hasClock(timing) ? [at.map((_, i) => value1(timing.clock_mhz[i]))] : [])];
}

function points(label, colour) {
  return { label, stroke: colour, width: 0, paths: () => null,
    points: { show: true, size: 6, fill: colour } };
}

function line(label, colour, dash) {
  return { label, stroke: colour, width: 1.5, dash, points: { show: false } };
}

function plotWidth(place) {
  return Math.max(260, place.clientWidth);
}

function plot(timing, place) {
  const [unit, name] = unitOf(timing.median);
  const clock = hasClock(timing);
  const axis = { stroke: css("--soft"), grid: { stroke: css("--line"), width: 1 } };
  const options = {
    width: plotWidth(place), height: 300,
    scales: { x: { time: false } },
    axes: [{ ...axis, label: "sample", incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500] },
      { ...axis, label: name, size: 70 },
      ...(clock ? [{ ...axis, scale: "MHz", label: "MHz", side: 1, size: 70, grid: { show: false } }] : [])],
    series: [{ label: "sample" }, points(`time (${name})`, css("--accent")),
      points("left out", css("--bad")), line("median", css("--good")),
      line("95 % from", css("--soft"), [4, 4]), line("to", css("--soft"), [4, 4]),
      ...(clock ? [{ ...line("clock (MHz)", css("--warn"), [2, 3]), scale: "MHz" }] : [])],
  };
  const drawn = new uPlot(options, plotData(timing, unit), place);
  new ResizeObserver(() => drawn.setSize({ width: plotWidth(place), height: 300 }))
    .observe(place);
}

function facts(entries) {
  return h("dl", {}, ...entries.filter(([, v]) => v !== "" && v !== null && v !== undefined)
    .flatMap(([k, v]) => [h("dt", {}, k), h("dd", {}, String(v))]));
}

function check(c) {
  const reach = c.smallest_caught > 0
    ? `; catches one element wrong by ${Number(c.smallest_caught).toPrecision(3)}` : "";
  return [`check ${c.name}`, `${c.passed ? "passed" : "FAILED"}, ${c.elements} elements, `
    + `largest error ${Number(c.worst_ratio).toPrecision(3)} of its limit${reach}`
    + `${c.note ? `; ${c.note}` : ""}`];
}

function element(result, which) {
  const w = result.errors?.[which];
  if (!w || result.answer === "PASS") return "";
  const limit = w.tolerance === undefined ? "" : ` ± ${w.tolerance}`;
  return `${w.tensor}[${w.index.join(", ")}] is ${w.got}, wanted ${w.want}${limit}`;
}

function wrongCounts(result) {
  const e = result.errors;
  if (!e || result.answer === "PASS" || !(e.mismatches + e.nonfinite + e.unwritten > 0)) return "";
  return `${e.mismatches} differ, ${e.nonfinite} not finite, ${e.unwritten} never written`;
}

function answerFacts(result) {
  return [["answer", result.answer_text ? `${result.answer}: ${result.answer_text}`
    : result.answer], ["likely cause", result.diagnosis],
  ["first wrong element", element(result, "first")], ["worst element", element(result, "worst")],
  ["wrong elements", wrongCounts(result)], ...(result.checks ?? []).map(check),
  ...checkFacts(result), ["tolerance", result.tolerance?.text]];
}

// Few samples have no interval: that is told, not drawn as one of no width.
function interval(t) {
  return Number.isFinite(t.ci_lo) ? `(95 %: ${format.time(t.ci_lo)} to ${format.time(t.ci_hi)})`
    : "(no interval: too few samples)";
}

function timeFacts(result) {
  const t = result.timing;
  if (!t) return [["time", result.time], ["", result.time_text]];
  return [["time", result.time_text ? `${result.time}: ${result.time_text}` : result.time],
    ["median", `${format.time(t.median)} ${interval(t)}`],
    ["samples", `${t.samples.length} of ${t.launches_per_sample} launch`
      + `${t.launches_per_sample === 1 ? "" : "es"} each, ${t.source}, ${result.mode.temperature}`],
    ["host clock / events", Number(t.host_ratio).toPrecision(4)], ...timeConditions(result)];
}

function placeFacts(result) {
  const code = result.code ?? {};
  return [["device", `${result.device?.name} (${result.device?.id})`],
    ["runner", result.environment?.host], ["driver", result.device?.driver],
    ["pack", `${result.task.pack_name} ${result.task.pack}`],
    ["source", code.source], ["compiler", [code.compiler, code.flags].filter(Boolean).join(" ")],
    ["commit", code.commit ? code.commit + (code.dirty ? " (with changes)" : "") : ""],
    ...placeConditions(result), ["case", JSON.stringify(result.task.case)],
    ["attempt", result.attempt]];
}

// What happened before: of interest when the first attempt was not the last.
function attempts(list) {
  if (list.length < 2) return null;
  return h("dl", {}, ...list.flatMap((a) => [h("dt", {}, `attempt ${a.attempt}`),
    h("dd", {}, `${a.runner}, ${a.device}: ${a.outcome}${a.reason ? ` (${a.reason})` : ""}, `
      + `${(a.elapsed_ms / 1000).toFixed(1)} s`)]));
}

function drawPlot(result, chart) {
  const samples = result.timing?.samples ?? [];
  chart.dataset.samples = String(samples.length);
  if (samples.length === 0) {
    chart.append(h("p", { class: "empty" }, "No samples: the task was not measured."));
    return;
  }
  chart.setAttribute("aria-label", `${samples.length} samples, median `
    + format.time(result.timing.median));
  plot(result.timing, chart);
}

// Fills `place` from GET /v1/tasks/{id}; uPlot needs it in the page to know its width.
export function show(task, place) {
  const { result } = task;
  const title = h("h2", {}, `${task.case_name || task.label} · ${task.kernel}`);
  if (!result) {
    place.replaceChildren(title, h("p", { class: "empty" }, `No result: ${task.state}.`),
      ...[attempts(task.attempts)].filter(Boolean));
    return;
  }
  const chart = h("div", { id: "samples", role: "img" });
  const map = result.answer === "PASS" ? null : errorMap(result.errors?.map);
  place.replaceChildren(...[title, chart, facts(answerFacts(result)), map,
    facts(timeFacts(result)), facts(placeFacts(result)), attempts(task.attempts)].filter(Boolean));
  drawPlot(result, chart);
}
