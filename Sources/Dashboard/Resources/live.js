// Renders a page, and again when the server's events report a change.
//
// Events are read with `fetch`, because an `EventSource` cannot send the token.

/** The paths that the page reads, the newest answer of each, and the stream that delivers them. */
const live = { wanted: new Set(), answers: new Map(), followed: "", control: null };
/** At most ten times a second. */
const shortestPause = 100;
const retryPause = 2000;
let shown = "", timer = null;

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
  answer.receivedAt = Date.now();
  if (status === 200) live.answers.set(path, answer); else live.answers.delete(path);
  soon(shortestPause);
}

/** Opens the event stream for the page's paths. When the stream ends, the page requests them again. */
async function follow(paths) {
  unfollow();
  const control = new AbortController();
  live.control = control;
  live.followed = paths;
  try {
    const response = await authorized("api/v1/events?paths=" + encodeURIComponent(paths), null, control.signal);
    if (!response.ok) throw new Failure(response.status, { message: response.statusText });
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

/** Shows the page after a pause; a second call before that does nothing. */
function soon(pause) {
  if (timer) return;
  timer = setTimeout(() => {
    timer = null;
    if (document.visibilityState === "visible") show();
  }, pause);
}

/** Shows the number of warnings and errors at the link Health, and nothing if there are none. */
function countProblems(findings) {
  const link = document.querySelector("nav [data-page=health]"), { title } = pages.health;
  const wrong = problems(findings), count = number(wrong.length);
  const kind = wrong.some((row) => row.severity === "error") ? "count bad" : "count";
  link.replaceChildren(title, ...(wrong.length > 0 ? [make("b", { class: kind }, count)] : []));
  if (wrong.length === 0) link.removeAttribute("aria-label");
  else link.setAttribute("aria-label", `${title}, ${count} ${wrong.length === 1 ? "problem" : "problems"}`);
}

/** The address's page, without the part that opens an image. */
const pageKey = () => location.hash.replace(/\?image=\d+$/, "");

async function show() {
  const [path, filter] = location.hash.replace(/^#\/?/, "").split("?");
  const [name, id] = path.split("/");
  const isBatch = name === "batches" && /^\d+$/.test(id || "");
  const page = isBatch ? pages.batch : pages[name] || pages.batches;
  const key = pageKey();
  live.wanted = new Set();
  // Every page fetches this without waiting; errors are reported with the page's own queries.
  call("health").then(({ findings }) => countProblems(findings), () => {});
  try {
    const content = await page.read(id, Object.fromEntries(new URLSearchParams(filter)));
    if (key !== pageKey()) return;
    const heading = make("h1", { class: page.title.length > 60 ? "lengthy" : null }, page.title);
    const view = make("div", {}, heading, content.flat(3).filter((part) => part));
    const active = document.activeElement;
    if (shown === key && main.firstElementChild) morph(main.firstElementChild, view); else main.replaceChildren(view);
    // Moving a node removes its focus.
    if (active !== document.activeElement && active.isConnected) active.focus({ preventScroll: true });
    document.title = page.title + " – Larder";
    shown = key;
    main.dataset.page = key;
    connection.className = "live";
    connection.textContent = "live";
    const paths = [...live.wanted].sort().join(" ");
    if (paths !== live.followed && document.visibilityState === "visible") follow(paths);
  } catch (failure) {
    if (failure.status === 401) {
      unfollow();
      countProblems([]);
      // Keep the typed text, unless it was the refused token.
      const typed = main.querySelector("#token")?.value;
      if (typed === undefined || typed.trim() === sessionStorage.getItem(tokenKey)) {
        main.replaceChildren(tokenForm());
        main.querySelector("#token").focus();
      }
      shown = "";
      return;
    }
    connection.className = "lost";
    connection.textContent = failure.status ? failure.message : "the server does not answer";
    // A missing batch's page shows nothing else.
    if (failure.status === 404) main.replaceChildren(make("div", {}, make("h1", {}, "Not found"), make("p", {}, failure.message)));
    soon(retryPause);
  }
  for (const link of document.querySelectorAll("nav a")) {
    const isCurrent = link.dataset.page === (isBatch || !pages[name] ? "batches" : name);
    if (!isCurrent) { link.removeAttribute("aria-current"); continue; }
    // On a phone the links scroll sideways.
    if (!link.hasAttribute("aria-current")) link.closest("nav").scrollLeft = link.offsetLeft - 60;
    link.setAttribute("aria-current", "page");
  }
}

const groups = { Work: ["batches", "failures", "schedules"], Fleet: ["health", "queues", "workers", "origins"],
  Settings: ["pipelines", "preview", "blocklist", "actions"] };
document.querySelector("nav").append(...Object.entries(groups).map(([group, names]) =>
  make("span", { class: "group", role: "group", "aria-label": group }, names.map((name) =>
    make("a", { href: "#/" + name, "data-page": name }, pages[name].title)))));
// Following the link would change the page that the address names.
document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); main.focus(); });
window.addEventListener("hashchange", async () => {
  // An image was opened or closed.
  if (shown === pageKey()) return;
  unfollow();
  await show();
  main.focus();
  window.scrollTo(0, 0);
});
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "visible") show(); else unfollow();
});
setInterval(() => {
  for (const part of document.querySelectorAll("[data-since]")) {
    part.textContent = duration((Date.now() - part.dataset.since) / 1000);
  }
}, 1000);
show();
