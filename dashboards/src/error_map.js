// Where the wrong elements lie: errors.map of a result as a small table of cells, as
// `wavefarm show` draws it.
import { h } from "./dom.js";

function share(wrong, checked) {
  if (checked === 0 && wrong === 0) return "not looked at";
  return `${wrong} of ${checked} wrong`;
}

function sign(wrong, checked) {
  if (wrong === 0) return checked > 0 ? "·" : "";
  return wrong >= checked ? "#" : String(Math.max(1, Math.floor(10 * wrong / checked)));
}

function cell(map, i, j) {
  const wrong = map.wrong[i][j], checked = map.checked[i][j];
  const from = (n, step, end) => `${n * step} to ${Math.min(end, (n + 1) * step) - 1}`;
  const title = `rows ${from(i, map.cell_rows, map.rows)}, columns `
    + `${from(j, map.cell_cols, map.cols)}: ${share(wrong, checked)}`;
  return h("td", { title, class: wrong > 0 ? (wrong >= checked ? "all" : "some") : "" },
    sign(wrong, checked));
}

// Null when nothing is wrong, or the result is older than the map.
export function errorMap(map) {
  if (!map) return null;
  const head = h("tr", {}, h("th", {}), ...map.wrong[0].map((_, j) =>
    h("th", { scope: "col" }, j % 4 === 0 ? String(j * map.cell_cols) : "")));
  const rows = map.wrong.map((line, i) => h("tr", {},
    h("th", { scope: "row" }, String(i * map.cell_rows)), ...line.map((_, j) => cell(map, i, j))));
  return h("figure", { id: "error-map" },
    h("figcaption", {}, `${map.tensor} as ${map.rows} rows × ${map.cols} columns, a cell is `
      + `${map.cell_rows} × ${map.cell_cols}: · right, 1–9 tenths wrong, # all wrong, `
      + "empty: not looked at"),
    h("div", { class: "scroll" }, h("table", {}, h("thead", {}, head), h("tbody", {}, ...rows))));
}
