// The table of all dashboard pages, and the pages without a script of their own.

/** `, run 3` if the batch's name was used before, else nothing. */
const runText = ({ run }) => run > 1 ? ", run " + number(run) : "";
const batchLink = (batch) => make("a", { class: "clamp", href: "#/batches/" + batch.batchID, title: batch.batch },
  batch.batch, make("span", { class: "quiet" }, runText(batch)));

const batchColumns = [
  ["Batch", batchLink, "long"], ["State", batchState],
  ["Progress", (row) => make("div", { class: "progress" }, bar(row), make("span", { class: "quiet" }, row.percent + " %"))],
  ["Items", (row) => number(row.total), "number"],
  ["Failed", (row) => failed(row.failed, { batch: row.batchID }), "number"],
  ["Rate", (row) => row.open > 0 && row.rate ? row.rate.toFixed(1) + "/s" : "–", "number"],
  ["Left", (row) => duration(row.etaSeconds), "number"], ["Opened", (row) => time(row.openedAt)],
];

/** A text from the database: commands become code, UTC times become local times. */
const readable = (text) => text.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, (found) => localTime(found))
  .split(/'(larder [^']*)'/).map((part, place) => place % 2 === 1 ? command(part) : part);

/** The warnings and errors among the findings. */
const problems = (rows) => rows.filter((row) => row.severity !== "info");

const findings = (rows) => table("What is wrong", [
  ["What", (row) => row.what, "medium"], ["Severity", (row) => state(row.severity)],
  ["Where", (row) => readable(row.detail), "long"], ["What to do", (row) => readable(row.hint), "long"],
], rows, ["Nothing is wrong. ", command("larder doctor"), " tests the machine of a worker."]);

const pages = {
  batches: {
    title: "Batches",
    async read() {
      const [{ overview }, { batches }, history, health] = await Promise.all(
        [call("overview"), call("batches?limit=50"), call("history?minutes=" + span), call("health")]);
      const wrong = problems(health.findings);
      return [
        tiles([
          ["open items", number(overview.open)], ["items per second", overview.rate.toFixed(1)],
          ["failed in 24 hours", failed(overview.failedInDay, {})],
          ["workers live", number(overview.liveWorkers), overview.liveWorkers === 0 && overview.open > 0 ? "bad" : null]]),
        wrong.length > 0 ? [make("h2", {}, "What is wrong"), findings(wrong)] : null,
        historySection(history),
        make("h2", {}, "Newest batches"),
        table("Newest batches", batchColumns, batches,
          ["No batch has been enqueued yet. ", command("larder enqueue URL --batch NAME"), " makes one."]),
      ];
    },
  },
  queues: {
    title: "Queues",
    async read() {
      const { queues } = await call("queues");
      return [table("Queues", [
        ["Queue", (row) => row.queue, "long"], ["State", (row) => state(row.paused ? "paused" : row.limit ? "at its limit" : "open")],
        ["Running", (row) => number(row.running), "number"], ["Open items", (row) => number(row.open), "number"],
        ["At most running", (row) => number(row.maxRunning), "number"], ["Per second", (row) => number(row.maxRate), "number"],
        ["", (row) => row.paused
          ? button("Resume", "queues/resume", { queue: row.queue }, `Resume queue ${row.queue}?`)
          : button("Pause", "queues/pause", { queue: row.queue }, `Pause queue ${row.queue}? Its jobs wait.`), "actions"],
      ], queues, "There is no queue.")];
    },
  },
  workers: {
    title: "Workers",
    async read() {
      const [{ workers }, running] = await Promise.all([call("workers"), call("workers/running")]);
      const busy = workers.filter((worker) => worker.state === "live").slice(0, 100);
      return [
        table("Workers", [
          ["Worker", (row) => row.name, "long"], ["State", (row) => state(row.state)],
          ["Jobs", (row) => row.state === "stopped" ? "–"
            : `${number(row.running)} of ${number(row.slots)}`, "number"],
          ["Version", (row) => row.version],
          ["Started", (row) => time(row.startedAt)], ["Fault", (row) => row.fault, "long"],
        ], workers, ["No worker has run in the last day. ", command("larder work"), " starts one."]),
        busy.map((worker) => {
          const jobs = running.running.filter((row) => row.worker === worker.worker);
          return make("section", { "data-key": "jobs-" + worker.worker }, make("h2", {}, make("bdi", {}, worker.name), " now"),
            table(worker.name, [
              ["URL", (row) => breakable(row.url), "long"], ["Batch", batchLink, "long"],
              ["Running for", (row) => elapsed(row.seconds, running), "number"],
              ["Attempt", (row) => row.attempt, "number"], ["Job", (row) => row.job, "number"],
            ], jobs, "It has no job."),
            worker.running > jobs.length && jobs.length > 0
              ? make("p", { class: "quiet" }, `The ${jobs.length} that it holds longest of ${number(worker.running)}.`) : null);
        }),
      ];
    },
  },
  origins: {
    title: "Origins",
    async read() {
      const [{ origins: held, limits }, { origins: active }] = await Promise.all([call("origins"), call("origins/active")]);
      const why = { "retry-after": "it asked for a pause", breaker: "too many failures in a row", operator: "held by an operator" };
      return [
        make("h2", {}, "Held"),
        form("Hold", "origins/hold", "origin", "Origin or URL to hold",
          (text) => `Send no request to ${text} for an hour? Its jobs wait.`),
        table("Held origins", [
          ["Origin", (row) => row.origin, "long"], ["Why", (row) => why[row.why] ?? row.why, "medium"],
          ["Since", (row) => time(row.since)],
          ["Until", (row) => time(new Date(Math.round((Date.now() + row.seconds * 1000) / 60000) * 60000).toISOString())],
          ["Error", (row) => row.meaning ?? "–"],
          ["", (row) => button("Release", "origins/clear", { origin: row.origin }, `Allow requests to ${row.origin} again?`), "actions"],
        ], held, "No origin is held."),
        limits.length > 0 ? make("h2", {}, "Limits") : null,
        limits.length > 0 ? table("Limits of origins", [
          ["Origin", (row) => row.origin, "long"], ["Running", (row) => number(row.running), "number"],
          ["At most", (row) => row.maxRunning ?? "–", "number"], ["Per second", (row) => row.maxRate ?? "–", "number"],
          ["State", (row) => row.deferredUntil ? ["jobs wait until ", time(row.deferredUntil)] : "–", "medium"],
        ], limits, "") : null,
        make("h2", {}, "Active in the last hour"),
        table("Active origins", [
          ["Origin", (row) => row.origin, "long"],
          ["State", (row) => state(held.some((other) => other.origin === row.origin) ? "held" : "open")],
          ["Jobs", (row) => number(row.jobs), "number"], ["Per minute", (row) => number(row.perMinute), "number"],
          ["Median download", (row) => took(row.fetchMs), "number"],
          ["Received", (row) => bytes(row.bytesIn), "number"],
          ["Failed", (row) => failed(row.failed, { origin: row.origin }), "number"],
          ["Most frequent error", (row) => row.meaning
            ? row.meaning + ", " + (row.errors === 1 ? "once" : number(row.errors) + " times") : "–", "medium"],
        ], active, "No job has ended in the last hour."),
        active.length > 0 ? make("p", { class: "quiet" }, "From the newest 5,000 jobs, as far as they ended within an hour.") : null];
    },
  },
  blocklist: {
    title: "Blocklist",
    async read() {
      const { blocklist } = await call("blocklist");
      // A message begins with the URL, with or without its query, which is already in the first column.
      const reason = (row) => row.message.replace(row.url + ": ", "").replace(row.url.split("?")[0] + ": ", "");
      return [
      form("Block", "blocklist/add", "url", "URL to block",
        (text) => `Block ${text} for a day? Its jobs fail.`),
      table("Blocked URLs", [
        ["URL", (row) => breakable(row.url), "long"],
        ["Error", reason, "long"],
        ["Failures", (row) => row.failures, "number"], ["Until", (row) => time(row.until)],
        ["", (row) => button("Unblock", "blocklist/remove", { url: row.given }, `Unblock ${row.url}?`), "actions"],
      ], blocklist, "No URL is blocked."),
      blocklist.length === 1000 ? make("p", { class: "quiet" }, "These are the first 1,000; larder blocklist list has all.") : null];
    },
  },
  schedules: {
    title: "Schedules",
    async read() {
      const { schedules } = await call("schedules");
      return [table("Schedules", [
        ["Schedule", (row) => row.name, "long"], ["When", (row) => [command(row.cron), " " + row.timeZone]],
        ["Next", (row) => row.paused ? state("paused") : time(row.nextAt)], ["Last", (row) => time(row.lastAt)],
        ["Result", (row) => row.lastError ? make("span", { class: "bad" }, row.lastError) : row.lastBatch
          ? make("a", { href: "#/batches/" + row.lastBatch }, `${number(row.lastURLs)} URLs`) : "–", "long"],
        ["", (row) => [
          button("Run", "schedules/run", { schedule: row.name }, `Run schedule ${row.name} now?`),
          row.paused
            ? button("Resume", "schedules/resume", { schedule: row.name }, `Resume schedule ${row.name}?`)
            : button("Pause", "schedules/pause", { schedule: row.name }, `Pause schedule ${row.name}?`)].filter((part) => part), "actions"],
      ], schedules, ["There is no schedule. ",
        command("larder schedule set NAME --cron '0 2 * * *' --from FILE"), " makes one."])];
    },
  },
  failures: { title: "Failures", read: (_, filter) => failuresPage(filter) },
  actions: {
    title: "Changes",
    async read() {
      const { actions } = await call("actions?limit=200");
      return [table("Changes", [
        ["When", (row) => time(row.at)], ["Who", (row) => row.actor ?? `database login ${row.login}`],
        ["What", (row) => row.verb], ["Of", (row) => row.target, "long"],
        ["Result", (row) => row.error ? make("span", { class: "bad" }, row.error) : "done", "long"],
      ], actions, "Nothing has been changed through the dashboard.")];
    },
  },
  pipelines: {
    title: "Pipelines",
    async read() {
      const { pipelines } = await call("pipelines");
      return [pipelines.map(pipelineSection),
        pipelines.length === 0 ? make("p", { class: "empty" }, "There is no pipeline. ",
          command("larder pipeline set NAME --from FILE"), " makes one.") : null];
    },
  },
  preview: { title: "Preview", async read(_, filter) { return previewPage((await call("pipelines")).pipelines, filter); } },
  batch: { title: "Batch", read: batchPage },
  health: { title: "Health", async read() { return [findings((await call("health")).findings)]; } },
};

/** Opens the report in a tab and shows it while it loads. A plain link would not send the token. */
function reportButton(id) {
  return make("button", {
    type: "button", onclick: async (event) => {
      const own = event.currentTarget, tab = window.open("", "_blank");
      own.disabled = true;
      own.textContent = "Reading the report…";
      try {
        const response = await authorized("report/" + id);
        if (!response.ok) throw new Error((await response.json()).error.message);
        const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
        for (let part = await reader.read(); !part.done; part = await reader.read()) tab.document.write(part.value);
        tab.document.close();
      } catch (failure) {
        tab?.close();
        await tell(failure.message);
      }
      own.disabled = false;
      own.textContent = "Report";
    },
  }, "Report");
}
