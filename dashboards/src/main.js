// One page: the list of runs (/), or a run (/?run=17), with a task open (&task=901). All
// state is in the address, so that every view has a link.
import * as api from "./api.js";
import { h } from "./dom.js";
import * as format from "./format.js";
import * as runTable from "./run_table.js";
import * as taskDetail from "./task_detail.js";

const STATE = ["run", "task", "sort", "order", "filter", "answer", "time"];
const page = document.getElementById("page");
let watching = null; // AbortController of the present view
let results = [];
let info = null;

function state() {
  const q = new URLSearchParams(location.search);
  return Object.fromEntries(STATE.map((k) => [k, q.get(k)]));
}

function link(change) {
  const q = new URLSearchParams();
  for (const [k, v] of Object.entries({ ...state(), ...change })) if (v) q.set(k, v);
  return `/?${q}`;
}

function fail(error) {
  if (error.name === "AbortError") return;
  const box = document.getElementById("error");
  box.textContent = error.status === 401 && api.hasToken()
    ? "The coordinator does not know this token: it is mistyped or was revoked."
    : error.message;
  box.hidden = false;
  document.getElementById("token-form").hidden = !(error.status === 401 || error.status === 403);
}

function clearError() {
  document.getElementById("error").hidden = true;
  document.getElementById("token-form").hidden = true;
}

function answers(counts) {
  return Object.entries(counts).flatMap(([a, n], i) => [i > 0 ? ", " : "",
    h("span", { class: format.answerClass(a) }, `${n} ${a}`)]);
}

async function showRuns(signal) {
  const { runs } = await api.get("/v1/runs?limit=50", signal);
  document.getElementById("where").textContent = "runs";
  document.title = "WaveFarm";
  const rows = runs.map((r) => h("tr", { onclick: () => go(`/?run=${r.run}`) },
    h("td", {}, h("a", { href: `/?run=${r.run}` }, `run ${r.run}`)), h("td", {}, r.name),
    h("td", {}, r.suite), h("td", {}, r.state), h("td", { class: "num" }, `${r.done}/${r.tasks}`),
    h("td", {}, ...answers(r.answers)), h("td", {}, format.instant(r.created))));
  const head = ["run", "name", "suite", "state", "done", "answers", "created"]
    .map((t) => h("th", { scope: "col", class: t === "done" ? "num" : null }, t));
  page.replaceChildren(h("h1", {}, "Runs"), runs.length === 0
    ? h("p", { class: "empty" }, "No runs yet: wavefarm submit gemm-five")
    : h("div", { class: "scroll" }, h("table", { id: "runs" },
      h("thead", {}, h("tr", {}, ...head)), h("tbody", {}, ...rows))));
}

function summary() {
  const ended = info.state === "done" || info.state === "cancelled";
  const bar = ended ? null : h("div", { class: "bar", role: "progressbar", "aria-valuemin": "0",
    "aria-valuemax": String(info.tasks), "aria-valuenow": String(info.done),
    "aria-label": "tasks done" }, h("div", {}));
  if (bar) bar.firstChild.style.width = `${(100 * info.done) / Math.max(1, info.tasks)}%`;
  const facts = [info.state, `${info.done} of ${info.tasks} tasks`,
    ended ? "" : `${info.leased} leased`, `${(info.elapsed_ms / 1000).toFixed(1)} s`,
    info.suite ? `suite ${info.suite}` : "", format.instant(info.created)];
  return [h("h1", {}, `Run ${info.run}: ${info.name}`),
    h("p", { class: "facts", id: "facts" }, facts.filter(Boolean).join(" · ")),
    bar].filter(Boolean);
}

// Drawing anew must not lose the place of who types or walks with the keyboard.
function drawRun() {
  const focus = document.activeElement?.dataset.focus;
  const caret = document.activeElement?.selectionStart;
  const s = state();
  const detail = document.getElementById("detail") ?? h("section", { id: "detail" });
  page.replaceChildren(...summary(), runTable.filters(results, s, change),
    runTable.table(results, s, change), detail);
  const again = focus && page.querySelector(`[data-focus="${CSS.escape(focus)}"]`);
  if (again) {
    again.focus({ preventScroll: true });
    if (focus === "filter") again.setSelectionRange(caret, caret);
  }
}

async function openTask(id, signal) {
  const place = document.getElementById("detail");
  place.className = "detail";
  taskDetail.show(await api.get(`/v1/tasks/${id}`, signal), place);
}

async function watchRun(run, signal) {
  document.getElementById("where").textContent = `run ${run}`;
  document.title = `WaveFarm run ${run}`;
  info = await api.get(`/v1/runs/${run}`, signal);
  if (info.kind === "gate") {
    throw new Error(`${run} is a gate, which no page shows: 'wavefarm gate status ${run}' does`);
  }
  for (;;) {
    results = await api.results(run, signal);
    drawRun();
    if (state().task && !document.getElementById("detail").hasChildNodes()) {
      await openTask(state().task, signal);
    }
    if (info.state === "done" || info.state === "cancelled") return;
    info = await api.get(`/v1/runs/${run}?wait_ms=20000&since=${info.version}`, signal);
  }
}

async function route() {
  watching?.abort();
  watching = new AbortController();
  clearError();
  if (!api.hasToken()) {
    fail(new api.ApiError(401, "These pages need a reader token."));
    return;
  }
  const { run } = state();
  page.replaceChildren();
  try {
    await (run ? watchRun(run, watching.signal) : showRuns(watching.signal));
    document.body.dataset.ready = "1";
  } catch (error) {
    fail(error);
  }
}

function go(url) {
  history.pushState(null, "", url);
  route();
}

// A change inside a run: the data stays, the table is drawn anew.
function change(c) {
  history.replaceState(null, "", link(c));
  drawRun();
  if (c.task) openTask(c.task, watching.signal).catch(fail);
}

document.getElementById("token-form").addEventListener("submit", (e) => {
  e.preventDefault();
  api.setToken(document.getElementById("token").value);
  route();
});
addEventListener("popstate", route);
api.takeTokenFromAddress();
route();
