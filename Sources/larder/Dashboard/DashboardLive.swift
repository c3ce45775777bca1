/// The script that shows a page, and again when the server's events say that something has changed.
///
/// The events are read with `fetch`, because an `EventSource` cannot send the token.
enum DashboardLive {
    static let text = #"""
        /** What the page asked for, the newest answers to it, and the stream that brings them. */
        const live = { wanted: new Set(), answers: new Map(), followed: "", control: null };
        /** At most ten times a second. */
        const shortestPause = 100;
        const retryPause = 2000;
        let shown = "", last = "", timer = null;

        function tokenForm() {
          const input = make("input", { type: "password", id: "token", autocomplete: "off", required: "" });
          return make("form", {
            onsubmit: (event) => { event.preventDefault(); sessionStorage.setItem(tokenKey, input.value.trim()); show(); },
          }, make("h1", {}, "Token"), make("p", {}, make("label", { for: "token" }, "The token of this dashboard ")),
            make("p", { class: "actions" }, input, make("button", {}, "Open")));
        }

        function unfollow() {
          live.control?.abort();
          live.control = null;
          live.followed = "";
          live.answers.clear();
        }

        function take(event) {
          const line = event.split("\n").find((text) => text.startsWith("data: "));
          if (!line) return;
          const { path, status, answer } = JSON.parse(line.slice(6));
          if (status === 200) live.answers.set(path, answer); else live.answers.delete(path);
          soon(shortestPause);
        }

        /** Follows what the page has asked for; when the stream ends, the page asks again. */
        async function follow(paths) {
          unfollow();
          const control = new AbortController();
          live.control = control;
          live.followed = paths;
          try {
            const response = await authorized("api/v1/events?paths=" + encodeURIComponent(paths), null, control.signal);
            if (!response.ok) throw new Failure(response.status, response.statusText);
            const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
            let text = "";
            for (;;) {
              const { value, done } = await reader.read();
              if (done) break;
              text += value;
              const events = text.split("\n\n");
              text = events.pop();
              if (control === live.control) events.forEach(take);
            }
          } catch { /* The next request of the page says what is wrong. */ }
          if (control !== live.control) return;
          unfollow();
          soon(retryPause);
        }

        /** Shows the page after a pause, unless that is planned already, and not under the user's hands. */
        function soon(pause) {
          if (timer) return;
          timer = setTimeout(() => {
            timer = null;
            if (document.visibilityState !== "visible") return;
            if (document.querySelector("dialog") || document.activeElement?.matches("main input, main textarea")) soon(retryPause);
            else show();
          }, pause);
        }

        async function show() {
          const [name, id] = location.hash.replace(/^#\/?/, "").split("/");
          const isBatch = name === "batches" && /^\d+$/.test(id || "");
          const page = isBatch ? pages.batch : pages[name] || pages.batches;
          const key = location.hash;
          live.wanted = new Set();
          try {
            const content = await page.read();
            if (key !== location.hash) return;
            const title = page.title;
            const view = make("div", {}, make("h1", {}, title), content.flat(2).filter((part) => part));
            // An unchanged page keeps its focus, selection and scroll.
            if (shown !== key || last !== view.outerHTML) {
              const focus = shown === key ? [...main.querySelectorAll("a, button, input, [tabindex]")].indexOf(document.activeElement) : -1;
              main.replaceChildren(view);
              if (focus >= 0) [...main.querySelectorAll("a, button, input, [tabindex]")][focus]?.focus();
              document.title = title + " – Larder";
              [shown, last] = [key, view.outerHTML];
            }
            connection.className = "";
            connection.textContent = "live";
            const paths = [...live.wanted].sort().join(" ");
            if (paths !== live.followed && document.visibilityState === "visible") follow(paths);
          } catch (failure) {
            if (failure.status === 401) {
              unfollow();
              if (!main.querySelector("#token")) main.replaceChildren(tokenForm());
              shown = "";
              return;
            }
            connection.className = "lost";
            connection.textContent = failure.status ? failure.message : "the server does not answer";
            soon(retryPause);
          }
          for (const link of document.querySelectorAll("nav a")) {
            const isCurrent = link.dataset.page === (isBatch || !pages[name] ? "batches" : name);
            if (isCurrent) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
          }
        }

        document.querySelector("nav").append(...Object.entries(pages).filter(([, page]) => !page.isHidden).map(([name, page]) =>
          make("a", { href: "#/" + name, "data-page": name }, page.title)));
        window.addEventListener("hashchange", async () => { unfollow(); await show(); main.focus(); });
        document.addEventListener("visibilitychange", () => {
          if (document.visibilityState === "visible") show(); else unfollow();
        });
        show();

        """#
}
