// What the pages must show, in headless Chromium. Called by pages.sh.
import assert from "node:assert/strict";
import fs from "node:fs";
import { parseArgs } from "node:util";

const names = ["playwright", "chromium", "url", "token", "run", "small", "bad", "going", "hold",
  "profile", "shots", "gate"];
const { values: arg } = parseArgs({
  options: Object.fromEntries(names.map((n) => [n, { type: "string" }])),
});
const { chromium } = await import(arg.playwright);

async function api(path) {
  const response = await fetch(arg.url + path, {
    headers: { Authorization: `Bearer ${arg.token}` },
  });
  assert.equal(response.status, 200, path);
  return response.json();
}

const complaints = [];
function watch(page) {
  page.on("console", (m) => {
    if (["error", "warning"].includes(m.type())) complaints.push(m.text());
  });
  page.on("pageerror", (e) => complaints.push(String(e)));
  page.on("request", (r) => {
    if (!r.url().startsWith(arg.url) && !r.url().startsWith("data:")) {
      complaints.push(`request to ${r.url()}`);
    }
  });
}

const context = await chromium.launchPersistentContext(arg.profile, {
  executablePath: arg.chromium, headless: true, viewport: { width: 1280, height: 860 },
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
const page = context.pages()[0] ?? await context.newPage();
page.setDefaultTimeout(15000);
watch(page);

const shot = (name) => page.screenshot({ path: `${arg.shots}/${name}.png`, fullPage: true });
const column = (n) => page.locator(`#results tbody tr td:nth-child(${n})`).allInnerTexts();
const heading = (name) => page.getByRole("button", { name: new RegExp(`^${name}`) });

// The pages' policy forbids what page.waitForFunction does.
async function until(what, timeoutMs = 15000) {
  const end = Date.now() + timeoutMs;
  for (;;) {
    if (await what()) return;
    if (Date.now() > end) throw new Error(`not true after ${timeoutMs} ms: ${what}`);
    await new Promise((done) => setTimeout(done, 50));
  }
}
const errorText = async () => (await page.locator("#error").isVisible()
  ? page.locator("#error").innerText() : "");

async function check(name, body) {
  try {
    await body();
    console.log(`ok: ${name}`);
  } catch (error) {
    await shot("failed");
    console.error(`FAILED: ${name}\n${error.stack}`);
    await context.close();
    process.exit(1);
  }
}

function formatted(ns) {
  for (const [unit, name] of [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]]) {
    if (ns >= unit) return `${(ns / unit).toPrecision(4)} ${name}`;
  }
  return `${ns.toPrecision(4)} ns`;
}

await check("without a token the page asks for one", async () => {
  await page.goto(`${arg.url}/?run=${arg.run}`);
  await page.locator("#token-form").waitFor();
  assert.match(await page.locator("#error").innerText(), /token/);
  await shot("no-token");
});

await check("a wrong token is told, the right one opens the page", async () => {
  await page.locator("#token").fill("wf_r_wrong");
  await page.locator("#token-form button").click();
  await until(async () => /mistyped or was revoked/.test(await errorText()));
  await shot("wrong-token");
  complaints.splice(0, complaints.length,
    ...complaints.filter((c) => !/401/.test(c))); // Chromium logs each answer 401
  await page.locator("#token").fill(arg.token);
  await page.locator("#token-form button").click();
  await page.locator("#results tbody tr").first().waitFor();
  assert.equal(await page.locator("#error").isVisible(), false);
  assert.equal(await page.locator("#token-form").isVisible(), false);
});

await check("a token in the address's fragment is taken and hidden", async () => {
  await page.evaluate(() => sessionStorage.clear());
  await page.goto("about:blank");
  await page.goto(`${arg.url}/#token=${arg.token}`);
  await page.locator("#runs tbody tr").first().waitFor();
  assert.equal(page.url().includes(arg.token), false);
});

await check("the list shows every run, newest first, text as text", async () => {
  const { runs } = await api("/v1/runs?limit=50");
  const rows = await page.locator("#runs tbody tr").allInnerTexts();
  assert.equal(rows.length, runs.length);
  runs.forEach((r, i) => {
    assert.ok(rows[i].includes(r.run) && rows[i].includes(r.state), rows[i]);
    assert.ok(rows[i].includes(r.name), `${rows[i]} lacks ${r.name}`);
  });
  assert.equal(await page.locator("#runs b").count(), 0);
  await shot("runs");
});

await check("a click on a run opens its table", async () => {
  await page.locator("#runs tbody tr", { hasText: "five sizes" }).click();
  await page.locator("#results tbody tr").first().waitFor();
  assert.equal(new URL(page.url()).searchParams.get("run"), arg.run);
});

let results;
await check("the table has the API's values", async () => {
  ({ results } = await api(`/v1/runs/${arg.run}/results?after=0&limit=500`));
  assert.ok(results.length >= 4);
  const rows = await page.locator("#results tbody tr").evaluateAll((list) => list.map((r) =>
    ({ task: r.dataset.task, cell: [...r.cells].map((c) => c.innerText) })));
  assert.equal(rows.length, results.length);
  for (const r of results) {
    const { cell } = rows.find((x) => x.task === r.task.id);
    assert.equal(cell[0], r.task.case_name);
    assert.equal(cell[1], r.task.kernel);
    assert.equal(cell[2], r.device.id);
    assert.equal(cell[3], r.answer);
    assert.equal(cell[4], r.time);
    if (!r.timing) {
      assert.deepEqual(cell.slice(5), ["–", "–", "–", "–"]);
      continue;
    }
    assert.equal(cell[5], formatted(r.timing.median));
    const { median, min, max, q1, q3 } = r.timing;
    assert.equal(cell[6], max > min ? `${(100 * (q3 - q1) / median).toFixed(1)} %` : "–");
    assert.equal(cell[7], `${(r.work.flops / median).toPrecision(4)} GFLOP/s`);
  }
  assert.ok(results.filter((r) => r.timing).length >= 4);
  await shot("run");
});

await check("columns sort both ways, numbers as numbers", async () => {
  await heading("median").click();
  const medians = new Map(results.filter((r) => r.timing)
    .map((r) => [formatted(r.timing.median), r.timing.median]));
  const times = (await column(6)).map((t) => medians.get(t));
  const up = times.filter((t) => t !== undefined);
  assert.deepEqual(up, [...up].sort((a, b) => a - b));
  assert.ok(times.slice(up.length).every((t) => t === undefined), "no time comes last");
  assert.equal(await page.locator("th[aria-sort=ascending]").count(), 1);
  await heading("median").click();
  assert.deepEqual((await column(6)).map((t) => medians.get(t)).slice(0, up.length),
    up.reverse(), "also downwards");
  await heading("case").click();
  const cases = await column(1);
  assert.deepEqual(cases, [...cases].sort((a, b) => a.localeCompare(b, "en", { numeric: true })));
});

await check("the filter keeps caret and address", async () => {
  await page.locator("#filter").pressSequentially("128X1280");
  assert.deepEqual([...new Set(await column(1))], ["128x1280x2048"]);
  assert.equal(await page.evaluate(() => document.activeElement.id), "filter");
  assert.equal(new URL(page.url()).searchParams.get("filter"), "128X1280");
  await page.locator("#filter").fill("nothing like this");
  await page.locator("#page .empty").waitFor();
  await page.locator("#filter").fill("");
  assert.equal((await column(1)).length, results.length);
});

await check("a task opens with a point for each sample", async () => {
  await page.locator("#results tbody tr", { hasText: "gemm_openblas" }).first().click();
  await page.locator("#detail canvas").waitFor();
  const id = new URL(page.url()).searchParams.get("task");
  const { result: full } = await api(`/v1/tasks/${id}`);
  const n = full.timing.samples.length;
  assert.ok(n >= 3);
  assert.equal(await page.locator("#samples").getAttribute("data-samples"), String(n));
  const text = await page.locator("#detail").innerText();
  assert.ok(text.includes(full.task.kernel) && text.includes(full.task.case_name));
  for (const c of full.checks) assert.ok(text.includes(c.name), `no check ${c.name}`);
  assert.ok(text.includes(full.tolerance.text));
  assert.ok(text.includes(full.code.source));
  // The plot is drawn: some pixels have the colour of the points.
  const ink = await page.locator("#detail canvas").evaluate((canvas) => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const colours = new Set();
    for (let i = 0; i < data.length; i += 4) {
      if (data[i + 3] > 200) colours.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]);
    }
    return colours.size;
  });
  assert.ok(ink > 3, `the plot has ${ink} colours`);
  await shot("task");
});

await check("a link to a task opens the same view; back returns", async () => {
  const link = page.url();
  await page.goto(`${arg.url}/`);
  await page.locator("#runs tbody tr").first().waitFor();
  await page.goto(link);
  await page.locator("#detail canvas").waitFor();
  assert.equal(await page.locator("tr[aria-selected=true]").count(), 1);
  await page.goBack();
  await page.locator("#runs tbody tr").first().waitFor();
});

await check("rows open with the keyboard", async () => {
  await page.goto(`${arg.url}/?run=${arg.run}`);
  await page.locator("#results tbody tr", { hasText: "gemm_openblas" }).nth(1).focus();
  await page.keyboard.press("Enter");
  await page.locator("#detail canvas").waitFor();
  assert.equal(await page.evaluate(() => document.activeElement.dataset.task),
    new URL(page.url()).searchParams.get("task"));
});

await check("a wrong answer says what is wrong and why", async () => {
  await page.goto(`${arg.url}/?run=${arg.bad}`);
  await page.locator("#results tbody tr", { hasText: "MISMATCH" }).click();
  await page.locator("#detail h2").waitFor();
  const text = await page.locator("#detail").innerText();
  assert.match(text, /MISMATCH: D\[0, 17\] is 2, wanted 1/);
  assert.match(text, /ratio 2/);
  assert.match(text, /not measured/);
  assert.match(text, /first wrong element\s+D\[0, 17\] is 2, wanted 1/);
  assert.match(text, /worst element\s+D\[9, 3\] is 8, wanted 4 ± 0.01/);
  assert.match(text, /3 differ, 0 not finite, 0 never written/);
  const map = page.locator("#error-map tbody td");
  assert.deepEqual(await map.allInnerTexts(), ["·", "1", "#", ""]);
  assert.equal(await map.nth(1).getAttribute("title"), "rows 0 to 8, columns 9 to 17: 1 of 81 wrong");
  assert.match(await map.nth(3).getAttribute("title"), /not looked at/);
  await shot("mismatch");
});

await check("a time says how it came about", async () => {
  await page.goto(`${arg.url}/?run=${arg.bad}`);
  await page.locator("#results tbody tr", { hasText: "card" }).click();
  await page.locator("#detail canvas").waitFor();
  const text = await page.locator("#detail").innerText();
  for (const part of [/asked for\s+± 1.0 % within 2000 ms, 10 to 1000 samples/,
    /warm-up\s+steady after 412 ms, clock steady/, /11 copies of all tensors; not proven: cold is only/,
    /instruction cache\s+cold: 11 copies/, /audit\s+52.00 µs a launch/, /drift\s+0.2 %/,
    /worth\s+164 independent/, /clock\s+1700 to 1898 MHz/, /power\s+650 W/, /temperature\s+61 °C/,
    /waited for the device\s+2000 ms/, /placement\s+subject processor 1 \(nice -10\)/]) {
    assert.match(text, part);
  }
  assert.match(await page.locator("#samples .u-legend").innerText(), /clock \(MHz\)/);
  assert.equal(await page.locator("#error-map").count(), 0);
  await shot("card");
});

await check("a run that goes on is updated by itself", async () => {
  await page.goto(`${arg.url}/?run=${arg.going}`);
  await page.locator("#facts").waitFor();
  assert.match(await page.locator("#facts").innerText(), /running · 0 of 12/);
  await shot("going-on");
  fs.unlinkSync(arg.hold);
  await until(async () =>
    /done · 12 of 12/.test(await page.locator("#facts").innerText()), 60000);
  assert.equal(await page.locator("#results tbody tr").count(), 12);
});

await check("what does not exist is told", async () => {
  await page.goto(`${arg.url}/?run=999999`);
  await until(async () => /999999/.test(await errorText()));
  assert.equal(await page.locator("#token-form").isVisible(), false);
  complaints.splice(0, complaints.length, ...complaints.filter((c) => !/404/.test(c)));
});

await check("a gate is told to be one", async () => {
  await page.goto(`${arg.url}/?run=${arg.gate}`);
  await until(async () => (await errorText()).includes(`wavefarm gate status ${arg.gate}`));
});

await check("dark mode is dark, narrow screens scroll inside the table", async () => {
  await page.emulateMedia({ colorScheme: "dark" });
  await page.goto(`${arg.url}/?run=${arg.small}`);
  await page.locator("#results tbody tr").first().click();
  await page.locator("#detail canvas").waitFor();
  const back = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  assert.ok(back.match(/\d+/g).slice(0, 3).every((c) => Number(c) < 60), back);
  await shot("dark");
  await page.setViewportSize({ width: 420, height: 800 });
  await page.goto(page.url());
  await page.locator("#detail canvas").waitFor();
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= 420, `the page is ${wide} wide`);
  await shot("narrow");
});

await check("no console message, no request elsewhere", async () => {
  assert.deepEqual(complaints, []);
});
await context.close();
