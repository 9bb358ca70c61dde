// Numbers and words for people. Mirrors `wavefarm show`.

export function time(ns) {
  if (typeof ns !== "number" || !(ns > 0)) return "–";
  for (const [unit, name] of [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]]) {
    if (ns >= unit) return `${(ns / unit).toPrecision(4)} ${name}`;
  }
  return `${ns.toPrecision(4)} ns`;
}

// One sample has no spread.
export function spread(timing) {
  return timing && timing.max > timing.min ? (timing.q3 - timing.q1) / timing.median : NaN;
}

// "2026-12-01 04:40:43 UTC" of an instant as the API writes it.
export function instant(text) {
  return text ? `${text.slice(0, 19).replace("T", " ")} UTC` : "";
}

export function percent(x, digits = 1) {
  return Number.isFinite(x) ? `${(100 * x).toFixed(digits)} %` : "–";
}

// TFLOP/s (GFLOP/s below one) where arithmetic bounds the case, GB/s where memory does:
// by the device's peaks, or at 50 flop a byte where none are known. order: to sort by.
export function rate(result) {
  const median = result.timing?.median;
  const { flops, bytes, peak_flops: peak, peak_bytes_per_s: peakBytes } =
    result.work ?? {};
  if (!(median > 0)) return { value: NaN, unit: "", order: NaN };
  const ridge = peak > 0 && peakBytes > 0 ? peak / peakBytes : 50;
  const giga = (flops < ridge * bytes ? bytes : flops) / median;
  if (flops < ridge * bytes) return { value: giga, unit: "GB/s", order: giga };
  return giga < 1000 ? { value: giga, unit: "GFLOP/s", order: giga }
    : { value: giga / 1000, unit: "TFLOP/s", order: giga };
}

export function roofline(result) {
  const floor = result.work?.roofline_ns;
  return floor > 0 && result.timing?.median > 0 ? floor / result.timing.median : NaN;
}

export function answerClass(answer) {
  if (answer === "PASS") return "good";
  return answer === "NOT_SUPPORTED" || answer === "CANCELLED" ? "warn" : "bad";
}

export function timeClass(text) {
  return text === "OK" ? "good" : "warn";
}
