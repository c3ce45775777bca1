// The page with the failures of all batches.

const failureFields = [["text", "Part of the URL"], ["origin", "Origin"], ["batch", "Batch, by name or number"]];

async function failuresPage(filter) {
  const { after, ...wanted } = filter;
  const { failures, next, batch, causes } = await call("failures?" + query({ ...wanted, after, limit: 100 }));
  const body = Object.fromEntries(Object.entries({ ...wanted, batch }).filter(([, value]) => value)
    .map(([name, value]) => [name, name === "code" ? Number(value) : value]));
  const isFiltered = Object.keys(body).length > 0;
  const which = isFiltered ? "that match" : "of all batches";
  const note = ({ jobs, refused, left }) => `${number(jobs)} jobs were changed.`
    + (refused > 0 ? ` ${number(refused)} could not be: the page of their batch changes them.` : "")
    + (left ? " There are more: press again." : "");
  return [
    make("form", { class: "filter", role: "search", onsubmit: (event) => {
      event.preventDefault();
      location.hash = "#/failures?" + query(Object.fromEntries(new FormData(event.currentTarget)));
    } }, failureFields.map(([name, label]) => make("label", {}, label,
      make("input", { name, value: wanted[name] ?? "", type: "text", autocomplete: "off" }))),
      wanted.domain ? ["domain", "code"].map((name) => make("input", { type: "hidden", name, value: wanted[name] })) : null,
      make("div", { class: "actions" }, make("button", { class: "primary" }, "Filter"),
        isFiltered ? make("a", { href: "#/failures" }, "Show all") : null)),
    causes.length === 0 ? null : make("div", { class: "chips", role: "group", "aria-label": "Causes" },
      [{ meaning: "all", domain: "", code: "" }, ...causes].map((cause) => make("a", {
        class: "chip", href: "#/failures?" + query({ ...wanted, domain: cause.domain, code: cause.code }),
        "aria-current": (wanted.domain ?? "") === cause.domain && (wanted.code ?? "") === String(cause.code) ? "true" : null,
      }, cause.meaning, cause.items ? [" ", make("b", {}, number(cause.items))] : null))),
    causes.length === 0 || batch ? null : make("p", { class: "quiet" }, "The counts are of the newest 50 batches, with the discarded failures."),
    failures.length === 0 ? null : make("div", { class: "actions" },
      button("Retry all shown", "failures/retry", body, `Retry the newest failures ${which}, at most 200 at once?`, false, note),
      button("Discard all shown", "failures/discard", body, `Discard the newest failures ${which}, at most 200 at once?`, true, note)),
    table("Failures", [
      ["URL and batch", (row) => [breakable(row.url), make("p", { class: "quiet" }, batchLink(row))], "long"],
      ["Cause", (row) => [row.meaning, make("p", { class: "quiet" },
        [row.meaning.includes(row.message) ? "" : row.message, row.attempts > 1 ? `${row.attempts} attempts` : "", row.traceID ? `trace ${row.traceID}` : ""]
          .filter((part) => part).join(" · "))],
      "long cause"],
      ["When", (row) => time(row.finishedAt)],
      ["", (row) => row.job === null ? null : [
        button("Retry", `jobs/${row.job}/retry`, {}, `Retry ${row.url}?`),
        button("Discard", `jobs/${row.job}/discard`, {}, `Discard the failure of ${row.url}?`, true)].filter((part) => part), "actions"],
    ], failures, isFiltered ? "No failure matches." : "Nothing has failed that was not retried or discarded."),
    next ? make("p", {}, make("a", { href: "#/failures?" + query({ ...wanted, after: next }) }, "Older failures")) : null,
  ];
}
