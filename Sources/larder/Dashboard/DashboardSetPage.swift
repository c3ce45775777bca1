/// The page of `DashboardSet`: the databases, and their batches in one table. It contains no data.
enum DashboardSetPage {
    static let files: [String: HTTPAnswer] = {
        var files = DashboardFile.all
        files["/"] = DashboardFile.page("Larder", links: "Databases")
        files["/script.js"] = HTTPAnswer(
            type: "text/javascript; charset=utf-8",
            body: Array((PageScript.text + DashboardScript.text + script).utf8))
        return files
    }()

    /// The token is the one of the dashboards below, which a browser keeps for all of them.
    private static let script = #"""
        const pause = 5000;
        /** The numbers of the databases, by name. */
        let numbers = new Map();
        const place = (row) => `databases/${numbers.get(row.database)}/`;
        const databaseLink = (row) => make("a", { href: place(row) }, row.database);

        const columns = [
          ["Batch", (row) => make("a", {
            class: "clamp", href: `${place(row)}#/batches/${row.batchID}`, title: row.batch,
          }, row.batch), "long"],
          ["Database", databaseLink, "long"],
          ["State", batchState],
          ["Progress", (row) => make("div", { class: "progress" }, bar(row),
            make("span", { class: "quiet" }, row.percent + " %"))],
          ["Items", (row) => number(row.total), "number"],
          ["Failed", (row) => row.failed > 0 ? make("span", { class: "bad" }, number(row.failed)) : "0", "number"],
          ["Opened", (row) => time(row.openedAt)],
        ];

        async function show() {
          try {
            const response = await authorized("api/v1/batches");
            if (response.status === 401) { main.replaceChildren(tokenForm()); return; }
            const answer = await response.json();
            if (!response.ok) throw new Failure(response.status, answer.error ?? { message: response.statusText });
            numbers = new Map(answer.databases.map((row) => [row.database, row.databaseNumber]));
            const lost = answer.databases.filter((row) => row.error);
            connection.className = lost.length > 0 ? "lost" : "live";
            connection.textContent = lost.map((row) => `${row.database}: ${row.error}`).join("; ") || "live";
            morph(document.querySelector("nav"), make("nav", {}, answer.databases.map(databaseLink)));
            morph(main, make("main", {}, make("h1", {}, "Batches of all databases"),
              table("Batches", columns, answer.batches,
                ["There is no batch. ", command("larder enqueue URL --batch NAME"), " makes one."])));
          } catch (failure) {
            connection.className = "lost";
            connection.textContent = failure.status ? failure.message : "the server does not answer";
          }
          setTimeout(show, pause);
        }
        show();
        """#
}
