/// The script that all pages share: the API, elements, tables, charts and the questions before a change.
///
/// Every text from the database goes through `textContent` or `setAttribute`, never through markup.
enum DashboardScript {
    static let text = #"""
        const tokenKey = "larder-token";
        const main = document.querySelector("main");
        const connection = document.querySelector("#connection");
        let allowsChanges = false;

        function svg(name, attributes, ...children) {
          const element = document.createElementNS("http://www.w3.org/2000/svg", name);
          for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
          element.append(...children);
          return element;
        }

        class Failure extends Error {
          constructor(status, message) { super(message); this.status = status; }
        }

        /** A request with the token. */
        function authorized(path, body, signal) {
          const headers = {};
          const token = sessionStorage.getItem(tokenKey);
          if (token) headers["Authorization"] = "Bearer " + token;
          if (body) headers["Content-Type"] = "application/json";
          const options = { headers, signal, cache: "no-store", method: body ? "POST" : "GET" };
          if (body) options.body = JSON.stringify(body);
          return fetch(path, options);
        }

        /** A change, when there is a body; else what the server's events said last, or the answer to a request. */
        async function call(path, body) {
          if (!body) live.wanted.add(path);
          if (!body && live.answers.has(path)) return live.answers.get(path);
          const response = await authorized("api/v1/" + path, body);
          allowsChanges = response.headers.get("Larder-Changes") === "allowed";
          const answer = await response.json();
          if (!response.ok) throw new Failure(response.status, answer.error ? answer.error.message : response.statusText);
          // What was known before a change is old.
          if (body) live.answers.clear();
          return answer;
        }

        const number = (value) => value === null || value === undefined ? "–" : value.toLocaleString("en-US");

        function duration(seconds) {
          if (seconds === null || seconds === undefined) return "–";
          const units = [[86400, "d"], [3600, "h"], [60, "m"], [1, "s"]];
          let rest = Math.round(seconds);
          const parts = [];
          for (const [size, letter] of units) {
            if (rest >= size && parts.length < 2) { parts.push(Math.floor(rest / size) + letter); rest %= size; }
          }
          return parts.join(" ") || "0s";
        }

        function time(text) {
          if (!text) return "–";
          const date = new Date(text);
          const shown = date.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
          return make("time", { datetime: text, title: text }, shown);
        }

        const stateClass = {
          finished: "good", live: "good", paused: "warn", cancelled: "warn", lost: "bad", error: "bad", warning: "warn",
        };
        const state = (text) => make("span", { class: "state " + (stateClass[text] || "") }, text);

        /** Columns are [title, value of a row, class of the cell]. */
        function table(columns, rows, empty) {
          if (rows.length === 0) return make("p", { class: "quiet" }, empty);
          return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": columns[0][0] },
            make("table", {},
              make("thead", {}, make("tr", {}, columns.map(([title, , kind]) =>
                make(title ? "th" : "td", { scope: title ? "col" : null, class: kind === "number" ? "number" : null }, title)))),
              make("tbody", {}, rows.map((row) =>
                make("tr", {}, columns.map(([, value, kind]) => make("td", { class: kind }, value(row) ?? (columns.length > 1 && kind !== "actions" ? "–" : ""))))))));
        }

        const tiles = (pairs) => make("div", { class: "tiles" },
          pairs.map(([name, value, kind]) => make("div", { class: "tile" }, make("b", { class: kind }, value), make("span", {}, name))));

        /** The outcomes of a batch as one bar. */
        function bar(batch) {
          const total = Math.max(batch.total, 1);
          const parts = [[batch.succeeded, "fill-good"], [batch.failed, "fill-bad"], [batch.cancelled, "fill-quiet"]];
          let x = 0;
          const rects = parts.map(([count, kind]) => {
            const rect = svg("rect", { x, y: 0, width: count * 100 / total, height: 8, class: kind });
            x += count * 100 / total;
            return rect;
          });
          const label = `${batch.succeeded} succeeded, ${batch.failed} failed, ${batch.cancelled} cancelled of ${batch.total}`;
          return make("div", { class: "bar", title: label }, svg("svg",
            { viewBox: "0 0 100 8", preserveAspectRatio: "none", role: "img", "aria-label": label }, ...rects));
        }

        /** Succeeded and failed items of each minute. */
        function chart(minutes) {
          const last = 60, now = Math.floor(Date.now() / 60000);
          const byMinute = new Map(minutes.map((row) => [Math.floor(Date.parse(row.minute) / 60000), row]));
          const rows = Array.from({ length: last }, (_, i) => byMinute.get(now - last + 1 + i));
          const top = Math.max(1, ...rows.map((row) => row ? row.succeeded + row.failed : 0));
          const rects = [];
          rows.forEach((row, i) => {
            if (!row) return;
            const good = row.succeeded * 100 / top, bad = row.failed * 100 / top;
            rects.push(svg("rect", { x: i * 10 + 1, y: 100 - good, width: 8, height: good, class: "fill-good" },
              svg("title", {}, `${row.minute}: ${row.succeeded} succeeded, ${row.failed} failed`)));
            rects.push(svg("rect", { x: i * 10 + 1, y: 100 - good - bad, width: 8, height: bad, class: "fill-bad" }));
          });
          const label = `Items that ended in each of the last ${last} minutes, at most ${number(top)}`;
          return make("figure", { class: "chart", role: "group" },
            svg("svg", { viewBox: "0 0 600 100", preserveAspectRatio: "none", role: "img", "aria-label": label }, ...rects),
            make("figcaption", { class: "quiet" }, label));
        }

        /** Asks, then makes a change and shows the page again. Nothing where changes are refused. */
        function button(title, path, body, question, danger) {
          if (!allowsChanges) return null;
          return make("button", {
            type: "button", class: danger ? "danger" : null,
            onclick: async () => {
              if (!await ask(question)) return;
              try { await call(path, body); } catch (failure) { await ask(failure.message, true); }
              await show();
            },
          }, title);
        }

        /** A field and a button for a change of what is typed; nothing where changes are refused. */
        function form(title, path, field, label, question) {
          if (!allowsChanges) return null;
          const input = make("input", { type: "text", name: field, required: "", size: "50", autocomplete: "off" });
          return make("form", {
            class: "actions", onsubmit: async (event) => {
              event.preventDefault();
              const text = input.value.trim();
              if (!text || !await ask(question(text))) return;
              try {
                await call(path, { [field]: text });
                input.value = "";
              } catch (failure) { await ask(failure.message, true); }
              await show();
            },
          }, make("label", {}, label + " ", input), make("button", {}, title));
        }

        function ask(text, isNote) {
          return new Promise((resolve) => {
            const yes = make("button", { value: "yes" }, isNote ? "Close" : "Yes");
            const no = make("button", { value: "no" }, "No");
            const dialog = make("dialog", {}, make("p", {}, text),
              make("form", { method: "dialog", class: "actions" }, isNote ? [yes] : [yes, no]));
            dialog.addEventListener("close", () => { dialog.remove(); resolve(dialog.returnValue === "yes"); });
            document.body.append(dialog);
            dialog.showModal();
          });
        }

        """#
}
