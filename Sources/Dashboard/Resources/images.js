// The script that shows the newest images of a batch.

/** Addresses of the images that were loaded, by path; empty while loading, null for one that cannot be had. */
const pictures = new Map();
const mostPictures = 300;
const shownFormats = ["jpeg", "png", "gif", "webp", "avif"];

/** An image, null when it cannot be had; an <img> alone would not send the token. */
function picture(path, alt) {
  if (!pictures.has(path)) {
    pictures.set(path, "");
    if (pictures.size > mostPictures) {
      const [oldest, address] = pictures.entries().next().value;
      if (address) URL.revokeObjectURL(address);
      pictures.delete(oldest);
    }
    authorized(path).then(async (response) => {
      pictures.set(path, response.ok ? URL.createObjectURL(await response.blob()) : null);
      soon(shortestPause);
    }).catch(() => pictures.delete(path));
  }
  const address = pictures.get(path);
  if (address === null) return null;
  return address ? make("img", { src: address, alt }) : make("span", { class: "quiet" }, "loading");
}

/** One figure for each job, with its smallest file. */
function gallery(id, images, next, isOver) {
  const jobs = new Map();
  for (const image of images) {
    if (!shownFormats.includes(image.format)) continue;
    const best = jobs.get(image.job);
    if (!best || image.bytes < best.bytes) jobs.set(image.job, image);
  }
  if (jobs.size === 0) return make("p", { class: "quiet" },
    next ? "The newest 1,000 jobs have no image; the report has the images of others."
      : isOver ? "Its jobs have stored no new file." : "No image yet.");
  return make("div", { class: "images" }, [...jobs.values()].map((image) => {
    const variant = image.variant ?? "original";
    const path = ["batch", id, variant, image.job].map(encodeURIComponent).join("/");
    const size = image.width ? `${image.width} × ${image.height}, ` : "";
    const name = image.url.split(/[?#]/)[0].split("/").filter((part) => part).pop() || image.url;
    const view = picture(path, image.url);
    return make("figure", { class: view ? null : "bare" }, view,
      make("figcaption", { title: image.url }, view ? null : state("no image"), make("b", {}, name),
        view ? make("span", {}, variant) : null,
        view ? make("span", {}, size + bytes(image.bytes ?? 0))
          : make("span", { class: "cause" }, "not in the cache here, or not served")));
  }));
}
