// The table of a run: sort by any column, filter by text, answer and time.
import { h } from "./dom.js";
import * as format from "./format.js";

const name = (r) => r.task.case_name || r.task.label;
const rateText = (r) => {
  const { value, unit } = format.rate(r);
  return Number.isFinite(value) ? `${value.toPrecision(4)} ${unit}` : "–";
};

// key: what the address says; sort: a number or a text.
const columns = [
  { key: "case", title: "case", text: name, sort: name },
  { key: "kernel", title: "kernel", text: (r) => r.task.kernel, sort: (r) => r.task.kernel },
  { key: "device", title: "device", text: (r) => r.device?.id ?? r.task.device_selector,
    sort: (r) => r.device?.id ?? "" },
  { key: "answer", title: "answer", text: (r) => r.answer, sort: (r) => r.answer,
    class: (r) => format.answerClass(r.answer) },
  { key: "time", title: "time", text: (r) => r.time, sort: (r) => r.time,
    class: (r) => format.timeClass(r.time) },
  { key: "median", title: "median", number: true, text: (r) => format.time(r.timing?.median),
    sort: (r) => r.timing?.median ?? Infinity },
  { key: "spread", title: "spread (IQR)", number: true,
    text: (r) => format.percent(format.spread(r.timing)), sort: (r) => format.spread(r.timing) },
  { key: "rate", title: "rate", number: true, text: rateText,
    sort: (r) => format.rate(r).order },
  { key: "roofline", title: "of roofline", number: true,
    text: (r) => format.percent(format.roofline(r), 0), sort: (r) => format.roofline(r) },
];

// What has no value comes last, whatever the direction.
function compare(a, b, sign) {
  if (typeof a === "string") return sign * a.localeCompare(b, "en", { numeric: true });
  if (!Number.isFinite(a)) return Number.isFinite(b) ? 1 : 0;
  return Number.isFinite(b) ? sign * (a - b) : -1;
}

function matches(result, state) {
  const text = `${name(result)} ${result.task.kernel} ${result.device?.id ?? ""}`;
  return (!state.answer || result.answer === state.answer)
    && (!state.time || result.time === state.time)
    && text.toLowerCase().includes((state.filter ?? "").toLowerCase());
}

export function visible(results, state) {
  const column = columns.find((c) => c.key === state.sort) ?? columns[0];
  const sign = state.order === "down" ? -1 : 1;
  return results.filter((r) => matches(r, state))
    .sort((a, b) => compare(column.sort(a), column.sort(b), sign));
}

function heading(column, state, change) {
  const active = (state.sort ?? "case") === column.key;
  const down = active && state.order === "down";
  const flip = () => change({ sort: column.key, order: active && !down ? "down" : null });
  return h("th", { scope: "col", class: column.number ? "num" : null,
    "aria-sort": active ? (down ? "descending" : "ascending") : null },
  h("button", { onclick: flip, "data-focus": `sort ${column.key}` }, column.title + (active ? (down ? " ▾" : " ▴") : "")));
}

function row(result, state, change) {
  const open = () => change({ task: result.task.id });
  const cells = columns.map((c) => h("td",
    { class: [c.number ? "num" : "", c.class ? c.class(result) : ""].join(" ").trim() || null },
    c.text(result)));
  return h("tr", { tabindex: "0", "data-task": result.task.id,
    "data-focus": `task ${result.task.id}`,
    "aria-selected": String(state.task === result.task.id), onclick: open,
    onkeydown: (e) => { if (e.key === "Enter") open(); } }, ...cells);
}

function chip(label, count, pressed, toggle, style) {
  return h("button", { class: `chip ${style}`, "aria-pressed": String(pressed),
    "data-focus": `chip ${label}`, onclick: toggle }, `${count} ${label}`);
}

function counts(results, member) {
  const n = new Map();
  for (const r of results) n.set(r[member], (n.get(r[member]) ?? 0) + 1);
  return [...n].sort();
}

export function filters(results, state, change) {
  const answers = counts(results, "answer").map(([a, n]) => chip(a, n, state.answer === a,
    () => change({ answer: state.answer === a ? null : a }), format.answerClass(a)));
  const times = counts(results, "time").map(([t, n]) => chip(`time ${t}`, n, state.time === t,
    () => change({ time: state.time === t ? null : t }), format.timeClass(t)));
  const input = h("input", { id: "filter", "data-focus": "filter", type: "search", placeholder: "case, kernel, device",
    "aria-label": "filter by text", value: state.filter ?? "",
    oninput: (e) => change({ filter: e.target.value || null }) });
  return h("div", { class: "chips" }, input, ...answers, ...times);
}

export function table(results, state, change) {
  const head = h("tr", {}, ...columns.map((c) => heading(c, state, change)));
  const rows = visible(results, state).map((r) => row(r, state, change));
  const none = results.length === 0 ? "No results yet." : "No result matches the filter.";
  return h("div", { class: "scroll" }, h("table", { id: "results" },
    h("thead", {}, head), h("tbody", {}, ...rows)),
  rows.length === 0 ? h("p", { class: "empty" }, none) : null);
}
