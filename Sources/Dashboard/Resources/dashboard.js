// Shared by all dashboard pages: the API, confirmations, and updating a page with new content.

const tokenKey = "larder-token";
const main = document.querySelector("main");
const connection = document.querySelector("#connection");

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

/** A form that asks for the token, with a warning if the last token was refused. Shows the page once it is sent. */
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

/** With a body, makes a change. Without one, reads: the latest answer from the server's events, else a request. */
async function call(path, body) {
  if (!body) live.wanted.add(path);
  if (!body && live.answers.has(path)) return live.answers.get(path);
  const response = await authorized("api/v1/" + path, body);
  allowsChanges = response.headers.get("Larder-Changes") === "allowed";
  const answer = await response.json();
  if (!response.ok) throw new Failure(response.status, answer.error ?? { message: response.statusText });
  answer.receivedAt = Date.now();
  // A change invalidates the known answers.
  if (body) live.answers.clear();
  return answer;
}

/** The query of a path, without empty values. */
const query = (values) => new URLSearchParams(
  Object.entries(values).filter(([, value]) => value !== "" && value !== null && value !== undefined)).toString();

/** A duration that keeps counting; it was `seconds` when the answer arrived. */
const elapsed = (seconds, answer) => make("span", { "data-since": answer.receivedAt - seconds * 1000 },
  duration(seconds + (Date.now() - answer.receivedAt) / 1000));

/** A number of failures, with a link to them unless it is 0. */
const failed = (count, filter) => count > 0
  ? make("a", { class: "bad", href: "#/failures?" + query(filter) }, number(count)) : "0";

/** Makes a change and shows the page again. `note` makes a message from the change's answer, if given. */
async function change(path, body, note) {
  try {
    const answer = await call(path, body);
    const text = note?.(answer);
    if (text) await tell(text);
  } catch (failure) { await tell(failure.message); }
  await show();
}

/** A button that asks and then makes a change; null if the user may not change things. */
function button(title, path, body, question, danger, note) {
  if (!allowsChanges) return null;
  return make("button", {
    type: "button", class: danger ? "danger" : null,
    onclick: async () => { if (await ask(question, title, danger)) await change(path, body, note); },
  }, title);
}

/** A text field with a button that sends the text as a change; null if the user may not change things. */
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

/** A dialog with one button that names the action and one for no. If it is dangerous, no has the focus. */
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

const handlers = ["onclick", "onerror", "onsubmit", "oninput", "onchange", "ondragover", "ondrop"];

/** Copies attributes and handlers. Typed text and opened parts stay, unless the new page has another default. */
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

/** Replaces an element's children. Equal nodes are reused, so that focus, selection and scroll position stay. */
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
