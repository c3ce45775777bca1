/// The page of `DashboardSet`: the databases, and their batches in one table. It contains no data.
enum DashboardSetPage {
    static let files: [String: HTTPAnswer] = {
        var files = DashboardFile.all
        files["/"] = HTTPAnswer(type: "text/html; charset=utf-8", body: Array(page.utf8))
        files["/script.js"] = HTTPAnswer(
            type: "text/javascript; charset=utf-8", body: Array((PageScript.text + script).utf8))
        return files
    }()

    private static let page = """
        <!doctype html>
        <html lang="en">
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <title>Larder</title>
        <link rel="stylesheet" href="style.css">
        <script src="script.js" defer></script>
        <a class="skip" href="#main">Skip to the content</a>
        <header>
        <strong>Larder</strong>
        <nav aria-label="Databases"></nav>
        <span id="connection" role="status"></span>
        </header>
        <main id="main" tabindex="-1"><p>Loading…</p></main>
        <noscript><p>The dashboard needs JavaScript; <code>larder status</code> does not.</p></noscript>
        </html>

        """

    /// The token is the one of the dashboards below, which a browser keeps for all of them.
    private static let script = #"""
        const tokenKey = "larder-token", pause = 5000;
        const main = document.querySelector("main"), connection = document.querySelector("#connection");
        const number = (value) => value.toLocaleString("en-US");
        const place = (row) => `databases/${row.databaseNumber}/`;

        function tokenForm() {
          const input = make("input", { type: "password", id: "token", autocomplete: "off", required: "" });
          return make("form", {
            onsubmit: (event) => { event.preventDefault(); sessionStorage.setItem(tokenKey, input.value.trim()); show(); },
          }, make("h1", {}, "Token"), make("p", {}, make("label", { for: "token" }, "The token of this dashboard ")),
            make("p", { class: "actions" }, input, make("button", { class: "primary" }, "Open")));
        }

        const columns = [
          ["Batch", (row) => make("a", { href: `${place(row)}#/batches/${row.batchID}` }, row.batch)],
          ["Database", (row) => make("a", { href: place(row) }, row.database)],
          ["State", (row) => row.state], ["Total", (row) => number(row.total)], ["Finished", (row) => number(row.finished)],
          ["Failed", (row) => number(row.failed)], ["Opened", (row) => localTime(row.openedAt)],
        ];

        async function show() {
          try {
            const token = sessionStorage.getItem(tokenKey);
            const response = await fetch("api/v1/batches", {
              headers: token ? { Authorization: "Bearer " + token } : {}, cache: "no-store" });
            if (response.status === 401) { main.replaceChildren(tokenForm()); return; }
            const answer = await response.json();
            if (!response.ok) throw new Error(answer.error.message);
            document.querySelector("nav").replaceChildren(
              ...answer.databases.map((row) => make("a", { href: place(row) }, row.database)));
            const lost = answer.databases.filter((row) => row.error);
            connection.className = lost.length > 0 ? "lost" : "";
            connection.textContent = lost.map((row) => `${row.database}: ${row.error}`).join("; ");
            main.replaceChildren(make("h1", {}, "Batches of all databases"), answer.batches.length === 0
              ? make("p", { class: "quiet" }, "There is no batch: larder enqueue")
              : make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Batches" },
                make("table", { class: "stacked" },
                  make("thead", {}, make("tr", {}, columns.map(([title]) => make("th", { scope: "col" }, title)))),
                  make("tbody", {}, answer.batches.map((row) => make("tr", {}, columns.map(([title, value]) =>
                    make("td", { "data-title": title }, value(row)))))))));
          } catch (failure) {
            connection.className = "lost";
            connection.textContent = failure.message;
          }
          setTimeout(show, pause);
        }
        show();
        """#
}
