// A batch's page: the sections of its report, live.

/** The cursors at which the batch's pages of failures start. */
const failurePages = { batch: null, starts: [""] };

async function batchPage(id, filter) {
  for (const pages of [failurePages, imagePages]) if (pages.batch !== id) Object.assign(pages, { batch: id, starts: [""] });
  // The page of images that begins with the one in the address.
  if (/^\d+$/.test(filter.image ?? "") && !document.querySelector("dialog[open]")) {
    Object.assign(imagePages, { starts: ["", String(Number(filter.image) + 1)], named: filter.image });
  }
  const [answer, { images, next }, { statistics, previous }, page] = await Promise.all([
    call("batches/" + id), call(`batches/${id}/images?` + query({ after: imagePages.starts.at(-1), limit: mostTiles })),
    call(`batches/${id}/statistics`), call("failures?" + query({ batch: id, after: failurePages.starts.at(-1), limit: 10 }))]);
  const { batch, errors, hasFailures } = answer;
  pages.batch.title = "Batch " + batch.batch + runText(batch);
  const change = (title, verb, question, danger, note) =>
    button(title, `batches/${id}/${verb}`, {}, question, danger, note);
  const isOver = batch.state === "finished" || batch.state === "cancelled";
  if (batch.total === 0 && isOver) {
    return [make("p", {}, batchState(batch), make("span", { class: "quiet" }, "opened ", time(batch.openedAt))),
      make("p", { class: "empty" }, "No image was enqueued in this batch.")];
  }
  const causes = causesOf(id, batch, errors, statistics.causes);
  const section = (title, content) => content === null ? null : [make("h2", {}, title), content];
  return [
    make("p", {}, batchState(batch), make("span", { class: "quiet" },
      `${number(batch.finished)} of ${number(batch.total)} items in `,
      isOver ? duration(batch.seconds) : elapsed(batch.seconds, answer), ", opened ", time(batch.openedAt))),
    make("div", { class: "actions" },
      reportButton(id),
      isOver ? null : batch.state === "paused" ? change("Resume", "resume", `Resume ${batch.batch}?`)
        : change("Pause", "pause", `Pause ${batch.batch}? Its jobs wait.`),
      hasFailures && batch.state !== "cancelled" ? change("Retry failed", "retry", `Retry the failed items of ${batch.batch}?`, false,
        ({ items }) => `${number(items)} items are tried again.`) : null,
      hasFailures ? change("Discard failures", "discard", `Discard the failures of ${batch.batch}?`, true) : null,
      isOver ? null : change("Cancel batch", "cancel",
        `Cancel ${batch.batch}? ${number(batch.open)} items end at once.`, true)),
    summary(batch, batch, statistics, causes, statistics.records < batch.total),
    section("Failures", causes.length === 0 ? make("p", { class: "quiet" }, "No image failed.") : [
      causesTable(causes, batch.batch, false, ["", (row) => batch.state === "cancelled" ? null
        : button("Retry", `batches/${id}/retry-error`, { domain: row.domain, code: row.code },
          `Retry the items that failed with “${row.meaning}”?`, false, ({ items }) => `${number(items)} items are tried again.`), "actions"]),
      disclosure("Failed images, newest first", failureTable(batch, page))]),
    section("Newest images", imagesSection(id, images, next, isOver)),
    section("Time", timeSection(statistics)), section("Origins", originsSection(statistics)), section("Sizes", sizesSection(statistics)),
    section("Previous run", previous ? [previousSection(batch, previous),
      make("p", {}, make("a", { href: "#/batches/" + previous.batchID }, "The previous run"))] : null),
    statistics.records === 0 ? null : make("p", { class: "quiet" }, `Times, origins and examples are of the newest ${plural(statistics.records, "job")}, `
      + `variants of the newest ${number(Math.min(250, statistics.records))}; the report has all.`),
  ];
}

/** The errors of a batch, with the causes of its newest jobs. */
const causesOf = (id, batch, errors, causes) => errors.map((row) => {
  const own = merged(causes.filter((cause) => cause.domain === row.domain && cause.code === row.code));
  const { meaning, action } = own.length === 1 ? own[0] : row;
  return { ...row, meaning, action, parts: own.length === 1 ? own[0].parts : own.map((cause) => ({ ...cause, message: cause.meaning })),
    filter: { batch: id, domain: row.domain, code: row.code } };
});

function failureTable(batch, { failures, next }) {
  const { starts } = failurePages;
  if (failures.length === 0 && starts.length === 1) return null;
  return [
    make("p", {}, make("a", { href: "#/failures?" + query({ batch: batch.batchID }) }, "All failures of the batch")),
    table("Failed images", [
      ["URL", (row) => breakable(row.url), "long"],
      ["Error", (row) => [row.message, row.attempts > 1 ? make("small", {}, ` ${row.attempts} attempts`) : ""], "long"],
    ], failures, "No further failures."),
    make("div", { class: "actions" },
      starts.length > 1 ? make("button", { type: "button", onclick: () => { starts.pop(); show(); } }, "Previous failures") : null,
      next ? make("button", { type: "button", onclick: () => { starts.push(next); show(); } }, "Next failures") : null),
  ];
}
