// The script of a report, which shows the images of its data.
//
// Every text of the data goes through `textContent` or `setAttribute`, never through markup.

const data = JSON.parse(document.getElementById("data").textContent);
const gallery = document.getElementById("gallery");
const portion = 48;
const outcomes = ["succeeded", "failed", "cancelled"];

const items = data.items.map(([url, outcome, error, files, hash, color, frames, attempts, job], place) => ({
  url, outcome, hash, color, frames, attempts, place, error: error === null ? null : data.errors[error],
  files: files.map(([name, key, path, format, width, height, size, failure, unchanged]) => ({
    name: name === null ? "original" : data.names[name], key: key === null ? url : key, path, width, height, bytes: size,
    format: format === null ? null : data.formats[format], picture: null,
    error: failure === null ? null : data.errors[failure], unchanged, job,
  })),
}));
for (const [item, file, picture] of data.pictures) items[item].files[file].picture = "data:image/webp;base64," + picture;

/** Where `larder serve` is; null when the page is a file. */
const server = !document.body.hasAttribute("data-served") || !location.origin.startsWith("http") ? null
  : location.protocol === "blob:" ? location.origin + "/" : new URL("../", location.href).href;
const shownFormats = ["jpeg", "png", "gif", "webp", "avif", "svg"];
/** Where the server has a file: by its key, or by its job where the key is masked. */
const link = (file) => !server || !file.path ? null
  : server + (file.job ? ["batch", document.body.dataset.served, file.name, file.job] : ["cache", file.key]).map(encodeURIComponent).join("/");
const address = (file) => shownFormats.includes(file.format) ? link(file) : null;

const plural = (count, word) => `${count.toLocaleString("en-US")} ${word}${count === 1 ? "" : "s"}`;
/** The last part of the path of a URL. */
const lastPart = (url) => url.split(/[?#]/)[0].split("/").filter((part) => part).pop() || url;
/** That part without percent signs, unless it has bytes or characters that cannot be seen. */
function shortName(url) {
  const name = lastPart(url);
  try { return /[\p{C}\p{Z}]/u.test(decodeURIComponent(name).replaceAll(" ", "")) ? name : decodeURIComponent(name); } catch { return name; }
}
/** What is before that part, without `https://`. */
function folder(url) {
  const path = url.split(/[?#]/)[0];
  return path.slice(0, Math.max(0, path.lastIndexOf(lastPart(url)))).replace(/^https?:\/\//, "");
}
const size = (item) => item.files.reduce((sum, file) => sum + (file.bytes || 0), 0);
const original = (item) => item.files.find((file) => file.name === "original");
const variants = (item) => item.files.filter((file) => file.name !== "original" && file.path);
/** The variants' bytes as a share of the original's; 0 without one. */
const share = (item) => original(item)?.bytes
  ? variants(item).reduce((sum, file) => sum + (file.bytes || 0), 0) / original(item).bytes : 0;
const facts = (file) => [file.format, file.width ? `${file.width} × ${file.height}` : null,
  file.bytes === null ? null : bytes(file.bytes), file.unchanged ? "unchanged" : null].filter((part) => part).map((part) => part.replaceAll(" ", "\u00a0")).join(", ");

/** A picture and what it is; without a picture a low tile with the outcome, the URL and the error. */
function tile(item) {
  const view = picture(item);
  const first = original(item), made = variants(item).length;
  const text = item.outcome === 0
    ? [first ? facts(first) : "nothing new", made > 0 ? plural(made, "variant") : null].filter((part) => part).join(", ")
    : item.error || item.files.find((file) => file.error)?.error || outcomes[item.outcome];
  const kind = item.outcome === 1 ? " bad" : "";
  const state = item.outcome === 0 ? "no picture" : outcomes[item.outcome];
  return make("button", {
    type: "button", class: view ? "item" : "item bare", title: item.url, onclick: () => open(item),
  },
    view ?? make("span", { class: "state" + kind }, state),
    make("span", { class: "name" }, shortName(item.url)),
    view ? null : make("span", { class: "folder" }, folder(item.url)),
    make("span", { class: "facts" + kind }, text));
}

let chosen = items, shown = 0;
function more(count) {
  gallery.append(...chosen.slice(shown, shown + count).map(tile));
  shown = Math.min(chosen.length, shown + count);
  const left = chosen.length - shown, button = document.getElementById("more");
  button.hidden = left === 0;
  button.textContent = `Show ${Math.min(portion, left)} more`;
  document.getElementById("count").textContent = chosen.length === 0 ? "No image fits the search."
    : `${shown.toLocaleString("en-US")} of ${plural(chosen.length, "image")} shown`;
}

const pictured = (item) => item.files.some((file) => file.picture) ? 0 : item.hash ? 1 : 2;
const orders = {
  pictures: (a, b) => pictured(a) - pictured(b) || a.place - b.place, none: (a, b) => a.place - b.place,
  failures: (a, b) => (b.outcome === 1) - (a.outcome === 1) || a.place - b.place,
  url: (a, b) => a.url < b.url ? -1 : a.url > b.url ? 1 : 0,
  large: (a, b) => size(b) - size(a), small: (a, b) => size(a) - size(b),
  saved: (a, b) => (share(a) || Infinity) - (share(b) || Infinity), attempts: (a, b) => b.attempts - a.attempts,
};
function choose() {
  const words = document.getElementById("search").value.trim().toLowerCase();
  const filter = document.getElementById("filter").value, order = document.getElementById("order").value;
  const fits = {
    all: () => true, 0: (item) => item.outcome === 0, 1: (item) => item.outcome === 1, 2: (item) => item.outcome === 2,
    animated: (item) => item.frames > 1, retried: (item) => item.attempts > 1,
  }[filter];
  chosen = items.filter((item) => fits(item) && (words === ""
    || item.url.toLowerCase().includes(words) || item.files.some((file) => file.key.toLowerCase().includes(words))));
  chosen.sort(orders[order]);
  shown = 0;
  gallery.replaceChildren();
  // Two rows, but six images at least, before the sections below, unless there is nothing to see in these.
  const columns = getComputedStyle(gallery).gridTemplateColumns.split(" ").length;
  const few = columns * Math.max(2, Math.ceil(6 / columns));
  more(words === "" && filter === "all" && order === "pictures" && data.isShort ? few : portion);
}

for (const element of document.querySelectorAll("time")) element.textContent = localTime(element.dateTime);
if (gallery) {
  data.isShort = gallery.hasAttribute("data-short");
  document.querySelector(".controls").hidden = false;
  for (const id of ["filter", "order"]) document.getElementById(id).onchange = choose;
  document.getElementById("search").oninput = choose;
  document.getElementById("more").onclick = () => more(portion);
  choose();
}
for (const button of document.querySelectorAll("button[data-copy]")) {
  button.hidden = false;
  button.onclick = () => copy(button.dataset.copy, button);
}
