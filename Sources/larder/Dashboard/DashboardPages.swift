/// The script of the pages, and the loop that shows one and reads it again every two seconds while it is visible.
enum DashboardPages {
    static let text = #"""
        const batchLink = (batch) => make("a", { href: "#/batches/" + batch.batchID }, batch.batch);

        const batchColumns = [
          ["Batch", batchLink, "long"], ["State", (row) => state(row.state)],
          ["Progress", (row) => [bar(row), make("span", { class: "quiet" }, row.percent + " %")]],
          ["Items", (row) => number(row.total), "number"], ["Failed", (row) => number(row.failed), "number"],
          ["Rate", (row) => row.rate ? row.rate.toFixed(1) + "/s" : "–", "number"],
          ["Left", (row) => duration(row.etaSeconds), "number"], ["Opened", (row) => time(row.openedAt)],
        ];

        const findings = (rows) => table([
          ["Severity", (row) => state(row.severity)], ["What", (row) => row.what],
          ["Where", (row) => row.detail, "long"], ["What to do", (row) => row.hint, "long"],
        ], rows, "Nothing is wrong.");

        const pages = {
          batches: {
            title: "Batches",
            async read() {
              const [batches, minutes, health] = await Promise.all(
                [call("batches?limit=50"), call("throughput?minutes=60"), call("health")]);
              const wrong = health.findings.filter((row) => row.severity !== "info");
              return [
                chart(minutes.throughput), wrong.length > 0 ? [make("h2", {}, "What is wrong"), findings(wrong)] : null,
                make("h2", {}, "Newest batches"), table(batchColumns, batches.batches, "No batch has been enqueued yet."),
              ];
            },
          },
          queues: {
            title: "Queues",
            async read() {
              const { queues } = await call("queues");
              return [table([
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
              const [{ workers }, { running }] = await Promise.all([call("workers"), call("running?limit=100")]);
              return [
                table([
                  ["Worker", (row) => row.name, "long"], ["State", (row) => state(row.state)],
                  ["Jobs", (row) => `${row.running} of ${row.slots}`, "number"], ["Version", (row) => row.version],
                  ["Started", (row) => time(row.startedAt)], ["Fault", (row) => row.fault, "long"],
                ], workers, "No worker has run in the last day: larder work"),
                make("h2", {}, "Running jobs"),
                table([
                  ["URL", (row) => row.url, "long"], ["Worker", (row) => row.workerName], ["Job", (row) => row.job, "number"],
                  ["Attempt", (row) => row.attempt, "number"], ["For", (row) => duration(row.seconds), "number"],
                ], running, "No job runs."),
              ];
            },
          },
          origins: {
            title: "Origins",
            async read() {
              const { origins } = await call("origins");
              return [table([
                ["Origin", (row) => row.origin, "long"], ["Why", (row) => row.givenUp ? "given up" : row.why],
                ["Held for", (row) => duration(row.seconds), "number"], ["Error", (row) => row.domain ? `${row.domain} ${row.code}` : "–"],
                ["", (row) => button("Clear", "origins/clear", { origin: row.origin }, `Allow requests to ${row.origin} again?`), "actions"],
              ], origins, "No origin is held."),
              form("Hold", "origins/hold", "origin", "Origin or URL", (text) => `Send no request to ${text} for an hour? Its jobs wait.`)];
            },
          },
          blocklist: {
            title: "Blocklist",
            async read() {
              const { blocklist } = await call("blocklist");
              return [table([
                ["URL", (row) => row.url, "long"], ["Until", (row) => time(row.until)],
                ["Error", (row) => `${row.message} (${row.domain} ${row.code})`, "long"], ["Failures", (row) => row.failures, "number"],
                ["", (row) => button("Unblock", "blocklist/remove", { url: row.url }, `Unblock ${row.url}?`), "actions"],
              ], blocklist, "No URL is blocked."),
              form("Block", "blocklist/add", "url", "URL", (text) => `Block ${text} for a day? Its jobs fail.`),
              blocklist.length === 1000 ? make("p", { class: "quiet" }, "These are the first 1,000; larder blocklist list has all.") : null];
            },
          },
          schedules: {
            title: "Schedules",
            async read() {
              const { schedules } = await call("schedules");
              return [table([
                ["Schedule", (row) => row.name, "long"], ["When", (row) => `${row.cron} ${row.timeZone}`],
                ["Next", (row) => row.paused ? state("paused") : time(row.nextAt)], ["Last", (row) => time(row.lastAt)],
                ["Result", (row) => row.lastError ? make("span", { class: "bad" }, row.lastError) : row.lastBatch
                  ? make("a", { href: "#/batches/" + row.lastBatch }, `${number(row.lastURLs)} URLs`) : "–", "long"],
                ["", (row) => [
                  button("Run", "schedules/run", { schedule: row.name }, `Run schedule ${row.name} now?`),
                  row.paused
                    ? button("Resume", "schedules/resume", { schedule: row.name }, `Resume schedule ${row.name}?`)
                    : button("Pause", "schedules/pause", { schedule: row.name }, `Pause schedule ${row.name}?`)].filter((part) => part), "actions"],
              ], schedules, "There is no schedule: larder schedule set")];
            },
          },
          failures: {
            title: "Failures",
            async read() {
              const { batches } = await call("batches?limit=200");
              const rows = batches.flatMap((batch) => batch.topErrors.map((error) => ({ batch, error })));
              return [
                make("p", { class: "quiet" }, "The commonest errors of each of the newest 200 batches."),
                table([
                  ["Batch", (row) => batchLink(row.batch), "long"], ["Error", (row) => `${row.error.domain} ${row.error.code}`],
                  ["Items", (row) => number(row.error.items), "number"], ["Opened", (row) => time(row.batch.openedAt)],
                  ["", (row) => row.batch.state !== "cancelled"
                    ? button("Retry failed", `batches/${row.batch.batchID}/retry`, {}, `Retry the failed items of ${row.batch.batch}?`) : null, "actions"],
                ], rows, "No failure."),
              ];
            },
          },
          actions: {
            title: "Changes",
            async read() {
              const { actions } = await call("actions?limit=200");
              return [table([
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
              return pipelines.map((row) => [make("h2", {}, `${row.name}, version ${row.version}`),
                make("pre", { tabindex: "0" }, JSON.stringify(JSON.parse(row.spec), null, 2))]);
            },
          },
          preview: { title: "Preview", async read() { return previewPage((await call("pipelines")).pipelines); } },
          batch: { title: "Batch", isHidden: true, read: () => batchPage(location.hash.split("/")[2]) },
          health: { title: "Health", async read() { return [findings((await call("health")).findings)]; } },
        };

        async function batchPage(id) {
          const [{ batch }, { images }] = await Promise.all([call("batches/" + id), call(`batches/${id}/images?limit=24`)]);
          pages.batch.title = "Batch " + batch.batch;
          const change = (title, verb, question, danger) =>
            button(title, `batches/${id}/${verb}`, {}, question, danger);
          const isOver = batch.state === "finished" || batch.state === "cancelled";
          return [
            make("p", {}, state(batch.state), make("span", { class: "quiet" },
              `, ${number(batch.finished)} of ${number(batch.total)} items in ${duration(batch.seconds)}`)),
            bar(batch),
            make("div", { class: "actions" },
              isOver ? null : batch.state === "paused" ? change("Resume", "resume", `Resume ${batch.batch}?`)
                : change("Pause", "pause", `Pause ${batch.batch}? Its jobs wait.`),
              reportButton(id),
              batch.failed > 0 && batch.state !== "cancelled" ? change("Retry failed", "retry", `Retry the failed items of ${batch.batch}?`) : null,
              batch.failed > batch.discarded ? change("Discard failures", "discard", `Discard the failures of ${batch.batch}?`, true) : null,
              isOver ? null : change("Cancel", "cancel", `Cancel ${batch.batch}? ${number(batch.open)} items end at once.`, true)),
            tiles([
              ["succeeded", number(batch.succeeded), "good"], ["failed", number(batch.failed), batch.failed > 0 ? "bad" : null],
              ["cancelled", number(batch.cancelled)], ["open", number(batch.open)], ["fresh", number(batch.fresh)],
              ["blocked", number(batch.blocked)], ["retries", number(batch.retries)], ["downloads", number(batch.downloads)],
              ["variants", number(batch.variants)], ["received", bytes(batch.bytesIn)], ["stored", bytes(batch.bytesOut)],
              ["items per second", batch.rate.toFixed(1)], ["left", duration(batch.etaSeconds)],
              ["median of a job", batch.p50Ms === null ? "–" : Math.round(batch.p50Ms) + " ms"],
              ["95 % of jobs", batch.p95Ms === null ? "–" : Math.round(batch.p95Ms) + " ms"],
            ]),
            make("h2", {}, "Newest images"),
            gallery(id, images),
            make("h2", {}, "Failures"),
            batch.topErrors.length === 0 ? null : table([
              ["Error", (row) => `${row.domain} ${row.code}`, "long"], ["Items", (row) => number(row.items), "number"],
              ["", (row) => button("Retry", `batches/${id}/retry-error`, { domain: row.domain, code: row.code },
                `Retry the items that failed with ${row.domain} ${row.code}?`), "actions"],
            ], batch.topErrors, "No error."),
            table([
              ["URL", (row) => row.url, "long"], ["Error", (row) => `${row.domain} ${row.code}`],
              ["Message", (row) => row.message, "long"], ["Attempts", (row) => row.attempts, "number"],
            ], batch.failures.slice(0, 200), "No failure."),
            batch.failures.length > 200 ? make("p", { class: "quiet" },
              `These are the first 200; larder report ${batch.batchID} --files has all.`) : null,
          ];
        }

        /** Opens the report in a tab. A link would not send the token. */
        function reportButton(id) {
          return make("button", {
            type: "button", onclick: async (event) => {
              const own = event.currentTarget;
              own.disabled = true;
              own.textContent = "Writing the report…";
              try {
                const response = await authorized("report/" + id);
                if (!response.ok) throw new Error((await response.json()).error.message);
                make("a", { href: URL.createObjectURL(await response.blob()), target: "_blank" }).click();
              } catch (failure) { await ask(failure.message, true); }
              own.disabled = false;
              own.textContent = "Report";
            },
          }, "Report");
        }

        """#
}
