// The sections of a batch, for its dashboard page and for a report.
//
// `counts` are the counts of one or several batches; `statistics` are from `report --format json`, or a sample.

/** The outcome, what was saved, the most frequent causes, and the other counts; `batch` is null for several batches. */
function summary(counts, batch, statistics, causes, isSample) {
  const outcomes = [["good", counts.succeeded, "succeeded"], ["bad", counts.failed, "failed"],
    ["quiet", counts.cancelled, "cancelled"], ["none", counts.open, "open"]];
  const word = batch ? stateText(batch).replace(/^./, (letter) => letter.toUpperCase()) + ": " : "";
  const saved = savings(statistics.variants), missed = isSample ? [] : statistics.variants.filter((row) => row.overBudget > 0);
  return [
    make("p", { class: "sentence" }, `${word}${number(counts.succeeded)} of ${plural(counts.total, "image")}. `,
      saved && !isSample ? saved.text + ` (${bytesOf(saved.bytes, saved.originals)}).` : saved ? saved.text + "." : null),
    bar(counts),
    make("p", { class: "keys" }, outcomes.filter(([kind, count]) => count > 0 || kind === "good").map(([kind, count, name]) =>
      make("span", { class: "legend" }, make("i", { class: "key-" + kind, "aria-hidden": "true" }),
        make("span", {}, make("b", {}, number(count)), " " + name)))),
    causes.length + missed.length === 0 ? null : make("ul", { class: "reasons" },
      missed.map((row) => make("li", {}, make("b", {}, number(row.overBudget)), ` ${row.name} over the budget of ${bytes(row.budget)}`)),
      causes.slice(0, 3).map((cause) => make("li", {}, make("b", {}, number(cause.items)), " " + cause.meaning)),
      causes.length > 3 ? make("li", { class: "quiet" }, `and ${plural(causes.length - 3, "more cause")}`) : null),
    tiles([
      ["time left", duration(batch?.etaSeconds)], ["saved", saved && !isSample && saved.left > 0 ? bytes(saved.left) : "–", "good"],
      ["received", bytes(counts.bytesIn)], ["stored", bytes(counts.bytesOut)],
      ["downloads", number(counts.downloads)], ["variants made", number(counts.variants)],
      ["fresh, not loaded again", number(counts.fresh)], ["blocked", number(counts.blocked)],
      ["retries", number(counts.retries), "warn"], ["discarded", number(counts.discarded)],
      ["items/s", batch?.rate ? batch.rate.toFixed(1) : "–"], ["median of a job", took(batch?.p50Ms)],
      ["95 % of jobs", took(batch?.p95Ms)],
    ].filter(([, value]) => !["0", "0.0", "0 B", "0s", "–"].includes(value))),
  ];
}

/** The bytes that the variants save compared with their originals; null without variants. */
function savings(variants) {
  const sum = (name) => variants.reduce((total, row) => total + row[name], 0);
  const own = sum("bytes"), originals = sum("originals");
  if (originals === 0) return null;
  const change = smaller(own, originals);
  return { bytes: own, originals, left: originals - own,
    text: `Variants are ${change.slice(1)} ${change.startsWith("+") ? "larger" : "smaller"}` };
}

/** Merges causes with the same text into one row; `parts` are its causes with different messages. */
function merged(causes) {
  const rows = new Map();
  for (const cause of causes) {
    const row = rows.get(cause.meaning);
    if (row) { row.items += cause.items; row.parts.push(cause); } else rows.set(cause.meaning, { ...cause, parts: [cause] });
  }
  return [...rows.values()].sort((a, b) => b.items - a.items);
}

/** `showsCode` adds the error's domain and code, as `-v` does; `more` are further columns. */
function causesTable(rows, batch, showsCode, ...more) {
  const top = Math.max(...rows.map((row) => row.items));
  const urls = (part) => make("ul", {}, part.examples.map((url) => make("li", {}, breakable(url))));
  const details = (row, part) => row.parts.length === 1 && part.items === 1 ? [make("p", { class: "quiet" }, part.message), urls(part)]
    : [row.parts.length === 1 ? make("p", { class: "quiet" }, part.message) : null,
      make("details", {}, make("summary", { class: "quiet" }, row.parts.length === 1
        ? (part.examples.length < part.items ? "First " : "") + plural(part.examples.length, "URL") : `${part.message}: ${number(part.items)}`),
        urls(part))];
  const columns = [
    ["Cause", (row) => [make("b", {}, row.meaning), make("p", { class: "action" }, advice(row.action, batch)),
      row.parts.map((part) => details(row, part))], "long cause"],
    ["Items", (row) => failed(row.items, row.filter), "number"], ["", (row) => share(row.items, top, "bad")],
    ["Origins", (row) => {
      const counts = new Map();
      for (const { origin, items } of row.parts.flatMap((part) => part.byOrigin)) counts.set(origin, (counts.get(origin) ?? 0) + items);
      const rest = Math.max(0, ...row.parts.map((part) => part.origins)) - counts.size;
      return counts.size === 0 ? null : [[...counts].map(([origin, items]) => make("p", {}, make("code", {}, origin),
        items < row.items ? make("span", { class: "quiet" }, " " + plural(items, "item")) : null)),
      rest > 0 ? make("p", { class: "quiet" }, `and ${plural(rest, "more origin")}`) : null];
    }, "medium"],
    showsCode ? ["Error", (row) => [...new Set(row.parts.map(({ domain, code }) => `${domain} ${code}`))].join(", ")
      || `${row.domain} ${row.code}`, "error"] : null,
    ...more,
  ].filter((column) => column);
  const list = rows.map((row) => ({ ...row, name: row.meaning + row.code }));
  const rest = list.slice(10);
  return [table("Failures by cause", columns, list.slice(0, 10), ""),
    rest.length > 0 ? disclosure(plural(rest.length, "more cause"), table("More causes", columns, rest, "")) : null];
}

/** A job's total ms. */
const jobTime = ({ wait, fetch, transcode, store }) => wait + fetch + transcode + store;

function timeSection({ startedAt, timeline, slotMilliseconds, stages, slowest }) {
  if (timeline.length === 0) return null;
  const bySlot = new Map(timeline.map((row) => [row.slot, row]));
  // At least eight, so that a column of a short run is not as wide as the chart.
  const slots = Array.from({ length: Math.max(7, ...timeline.map((row) => row.slot)) + 1 }, (_, slot) =>
    bySlot.get(slot) ?? { slot, succeeded: 0, skipped: 0, wait: 0, fetch: 0, transcode: 0, store: 0 });
  const length = took(slotMilliseconds), after = (row) => `after ${took(row.slot * slotMilliseconds)}: `;
  const times = [localTime(startedAt), ...[1, 2].map((part) => "+" + took(part * slots.length * slotMilliseconds / 2))];
  const known = stages.filter((row) => row.p50 !== null);
  const longest = Math.max(1, ...known.map((row) => row.p99));
  return [
    make("div", { class: "charts" },
      columns("stripes-batch", `Items per ${length}`, slots.map((row) => ({ values: [row.succeeded, row.skipped],
        text: `${after(row)}${number(row.succeeded)} succeeded, ${number(row.skipped)} failed or cancelled` })), times,
      [["good", "succeeded"], ["bad", "failed or cancelled"]], `Items that ended in each ${length}`),
      known.length === 0 ? null : columns("stripes-stages", "Mean time of a job", slots.map((row) => ({
        values: jobStages.map(([, name]) => row[name]),
        text: after(row) + jobStages.map(([, name]) => `${name} ${took(row[name])}`).join(", ") })), times, jobStages,
      "Mean times of the stages of the jobs that ended then", (value) => value === 0 ? "0" : took(value))),
    known.length === 0 ? null : table("Stages of a job", [
      ["Stage", (row) => row.title, "medium"],
      ["Median", (row) => took(row.p50), "number"], ["95 %", (row) => took(row.p95), "number"],
      ["99 %", (row) => took(row.p99), "number"], ["", (row) => share(row.p99, longest)],
    ], known.map((row) => ({ ...row, name: row.stage })), ""),
    slowest.length > 0 ? disclosure(`Slowest jobs: the slowest took ${took(Math.max(...slowest.map(jobTime)))}`,
      table("Slowest jobs", [
        ["URL", (row) => breakable(row.url), "long"], ["Time", (row) => took(jobTime(row)), "number"],
        ["", (row) => waterfall(row, Math.max(...slowest.map(jobTime)))],
        ["Wait", (row) => took(row.wait), "number"], ["Fetch", (row) => took(row.fetch), "number"],
        ["Transcode", (row) => took(row.transcode), "number"], ["Store", (row) => took(row.store), "number"],
      ], slowest, "")) : null,
  ];
}

function originsSection({ origins, originCount }) {
  if (origins.length < 2 && !origins.some((row) => row.failed > 0)) return null;
  const most = Math.max(...origins.map((row) => row.items)), longest = Math.max(...origins.map(jobTime));
  return [
    table("Origins", [
      ["Origin", (row) => row.origin, "long"], ["Items", (row) => number(row.items), "number"],
      ["", (row) => share(row.items, most, row.failed === row.items ? "bad" : "accent")],
      ["Failed", (row) => failed(row.failed, { origin: row.origin }), "number"], ["Received", (row) => bytes(row.bytesIn), "number"],
      ["Median download", (row) => took(row.fetchMs), "number"],
      ["Mean time of a job", (row) => jobTime(row) > 0 ? [took(jobTime(row)), waterfall(row, longest)] : "–"],
    ], [...origins].sort((a, b) => b.items - a.items), ""),
    originCount > origins.length
      ? make("p", { class: "quiet" }, `These are the ${origins.length} with the most failures of ${number(originCount)}.`) : null,
  ];
}

/** How many files exceed their variant's budget, in red, or that none does. */
const budget = (row) => row.overBudget > 0
  ? make("b", { class: "bad" }, `${number(row.overBudget)} over ${bytes(row.budget)}`)
  : make("span", { class: "good" }, "all within " + bytes(row.budget));

function sizesSection({ variants, formats, largest }) {
  if (formats.length === 0 && largest.length === 0) return null;
  const top = Math.max(1, ...variants.map((row) => Math.max(row.bytes, row.originals)));
  const most = Math.max(1, ...formats.map((row) => Math.max(row.originalBytes, row.variantBytes)));
  return [
    variants.length > 0 ? table("Variants", [
      ["Variant", (row) => row.name, "medium"], ["Files", (row) => number(row.files), "number"], ["Made", (row) => number(row.made), "number"],
      ["Originals", (row) => bytes(row.originals), "number"], ["", (row) => share(row.originals, top, "quiet")],
      ["Variants", (row) => bytes(row.bytes), "number"], ["", (row) => share(row.bytes, top)],
      ["Saved", (row) => row.originals === 0 ? "–" : make("b", { class: row.bytes > row.originals ? "bad" : "good" },
        `${row.bytes > row.originals ? "−" : ""}${bytes(Math.abs(row.originals - row.bytes))} (${smaller(row.bytes, row.originals)})`), "number"],
      ...variants.some((row) => row.budget) ? [["Budget", (row) => row.budget ? budget(row) : "–", "number"]] : [],
    ], variants, "") : null,
    formats.length > 0 ? table("Formats", [
      ["Format", (row) => row.name, "medium"], ["Originals", (row) => number(row.originals), "number"],
      ["Bytes of originals", (row) => row.originals > 0 ? bytes(row.originalBytes) : "–", "number"], ["", (row) => share(row.originalBytes, most, "quiet")],
      ["Variants", (row) => number(row.variants), "number"],
      ["Bytes of variants", (row) => row.variants > 0 ? bytes(row.variantBytes) : "–", "number"], ["", (row) => share(row.variantBytes, most)],
    ], formats.map((row) => ({ ...row, name: row.format })), "") : null,
    largest.length > 0 ? disclosure(
      `Largest downloads: the largest has ${bytes(Math.max(...largest.map((row) => row.bytes)))}`,
      table("Largest downloads", [
        ["URL", (row) => breakable(row.url), "long"], ["Size", (row) => bytes(row.bytes), "number"],
      ], largest, "")) : null,
  ];
}

function previousSection(batch, previous) {
  if (!previous || !batch) return null;
  const rows = [["items", "total", number], ["succeeded", "succeeded", number], ["failed", "failed", number],
    ["fresh", "fresh", number], ["retries", "retries", number], ["received", "bytesIn", bytes], ["stored", "bytesOut", bytes],
    ["elapsed", "seconds", duration], ["median of a job", "p50Ms", took], ["95 % of jobs", "p95Ms", took]]
    .map(([name, field, text]) => ({ name, text, before: previous[field], now: batch[field] }))
    .filter(({ before, now }) => before || now);
  const changed = (name, kind, count, urls) => !count ? null : make("details", { open: count <= 5 ? "" : null },
    make("summary", {}, make("b", { class: kind }, `${plural(count, "URL")} ${name}`)),
    make("ul", {}, urls.map((url) => make("li", {}, breakable(url)))),
    count > urls.length ? make("p", { class: "quiet" }, `The first ${urls.length} by URL.`) : null);
  return [
    make("p", { class: "quiet" }, `Compared with ${previous.batch}@${previous.run}, opened `, time(previous.openedAt), "."),
    changed("newly failed", "bad", previous.newlyFailed, previous.newlyFailedURLs),
    changed("fixed", "good", previous.fixed, previous.fixedURLs),
    table("Previous run", [
      ["Count", (row) => row.name], ["Before", (row) => row.text(row.before), "number"], ["Now", (row) => row.text(row.now), "number"],
      ["Change", (row) => row.now === row.before || row.now === null || row.before === null ? "–"
        : (row.now > row.before ? "+" : "−") + row.text(Math.abs(row.now - row.before)), "number"],
    ], rows, ""),
  ];
}

/** The retried errors, and the URLs blocked since. */
function retriesSection({ retries, blocks, blockCount }, refused, showsCode) {
  if (retries.length + refused + blockCount === 0) return null;
  const error = (row) => [row.meaning, showsCode ? [" ", command(`${row.domain} ${row.code}`)] : null];
  return [
    retries.length === 0 ? null : [make("h3", {}, "Attempts that failed and were repeated"),
      table("Repeated attempts", [["Error", error, "long"], ["Attempts", (row) => number(row.attempts), "number"]],
        retries.map((row) => ({ ...row, name: row.domain + row.code })), "")],
    refused > 0 ? make("p", {}, `${plural(refused, "item")} ${refused === 1 ? "was" : "were"} not tried: the URL was on the blocklist before.`) : null,
    blockCount === 0 ? make("p", { class: "quiet" }, "No URL is blocked by these failures.") : [
      make("h3", {}, `Blocked by these failures: ${plural(blockCount, "URL")}`),
      table("Blocked URLs", [["URL", (row) => breakable(row.url), "long"], ["Error", error, "long"],
        ["Failures", (row) => number(row.fails), "number"], ["Until", (row) => time(row.until)]], blocks, ""),
      make("p", { class: "quiet" }, blockCount > blocks.length ? `The first ${blocks.length} by URL. ` : null,
        command("larder blocklist list"), " shows all, ", command("larder blocklist remove URL"), " ends a block.")],
  ];
}

function settingsSection({ options, workers, pipelines }) {
  const rows = [
    ...options.filter((row) => row.options.length > 0 || options.length > 1).map((row) =>
      ({ name: `Options of ${plural(row.items, "item")}`, value: row.options.length > 0 ? command(row.options.join(", ")) : "none" })),
    ...workers.map((row) => ({ name: "Worker " + row.name,
      value: `${plural(row.jobs, "job")} with ${plural(row.slots, "slot")} on ${row.host}, larder ${row.version}` })),
  ];
  const specs = pipelines.filter((row) => row.name !== "original");
  if (rows.length + specs.length === 0) return null;
  return [
    rows.length > 0 ? table("Settings", [["Setting", (row) => row.name, "long"], ["Value", (row) => row.value, "long"]], rows, "") : null,
    specs.map((row) => disclosure(`Pipeline ${row.name}, version ${row.version}`,
      make("pre", { tabindex: "0" }, JSON.stringify(JSON.parse(row.spec), null, 2)))),
  ];
}
