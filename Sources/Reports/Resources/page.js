// Elements, texts and tables of the dashboard's and the reports' pages.
//
// All untrusted text goes through `textContent` or `setAttribute`, never through markup.

"use strict";
/** Whether the page has buttons for changes. */
let allowsChanges = false;

/** An element with attributes and children; texts become text nodes. */
function make(name, attributes, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key.startsWith("on")) element[key] = value;
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(key, value);
  }
  element.append(...children.flat(4).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

function svg(name, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

const number = (value) => value === null || value === undefined ? "–" : value.toLocaleString("en-US");
const plural = (count, word) => `${number(count)} ${word}${count === 1 ? "" : "s"}`;

function bytes(value) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let place = 0;
  while (value >= 1024 && place < units.length - 1) { value /= 1024; place += 1; }
  return (place === 0 ? value : value.toFixed(1)) + " " + units[place];
}

/** `2.5 of 79.8 MiB`. */
function bytesOf(part, whole) {
  const [first, second] = [bytes(part), bytes(whole)], unit = second.split(" ")[1];
  return `${first.endsWith(" " + unit) ? first.split(" ")[0] : first} of ${second}`;
}

/** A part's size relative to the whole, in whole percent: `−97 %`, `+3 %`. */
function smaller(part, whole) {
  const change = Math.round(part * 100 / whole) - 100;
  return change > 0 ? `+${number(change)} %` : `−${Math.min(-change, part > 0 ? 99 : 100)} %`;
}

/** Of seconds: `3m 20s`. */
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

/** Of ms: `850 ms`, `4.5 s`, `3m 20s`. */
const took = (value) => value === null || value === undefined ? "–" : value < 1000 ? Math.round(value) + " ms"
  : value < 60000 ? (Math.floor(value / 100) / 10).toFixed(1) + " s" : duration(value / 1000);

const clock = new Intl.DateTimeFormat("en-GB", {
  year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit",
  hourCycle: "h23", timeZoneName: "short",
});
/** An ISO 8601 time in the reader's zone, `2026-01-31 14:05:09 GMT+1`; `parts` says how many characters to show. */
function localTime(text, parts = 99) {
  const date = new Date(text);
  if (Number.isNaN(date.getTime())) return text;
  const part = Object.fromEntries(clock.formatToParts(date).map(({ type, value }) => [type, value]));
  return `${part.year}-${part.month}-${part.day} ${part.hour}:${part.minute}:${part.second} ${part.timeZoneName}`.slice(0, parts);
}
const time = (text) => text ? make("time", { datetime: text, title: text }, localTime(text)) : "–";

const stateClass = {
  finished: "good", live: "good", paused: "warn", cancelled: "warn", lost: "bad", error: "bad", warning: "warn", held: "warn",
  "at its limit": "warn", failed: "bad", running: "active", waiting: "active",
};
const state = (text, kind = stateClass[text] ?? "") => make("span", { class: "state " + kind }, text);

/** The state of a batch in a word, as BatchStateText.swift has it. */
function stateText(batch) {
  if (["open", "sealed"].includes(batch.state)) {
    const isStarted = batch.finished > batch.fresh + batch.blocked + batch.invalid || batch.downloads > 0 || batch.retries > 0;
    return isStarted ? "running" : "waiting";
  }
  return batch.state === "finished" && batch.failed > 0 && batch.failed === batch.total ? "failed" : batch.state;
}
function batchState(batch) {
  const text = stateText(batch);
  return text === "finished" && batch.failed > 0 ? state(`finished with ${number(batch.failed)} failed`, "warn") : state(text);
}

const command = (text) => make("code", {}, text);

/** A word of the shell. */
const quoted = (text) => /^(?!-)[A-Za-z0-9_./@:%+,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
/** The first words of two-word commands. */
const families = ["blocklist", "cache", "config", "db", "origin", "pipeline", "queue", "schedule"];
/** Advice with commands and options as code, and with the batch's name if it is known. */
function advice(text, batch) {
  const code = /larder ([a-z]+)(?: ([a-z]+))?(?: (?:BATCH|URL|DURATION))?(?: --[a-z-]+(?: '[^']*')?)*|--[a-z-]+(?: (?:CIDR|N\b|RetryFailed))?/g;
  const parts = [];
  let place = 0;
  for (const match of text.matchAll(code)) {
    // The second word may belong to the sentence: `larder health shows it`.
    const found = match[2] && !families.includes(match[1]) ? `larder ${match[1]}` : match[0];
    parts.push(text.slice(place, match.index), command(batch ? found.replace("BATCH", quoted(batch)) : found));
    place = match.index + found.length;
  }
  return [...parts, text.slice(place)];
}

/** A URL that breaks after slashes and is cut after three lines. It is a link unless a part is masked. */
const breakable = (text) => make(...(/^https?:/.test(text) && !text.includes("***")
  ? ["a", { class: "clamp url", title: text, href: text, rel: "noreferrer", target: "_blank" }]
  : ["span", { class: "clamp url", title: text }]), text.match(/[^/]*\/?/g).flatMap((part) => [part, make("wbr")]));

/** A row's identity, so that a focused button keeps the focus when rows are added or removed. */
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

/** A part that the reader can open; updates of the page leave it open. */
const disclosure = (summary, ...content) =>
  make("details", { class: "part" }, make("summary", {}, summary), ...content);

/** Boxes, each with a number and its name. */
const tiles = (pairs) => make("div", { class: "tiles" }, pairs.map(([name, value, kind]) =>
  make("div", { class: "tile" }, make("b", { class: kind }, value), make("span", {}, name))));

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
