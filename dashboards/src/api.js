// Requests to the coordinator. The reader token comes once in the address's fragment
// (#token=...), which no server sees, and is kept for this tab only.

const KEY = "wavefarm-token";

export function takeTokenFromAddress() {
  const match = /(?:^#|&)token=([A-Za-z0-9_-]+)/.exec(location.hash);
  if (match) {
    sessionStorage.setItem(KEY, match[1]);
    history.replaceState(null, "", location.pathname + location.search);
  }
}

export function setToken(text) {
  sessionStorage.setItem(KEY, text.trim());
}

export function hasToken() {
  return sessionStorage.getItem(KEY) !== null;
}

export class ApiError extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

export async function get(path, signal) {
  const response = await fetch(path, {
    headers: { Authorization: `Bearer ${sessionStorage.getItem(KEY) ?? ""}` },
    signal,
  });
  const body = await response.json().catch(() => null);
  if (!response.ok) {
    throw new ApiError(response.status, body?.detail ?? `${path}: ${response.status}`);
  }
  return body;
}

// All pages of a run's results, without samples.
export async function results(run, signal) {
  const all = [];
  let after = "0";
  for (;;) {
    const page = await get(`/v1/runs/${run}/results?after=${after}&limit=500`, signal);
    all.push(...page.results);
    if (page.next === null) return all;
    after = page.next;
  }
}
