// The script of the page of a batch: the parts of its report, live.

/** Where the page of failures of a batch starts. */
const failurePages = { batch: null, starts: [""] };

async function batchPage(id) {
  if (failurePages.batch !== id) Object.assign(failurePages, { batch: id, starts: [""] });
  const start = failurePages.starts[failurePages.starts.length - 1];
  const [answer, { images, next }, { statistics, previous }, page] = await Promise.all([
    call("batches/" + id), call(`batches/${id}/images?limit=24`), call(`batches/${id}/statistics`),
    call("failures?" + query({ batch: id, after: start, limit: 10 }))]);
  const { batch, errors, hasFailures } = answer;
  pages.batch.title = "Batch " + batch.batch;
  const change = (title, verb, question, danger, note) =>
    button(title, `batches/${id}/${verb}`, {}, question, danger, note);
  const isOver = batch.state === "finished" || batch.state === "cancelled";
  if (batch.total === 0 && isOver) {
    return [make("p", {}, batchState(batch), make("span", { class: "quiet" }, "opened ", time(batch.openedAt))),
      make("p", { class: "empty" }, "No image was enqueued in this batch.")];
  }
  return [
    make("p", {}, batchState(batch), make("span", { class: "quiet" },
      `${number(batch.finished)} of ${number(batch.total)} items in `,
      isOver ? duration(batch.seconds) : elapsed(batch.seconds, answer), ", opened ", time(batch.openedAt))),
    bar(batch),
    make("div", { class: "actions" },
      reportButton(id),
      isOver ? null : batch.state === "paused" ? change("Resume", "resume", `Resume ${batch.batch}?`)
        : change("Pause", "pause", `Pause ${batch.batch}? Its jobs wait.`),
      hasFailures && batch.state !== "cancelled" ? change("Retry failed", "retry", `Retry the failed items of ${batch.batch}?`, false,
        ({ items }) => `${number(items)} items are tried again.`) : null,
      hasFailures ? change("Discard failures", "discard", `Discard the failures of ${batch.batch}?`, true) : null,
      isOver ? null : change("Cancel batch", "cancel",
        `Cancel ${batch.batch}? ${number(batch.open)} items end at once.`, true)),
    tiles([
      ["succeeded", number(batch.succeeded), "good"],
      ["failed", failed(batch.failed, { batch: id })],
      ["cancelled", number(batch.cancelled)], ["open", number(batch.open)], ["fresh", number(batch.fresh)],
      ["blocked", number(batch.blocked)], ["retries", number(batch.retries)], ["downloads", number(batch.downloads)],
      ["variants", number(batch.variants)], ["received", bytes(batch.bytesIn)], ["stored", bytes(batch.bytesOut)],
      ["items/s", batch.rate.toFixed(1)], ["time left", duration(batch.etaSeconds)],
      ["median of a job", took(batch.p50Ms)], ["95th percentile", took(batch.p95Ms)],
    ].filter(([, value]) => !["0", "0.0", "0 B", "–"].includes(value))),
    causesSection(id, batch, errors, statistics.causes),
    failureTable(batch, page),
    make("h2", {}, "Newest images"),
    gallery(id, images, next, isOver),
    timeSection(statistics), originsSection(statistics), sizesSection(statistics), previousSection(batch, previous),
    statistics.jobs === 0 ? null : make("p", { class: "quiet" }, `Times, origins and examples are of the newest ${number(statistics.jobs)} jobs, `
      + `variants of the newest ${number(Math.min(250, statistics.jobs))}; the report has all.`),
  ];
}

/** The errors of a batch; the causes of an error are known of its newest jobs. */
function causesSection(id, batch, errors, causes) {
  if (errors.length === 0) return [make("h2", {}, "Failures"), make("p", { class: "quiet" }, "No image failed.")];
  const top = Math.max(...errors.map((row) => row.items));
  const rows = errors.map((row) => {
    const own = causes.filter((cause) => cause.domain === row.domain && cause.code === row.code);
    const { meaning, action } = own.length === 1 ? own[0] : row;
    return { ...row, meaning, action, causes: own, name: row.domain + row.code };
  });
  return [
    make("h2", {}, "Failures"),
    table("Errors", [
      ["Cause", (row) => [make("b", {}, row.meaning), make("p", { class: "quiet" }, row.action), ...row.causes.map((cause) =>
        make("details", {}, make("summary", { class: "quiet" }, row.causes.length === 1 ? "Details" : `${cause.meaning}: ${number(cause.items)}`),
          make("p", { class: "quiet" }, `${cause.message} (${row.domain} ${row.code})`),
          make("ul", {}, cause.examples.map((url) => make("li", {}, breakable(url))))))], "long"],
      ["Items", (row) => failed(row.items, { batch: id, domain: row.domain, code: row.code }), "number"],
      ["", (row) => share(row.items, top, "bad")],
      ["", (row) => batch.state === "cancelled" ? null : button("Retry", `batches/${id}/retry-error`, { domain: row.domain, code: row.code },
        `Retry the items that failed with “${row.meaning}”?`, false,
        ({ items }) => `${number(items)} items are tried again.`), "actions"],
    ], rows, "No error."),
  ];
}

function failureTable(batch, { failures, next }) {
  if (failures.length === 0 && failurePages.starts.length === 1) return null;
  return [
    make("div", { class: "heading" }, make("h3", {}, "Failed images"),
      make("a", { href: "#/failures?" + query({ batch: batch.batchID }) }, "All failures of the batch")),
    table("Failed images", [
      ["URL", (row) => breakable(row.url), "long"],
      ["Error", (row) => [row.message, row.attempts > 1 ? make("small", {}, ` ${row.attempts} attempts`) : ""], "long"],
    ], failures, "No further failures."),
    make("div", { class: "actions" },
      failurePages.starts.length > 1 ? make("button", { type: "button", onclick: () => { failurePages.starts.pop(); show(); } }, "Previous failures") : null,
      next ? make("button", { type: "button", onclick: () => { failurePages.starts.push(next); show(); } }, "Next failures") : null),
  ];
}

/** Of ms: `850 ms`, `4.5 s`, `3m 20s`. */
const took = (value) => value === null ? "–" : value < 1000 ? Math.round(value) + " ms"
  : value < 60000 ? (Math.floor(value / 100) / 10).toFixed(1) + " s" : duration(value / 1000);

/** The ms of a job. */
const jobTime = ({ wait, fetch, transcode, store }) => wait + fetch + transcode + store;

function timeSection({ timeline, slotMilliseconds, stages, slowest }) {
  if (timeline.length === 0) return null;
  const bySlot = new Map(timeline.map((row) => [row.slot, row]));
  // At least 20, so that a column of a short run is not as wide as the chart.
  const list = Array.from({ length: Math.max(19, ...timeline.map((row) => row.slot)) + 1 }, (_, slot) => {
    const row = bySlot.get(slot) ?? { succeeded: 0, skipped: 0 };
    return { good: row.succeeded, bad: row.skipped,
      text: `after ${took(slot * slotMilliseconds)}: ${number(row.succeeded)} succeeded, ${number(row.skipped)} failed or cancelled` };
  });
  const top = roundTop(Math.max(1, ...list.map((slot) => slot.good + slot.bad)));
  const times = [0, 1, 2, 3, 4].map((part) => took(Math.round(part * list.length * slotMilliseconds / 4)));
  const known = stages.filter((row) => row.p50 !== null);
  const longest = Math.max(1, ...known.map((row) => row.p99));
  return [
    make("h2", {}, "Time"),
    plot(`Items per ${took(slotMilliseconds)}`, top, times, [["good", "succeeded"], ["bad", "failed or cancelled"]],
      `Items that ended in each ${took(slotMilliseconds)}`, ...columns("stripes-batch", list, top)),
    known.length === 0 ? null : table("Stages of a job", [
      ["Stage", (row) => row.title, "medium"],
      ["Median", (row) => took(row.p50), "number"], ["95 %", (row) => took(row.p95), "number"],
      ["99 %", (row) => took(row.p99), "number"], ["", (row) => share(row.p99, longest)],
    ], known.map((row) => ({ ...row, name: row.stage })), ""),
    slowest.length > 0 ? disclosure(`Slowest jobs: the slowest took ${took(Math.max(...slowest.map(jobTime)))}`,
      table("Slowest jobs", [
        ["URL", (row) => breakable(row.url), "long"], ["Time", (row) => took(jobTime(row)), "number"],
        ["Wait", (row) => took(row.wait), "number"], ["Fetch", (row) => took(row.fetch), "number"],
        ["Transcode", (row) => took(row.transcode), "number"], ["Store", (row) => took(row.store), "number"],
      ], slowest, "")) : null,
  ];
}

function originsSection({ origins, originCount }) {
  if (origins.length === 0) return null;
  return [
    make("h2", {}, "Origins"),
    table("Origins", [
      ["Origin", (row) => row.origin, "long"], ["Items", (row) => number(row.items), "number"],
      ["Failed", (row) => failed(row.failed, { origin: row.origin }), "number"], ["Received", (row) => bytes(row.bytesIn), "number"],
      ["Median download", (row) => took(row.fetchMs), "number"],
    ], origins, ""),
    originCount > origins.length ? make("p", { class: "quiet" }, `${origins.length} of ${number(originCount)} origins.`) : null,
  ];
}

function sizesSection({ variants, largest }) {
  if (variants.length === 0 && largest.length === 0) return null;
  const top = Math.max(1, ...variants.map((row) => Math.max(row.bytes, row.originals)));
  return [
    make("h2", {}, "Sizes"),
    variants.length > 0 ? table("Variants", [
      ["Variant", (row) => row.name, "medium"], ["Files", (row) => number(row.files), "number"], ["Made", (row) => number(row.made), "number"],
      ["Originals", (row) => bytes(row.originals), "number"], ["", (row) => share(row.originals, top, "quiet")],
      ["Variant", (row) => bytes(row.bytes), "number"], ["", (row) => share(row.bytes, top)],
      ["Of the originals", (row) => row.originals > 0 ? (row.bytes * 100 / row.originals).toFixed(1) + " %" : "–", "number"],
    ], variants, "") : null,
    largest.length > 0 ? disclosure(
      `Largest downloads: the largest has ${bytes(Math.max(...largest.map((row) => row.bytes)))}`,
      table("Largest downloads", [
        ["URL", (row) => breakable(row.url), "long"], ["Size", (row) => bytes(row.bytes), "number"],
      ], largest, "")) : null,
  ];
}

function previousSection(batch, previous) {
  if (!previous) return null;
  const rows = [["items", "total", number], ["succeeded", "succeeded", number], ["failed", "failed", number],
    ["retries", "retries", number], ["received", "bytesIn", bytes], ["stored", "bytesOut", bytes], ["elapsed", "seconds", duration]];
  return [
    make("h2", {}, "Previous run"),
    table("Previous run", [
      ["Count", (row) => row.name], ["Before", (row) => row.text(row.before), "number"], ["Now", (row) => row.text(row.now), "number"],
      ["Change", (row) => row.now === row.before ? "–" : (row.now > row.before ? "+" : "−") + row.text(Math.abs(row.now - row.before)), "number"],
    ], rows.map(([name, field, text]) => ({ name, text, before: previous[field], now: batch[field] })), ""),
    make("p", {}, make("a", { href: "#/batches/" + previous.batchID }, "The previous run")),
  ];
}
