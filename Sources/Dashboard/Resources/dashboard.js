// The script that all pages share: the API, elements, tables, charts, the questions before a change, and how
// a page takes over what is new.
//
// Every text from the database goes through `textContent` or `setAttribute`, never through markup.

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
  constructor(status, error) { super(error.message); Object.assign(this, { status, domain: error.domain, code: error.code }); }
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

/** Asks for the token, says when one was refused, and then shows the page. */
function tokenForm() {
  const refused = sessionStorage.getItem(tokenKey) !== null;
  const input = make("input", {
    type: "password", id: "token", autocomplete: "off", required: "", size: "36",
    "aria-describedby": "token-note", "aria-invalid": refused ? "true" : null,
  });
  return make("form", {
    onsubmit: (event) => { event.preventDefault(); sessionStorage.setItem(tokenKey, input.value.trim()); show(); },
  }, make("h1", {}, "This dashboard asks for a token"),
    make("p", { id: "token-note" },
      refused ? make("b", { class: "bad", role: "alert" }, "The token was refused. ") : null,
      "It is in the file that ", make("code", {}, "larder serve --token-file"), " names."),
    make("label", { for: "token" }, "Token"),
    make("p", { class: "actions" }, input, make("button", { class: "primary" }, "Open")));
}

/** A change, when there is a body; else what the server's events said last, or the answer to a request. */
async function call(path, body) {
  if (!body) live.wanted.add(path);
  if (!body && live.answers.has(path)) return live.answers.get(path);
  const response = await authorized("api/v1/" + path, body);
  allowsChanges = response.headers.get("Larder-Changes") === "allowed";
  const answer = await response.json();
  if (!response.ok) throw new Failure(response.status, answer.error ?? { message: response.statusText });
  answer.receivedAt = Date.now();
  // A change makes the known answers stale.
  if (body) live.answers.clear();
  return answer;
}

/** The query of a path, without empty values. */
const query = (values) => new URLSearchParams(
  Object.entries(values).filter(([, value]) => value !== "" && value !== null && value !== undefined)).toString();

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

/** A time that passes: `seconds` when the answer came. */
const elapsed = (seconds, answer) => make("span", { "data-since": answer.receivedAt - seconds * 1000 },
  duration(seconds + (Date.now() - answer.receivedAt) / 1000));

/** Local, of 24 hours: 2026-01-31 14:05:09. */
function localTime(date, parts = 19) {
  const two = (value) => String(value).padStart(2, "0");
  return (`${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} `
    + `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`).slice(0, parts);
}

const time = (text) => text ? make("time", { datetime: text, title: text }, localTime(new Date(text))) : "–";

const stateClass = {
  finished: "good", live: "good", paused: "warn", cancelled: "warn", lost: "bad", error: "bad", warning: "warn", held: "warn",
  "at its limit": "warn",
};
const state = (text, kind = stateClass[text] ?? "") => make("span", { class: "state " + kind }, text);

/** The state of a batch in words, as BatchStateText.swift has them. */
const batchState = (batch) => {
  if (["open", "sealed"].includes(batch.state)) {
    const isStarted = batch.finished > batch.fresh + batch.blocked + batch.invalid || batch.downloads > 0 || batch.retries > 0;
    return state(isStarted ? "running" : "waiting", "active");
  }
  if (batch.state !== "finished" || !batch.failed) return state(batch.state);
  return batch.failed === batch.total ? state("failed", "bad") : state(`finished with ${number(batch.failed)} failed`, "warn");
};

const command = (text) => make("code", {}, text);

/** A URL that breaks after its slashes; of a long one three lines are shown. */
const breakable = (text) => make("span", { class: "clamp url", title: text },
  text.match(/[^/]*\/?/g).flatMap((part) => [part, make("wbr")]));

/** What a row is about, so that its buttons stay under the focus when rows come and go. */
const rowKey = (row) => (row.database ? row.database + " " : "")
  + (row.job ?? row.given ?? row.url ?? row.worker ?? row.batchID ?? row.queue ?? row.origin ?? row.name);

/** Columns are [title, value of a row, class of the cell]. A phone shows a row as a card. */
function table(label, columns, rows, empty) {
  if (rows.length === 0) return make("p", { class: "empty" }, empty);
  const used = columns.filter(([, , kind]) => kind !== "actions" || allowsChanges);
  return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label },
    make("table", { class: "stacked" },
      make("thead", {}, make("tr", {}, used.map(([title, , kind]) =>
        make(title ? "th" : "td", { scope: title ? "col" : null, class: kind === "number" ? "number" : null }, title)))),
      make("tbody", {}, rows.map((row) =>
        make("tr", { "data-key": rowKey(row) }, used.map(([title, value, kind]) => {
          const content = value(row) ?? (kind === "actions" ? "" : "–");
          const classes = [kind ?? (title ? "" : "bars"), content === "–" ? "none" : ""].filter((part) => part);
          return make("td", { class: classes.join(" ") || null, "data-title": title || null }, content);
        }))))));
}

/** A number that links to the failures when there are any. */
const failed = (count, filter) => count > 0
  ? make("a", { class: "bad", href: "#/failures?" + query(filter) }, number(count)) : "0";

/** A part that opens; it stays open while the page follows changes. */
const disclosure = (summary, ...content) =>
  make("details", { class: "part" }, make("summary", {}, summary), ...content);

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

/** Makes a change and shows the page again, and what the change answered where `note` says it. */
async function change(path, body, note) {
  try {
    const answer = await call(path, body);
    const text = note?.(answer);
    if (text) await tell(text);
  } catch (failure) { await tell(failure.message); }
  await show();
}

/** Asks, then makes a change. Nothing where changes are refused. */
function button(title, path, body, question, danger, note) {
  if (!allowsChanges) return null;
  return make("button", {
    type: "button", class: danger ? "danger" : null,
    onclick: async () => { if (await ask(question, title, danger)) await change(path, body, note); },
  }, title);
}

/** A field and a button for a change of what is typed; nothing where changes are refused. */
function form(title, path, field, label, question) {
  if (!allowsChanges) return null;
  return make("form", {
    class: "actions", onsubmit: async (event) => {
      event.preventDefault();
      const own = event.currentTarget, text = own.elements[field].value.trim();
      if (!text || !await ask(question(text), title)) return;
      own.reset();
      await change(path, { [field]: text });
    },
  }, make("label", {}, label + " ",
    make("input", { type: "text", name: field, required: "", size: "50", autocomplete: "off" })), make("button", { class: "primary" }, title));
}

/** A question whose answers are what will be done, and no. The focus is on no where that cannot be undone. */
const ask = (text, title, isDangerous) => showDialog(text, [
  make("button", { value: "yes", class: isDangerous ? "danger" : "primary" }, title),
  make("button", { value: "no", autofocus: isDangerous ? "" : null }, "No")]);

const tell = (text) => showDialog(text, [make("button", { value: "no", class: "primary" }, "Close")]);

function showDialog(text, buttons) {
  return new Promise((resolve) => {
    const dialog = make("dialog", { "aria-labelledby": "question" }, make("p", { id: "question" }, text),
      make("form", { method: "dialog", class: "actions" }, buttons));
    dialog.addEventListener("close", () => { dialog.remove(); resolve(dialog.returnValue === "yes"); });
    document.body.append(dialog);
    dialog.showModal();
  });
}

const handlers = ["onclick", "onsubmit", "oninput", "onchange", "ondragover", "ondrop"];

/** Takes over attributes and handlers; what a user typed or opened stays, unless the page has another default. */
function adopt(old, fresh) {
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && !(name === "open" && old.nodeName === "DETAILS")) old.removeAttribute(name);
  }
  const isField = "defaultValue" in old;
  const isNew = isField && old.defaultValue !== fresh.defaultValue;
  for (const { name, value } of fresh.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  for (const name of handlers) old[name] = fresh[name];
  if (isNew) {
    old.defaultValue = fresh.defaultValue;
    if (old.value !== fresh.value) old.value = fresh.value;
  }
  if (!isField) morph(old, fresh);
}

/** Gives an element the children of another, and keeps the nodes that stay: focus, selection, scroll. */
function morph(old, fresh) {
  const keyed = new Map([...old.children].filter((child) => child.dataset.key).map((child) => [child.dataset.key, child]));
  let place = old.firstChild;
  for (const next of [...fresh.childNodes]) {
    const key = next.dataset?.key;
    const same = key ? keyed.get(key) : place?.dataset?.key ? null : place;
    keyed.delete(key);
    if (!same || same.nodeName !== next.nodeName) { old.insertBefore(next, place); continue; }
    if (same === place) place = place.nextSibling; else old.insertBefore(same, place);
    if (same.nodeType !== Node.ELEMENT_NODE) { if (same.data !== next.data) same.data = next.data; } else adopt(same, next);
  }
  while (place) {
    const gone = place;
    place = place.nextSibling;
    gone.remove();
  }
}
