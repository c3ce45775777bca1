// The images of a batch; the server has their files.

/** Addresses of loaded pictures by path: a promise while one loads, null if it failed. */
const pictures = new Map();
const mostPictures = 300;
const shownFormats = ["jpeg", "png", "gif", "webp", "avif"];
/** The images per page, and the cursors at which the visited pages of a batch start. */
const mostTiles = 48;
const imagePages = { batch: null, starts: [""], named: null };

const isPreview = false;
const isOver = () => false;
const fragment = (image) => pageKey() + (image ? "?image=" + image.key.slice("job-".length) : "");
/** The smallest of the files whose format a browser can show. */
const tileFile = (image) => image.files.filter((file) => shownFormats.includes(file.format)).sort((a, b) => a.bytes - b.bytes)[0] ?? null;

/** A file's address; null if it cannot be loaded. The page is shown again once the file has loaded. */
function address(file) {
  if (!shownFormats.includes(file.format)) return null;
  if (!pictures.has(file.address)) load(file).then(() => soon(shortestPause));
  const known = pictures.get(file.address);
  return known instanceof Promise ? undefined : known;
}

/** Loads a file: an <img> alone would not send the token. */
async function load(file) {
  if (!shownFormats.includes(file.format)) return;
  if (!pictures.has(file.address)) {
    pictures.set(file.address, authorized(file.address).then(async (response) => response.ok ? URL.createObjectURL(await response.blob()) : null,
      () => null).then((address) => { pictures.set(file.address, address); }));
    if (pictures.size > mostPictures) {
      const [oldest, known] = pictures.entries().next().value;
      if (typeof known === "string") URL.revokeObjectURL(known);
      pictures.delete(oldest);
    }
  }
  await pictures.get(file.address);
}

/** Groups rows, one per file, into images, newest first. */
function imagesOf(id, rows) {
  const images = new Map();
  for (const { job, url, variant, ...file } of rows) {
    if (!images.has(job)) images.set(job, { key: "job-" + job, url, outcome: 0, error: null, files: [], hash: null, frames: 1, attempts: 1 });
    const name = variant ?? "original";
    images.get(job).files.push({ ...file, name, path: null, error: null,
      address: ["batch", id, name, job].map(encodeURIComponent).join("/") });
  }
  return [...images.values()];
}

function imagesSection(id, rows, next, isOver) {
  const images = imagesOf(id, rows), { starts } = imagePages;
  const named = imagePages.named ? images.findIndex((image) => image.key === "job-" + imagePages.named) : -1;
  imagePages.named = null;
  if (named >= 0) openImage(images, named, true);
  if (images.length === 0 && starts.length === 1) {
    return make("p", { class: "quiet" }, next ? "The newest 1,000 jobs have no image."
      : isOver ? "Its jobs have stored no new file." : "No image yet.");
  }
  const step = (title, change) => make("button", { type: "button", onclick: () => { change(); show(); } }, title);
  return [
    make("div", { class: "gallery" }, images.map((image, place) => tile(image, () => openImage(images, place)))),
    make("div", { class: "actions" },
      starts.length > 1 ? step("Newer images", () => starts.pop()) : null,
      next ? step("Older images", () => starts.push(next)) : null),
  ];
}
