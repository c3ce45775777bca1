// The script of a report: the page of one or several batches from the data in it. The counts are before this script;
// the images in parts, the statistics and the pictures are after it, and the page shows them as they are read.

const report = JSON.parse(document.getElementById("report").textContent);
const main = document.getElementById("main");
const batch = report.batches.length === 1 ? report.batches[0] : null;
/** Images per page. */
const mostTiles = 48;

const failed = (count) => count > 0 ? make("b", { class: "bad" }, number(count)) : "0";
const isPreview = true;
/** The pictures that have been read, by image and file, and the images that have one. */
const shown = new Map(), withPicture = new Set();
const tileFile = (image) => image.files.find((file) => shown.has(file.id)) ?? null;
const address = (file) => shown.get(file.id) ?? null;
const load = async () => {};
const fragment = (image) => image ? "#image=" + image.place : "#images";
/** The budgets of variants by name. */
const budgets = new Map();
const isOver = (file) => file.bytes > (budgets.get(file.name) ?? Infinity);

/** An image from a row: [url, outcome, error, files, ThumbHash, colour, frames, attempts], texts by their number. */
class ReportImage {
  constructor([url, outcome, error, files, hash, color, frames, attempts], part, place) {
    const text = error === null ? null : part.errors[error];
    Object.assign(this, { url, outcome, error: text, hash, color, frames, attempts, place, key: "image-" + place, part, row: files });
  }
  /** Read when they are shown: there may be 100,000 images. */
  get files() {
    this.read ??= this.row.map(([name, shared, key, path, format, width, height, size, error, unchanged], file) => ({
      name: name === null ? "original" : this.part.names[name], key: this.url.slice(0, shared) + key, path, width, height, bytes: size,
      format: format === null ? null : this.part.formats[format], error: error === null ? null : this.part.errors[error],
      unchanged, id: `${this.place} ${file}`,
    }));
    return this.read;
  }
  get isPictured() { return withPicture.has(this.place); }
}

const images = [];
const readers = {
  images: (part) => { for (const row of part.items) images.push(new ReportImage(row, part, images.length)); },
  statistics: (statistics) => {
    report.statistics = statistics;
    for (const { name, budget } of statistics.variants) if (budget) budgets.set(name, budget);
  },
  pictures: (rows) => {
    for (const [image, file, data] of rows) {
      shown.set(`${image} ${file}`, "data:image/webp;base64," + data);
      withPicture.add(image);
    }
  },
};
/** Reads the data elements that are complete. */
function readParts() {
  for (const element of document.querySelectorAll("body > script[class]")) {
    if (!element.nextSibling && document.readyState === "loading") return;
    readers[element.className](JSON.parse(element.textContent));
    element.remove();
  }
}

const size = (image) => image.files.reduce((sum, file) => sum + (file.bytes ?? 0), 0);
/** The variants' bytes as a share of the original's; infinite without one. */
function left(image) {
  const made = variantFiles(image).filter((file) => file.bytes);
  return original(image)?.bytes && made.length > 0
    ? made.reduce((sum, file) => sum + file.bytes, 0) / original(image).bytes / made.length : Infinity;
}
const pictured = (image) => image.isPictured ? 0 : image.hash ? 1 : 2;
const orders = {
  pictures: ["pictures first", (a, b) => pictured(a) - pictured(b)], none: ["as enqueued", () => 0],
  failures: ["failures first", (a, b) => (b.outcome === 1) - (a.outcome === 1)],
  url: ["URL", (a, b) => a.url < b.url ? -1 : a.url > b.url ? 1 : 0],
  large: ["largest first", (a, b) => size(b) - size(a)], small: ["smallest first", (a, b) => size(a) - size(b)],
  saved: ["most saved first", (a, b) => (left(a) > left(b)) - (left(a) < left(b))],
  attempts: ["most attempts first", (a, b) => b.attempts - a.attempts],
};
const filters = {
  all: () => true, succeeded: (image) => image.outcome === 0, failed: (image) => image.outcome === 1,
  cancelled: (image) => image.outcome === 2, "over budget": (image) => budgets.size > 0 && image.files.some(isOver), retried: (image) => image.attempts > 1, animated: (image) => image.frames > 1,
};

const choice = { filter: "all", order: "pictures", words: "", page: 0 };
const gallery = make("div", { class: "gallery", id: "gallery" });
const pager = make("p", { class: "actions" }), chips = make("div", { class: "chips", role: "group", "aria-label": "Images shown" });

function showImages() {
  const words = choice.words.trim().toLowerCase();
  const chosen = images.filter((image) => filters[choice.filter](image) && (words === "" || image.url.toLowerCase().includes(words)
    || image.files.some((file) => file.key.toLowerCase().includes(words)))).sort(orders[choice.order][1]);
  const pages = Math.max(1, Math.ceil(chosen.length / mostTiles));
  choice.page = Math.max(0, Math.min(choice.page, pages - 1));
  const shown = chosen.slice(choice.page * mostTiles, (choice.page + 1) * mostTiles);
  gallery.replaceChildren(...shown.map((image, place) => tile(image, () => openImage(shown, place))));
  const go = (page) => { choice.page = page; showImages(); };
  const button = (text, page) => make("button", { type: "button", disabled: page < 0 || page >= pages ? "" : null, onclick: () => go(page) }, text);
  pager.replaceChildren(...(pages === 1 ? [] : [button("Previous", choice.page - 1), button("Next", choice.page + 1),
    make("label", {}, "Page ", make("input", { type: "number", id: "page", min: "1", max: pages, value: choice.page + 1,
      onchange: (event) => go(Number(event.currentTarget.value) - 1) }), ` of ${number(pages)}`)]),
  make("span", { class: "quiet", role: "status" }, chosen.length === 0 ? "No image fits the search." : plural(chosen.length, "image")));
}

function showChips() {
  chips.replaceChildren(...Object.entries(filters).map(([name, fits]) => [name, images.filter(fits).length])
    .filter(([name, count]) => name === "all" || count > 0 && (name === choice.filter || count < images.length)).map(([name, count]) =>
      make("button", { type: "button", "aria-pressed": String(choice.filter === name), onclick: () => {
        Object.assign(choice, { filter: name, page: 0 });
        showChips();
        showImages();
      } }, name, " ", make("b", {}, number(count)))));
}

const controls = make("div", { class: "controls" },
  make("label", {}, "Search in URLs and keys", make("input", { type: "search", id: "search", autocomplete: "off",
    oninput: (event) => { Object.assign(choice, { words: event.currentTarget.value, page: 0 }); showImages(); } })),
  make("label", {}, "Order", make("select", { id: "order",
    onchange: (event) => { Object.assign(choice, { order: event.currentTarget.value, page: 0 }); showImages(); } },
  Object.entries(orders).map(([name, [text]]) => make("option", { value: name }, text)))));
const imagesNote = make("p", { class: "quiet", id: "note" });

const imagesSection = () => images.length === 0 ? null : [chips, controls, gallery, pager, imagesNote];

/** How many of the images the page lists, and how many of these have a picture. */
function note() {
  if (document.readyState === "loading" || !report.statistics) return "Reading the images and their pictures…";
  const shown = images.filter((image) => image.isPictured).length;
  const missing = images.length < report.statistics.records
    ? `This page lists ${number(images.length)} of ${plural(report.statistics.records, "image")}; larder report --files lists all. ` : "";
  return missing + (shown === 0 ? "No picture is embedded: the cache does not have the files, or --thumbnails is 0."
    : `${number(shown)} of ${plural(images.length, "image")} have a picture inside the page${shown < images.length ? "; others show their placeholder." : "."}`);
}

/** The text of a page without images. */
function emptiness() {
  if (!batch) return "No image was enqueued in this time.";
  return batch.state !== "open" ? "No image was enqueued in this batch."
    : ["No image has been enqueued in this batch yet. ", command(`larder enqueue URL --batch ${quoted(batch.batch)}`), " adds one."];
}

function batchesSection() {
  if (batch) return null;
  return table("Batches", [
    ["Batch", (row) => row.title, "long"], ["State", batchState], ["Opened", (row) => time(row.openedAt)],
    ["Items", (row) => number(row.total), "number"], ["Failed", (row) => failed(row.failed), "number"],
    ["Received", (row) => bytes(row.bytesIn), "number"],
  ], report.batches, "No batch was opened in this time.");
}

/** The causes, or the reason why there are none. */
function failuresSection(causes) {
  const { failed: count, discarded } = report.counts;
  if (count === discarded || causes.length === 0) return make("p", { class: "quiet" }, count === 0 ? "No image failed." : "All failures were discarded.");
  return causesTable(causes, batch?.batch, report.showsCodes);
}

function showReport() {
  const { counts, statistics } = report, causes = counts.failed > counts.discarded ? merged(statistics?.causes ?? []) : [];
  const sections = counts.total === 0 && batch ? [] : !statistics ? [["images", "Images", imagesSection() ?? imagesNote]] : [
    ["images", "Images", imagesSection()], ["failures", "Failures", failuresSection(causes)],
    ["previous", "Previous run", previousSection(batch, statistics.previous)], ["time", "Time", timeSection(statistics)],
    ["origins", "Origins", originsSection(statistics)], ["sizes", "Sizes", sizesSection(statistics)],
    ["retries", "Retries and blocklist", retriesSection(statistics, report.batches.reduce((sum, row) => sum + row.blocked, 0), report.showsCodes)],
    ["batches", "Batches", batchesSection()], ["settings", "Settings", settingsSection(statistics)],
  ].filter(([, , content]) => content !== null);
  document.querySelector("nav").replaceChildren(...sections.map(([id, title]) => make("a", { href: "#" + id }, title,
    id === "failures" && counts.failed > 0 ? [" ", make("b", { class: "bad" }, number(counts.failed))] : null)));
  main.replaceChildren(make("div", {},
    make("h1", { class: report.title.length > 60 ? "lengthy" : null }, report.title),
    batch ? make("p", {}, batchState(batch), make("span", { class: "quiet" }, "opened ", time(batch.openedAt),
      batch.finishedAt ? [", finished ", time(batch.finishedAt)] : null)) : null,
    counts.total === 0 ? make("p", { class: "empty" }, emptiness()) : summary(counts, batch, statistics ?? { variants: [] }, causes, false),
    sections.map(([id, title, content]) => make("section", { id }, make("h2", {}, title), content))));
}

const named = Number(location.hash.match(/^#image=(\d+)$/)?.[1] ?? -1);
let reading = null;
/** Shows the data read since the last call. */
function showRead() {
  reading = null;
  const before = { statistics: report.statistics, count: images.length };
  readParts();
  if (report.statistics !== before.statistics || before.count === 0) showReport();
  imagesNote.textContent = note();
  if (images.length === 0) return;
  showChips();
  showImages();
  if (before.count <= named && named < images.length) openImage([images[named]], 0, true);
}

showRead();
const observer = new MutationObserver(() => { reading ??= setTimeout(showRead, images.length === 0 ? 0 : 400); });
observer.observe(document.body, { childList: true });
document.addEventListener("DOMContentLoaded", () => {
  observer.disconnect();
  clearTimeout(reading);
  showRead();
});
