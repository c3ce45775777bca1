/// The script that shows the newest images of a batch.
enum DashboardImages {
    static let text = #"""
        /** Addresses of the images that were loaded, by path; empty while loading and for one that cannot be had. */
        const pictures = new Map();
        const mostPictures = 300;
        const shownFormats = ["jpeg", "png", "gif", "webp", "avif"];

        /** An image; an <img> alone would not send the token. */
        function picture(path, alt) {
          if (!pictures.has(path)) {
            pictures.set(path, "");
            if (pictures.size > mostPictures) {
              const [oldest, address] = pictures.entries().next().value;
              if (address) URL.revokeObjectURL(address);
              pictures.delete(oldest);
            }
            authorized(path).then(async (response) => {
              if (!response.ok) return;
              pictures.set(path, URL.createObjectURL(await response.blob()));
              soon(shortestPause);
            }).catch(() => pictures.delete(path));
          }
          const address = pictures.get(path);
          return address ? make("img", { src: address, alt }) : make("span", { class: "quiet" }, "no image");
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
            next ? "The newest 1,000 jobs have no image; the report has those of others."
              : isOver ? "Its jobs have stored no new file." : "No image yet.");
          return make("div", { class: "images" }, [...jobs.values()].map((image) => {
            const variant = image.variant ?? "original";
            const path = ["batch", id, variant, image.job].map(encodeURIComponent).join("/");
            const size = image.width ? `${image.width} × ${image.height}, ` : "";
            const name = image.url.split(/[?#]/)[0].split("/").filter((part) => part).pop() || image.url;
            return make("figure", {}, picture(path, image.url),
              make("figcaption", { title: image.url }, make("b", {}, name), make("span", {}, variant),
                make("span", {}, size + bytes(image.bytes ?? 0))));
          }));
        }

        """#
}
