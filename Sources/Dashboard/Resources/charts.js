// The script of the charts: SVG between axes of text, with a legend. What failed is striped in two shades, so that no
// colour has to be told from another, and a column has no gaps.

const spans = [[60, "1 hour"], [360, "6 hours"], [1440, "24 hours"]];
let span = 60;

const rect = (x, y, width, height, fill) => svg("rect", { x, y, width, height, ...fill });

/** A plot with three marks on the left, five below, and what its kinds mean. */
function plot(title, top, times, legend, label, ...content) {
  const marks = [top, top / 2, 0].map((value) => make("span", {}, number(Math.round(value * 10) / 10)));
  return make("figure", { class: "chart" },
    make("figcaption", {}, make("b", {}, title), legend.map(([kind, name]) =>
      make("span", { class: "legend" }, make("i", { class: "key-" + kind, "aria-hidden": "true" }), name))),
    make("div", { class: "plot" }, make("div", { class: "left", "aria-hidden": "true" }, marks),
      svg("svg", { viewBox: "0 0 1000 100", preserveAspectRatio: "none", role: "img", "aria-label": label },
        ...[0, 50, 100].map((y) => svg("line", { x1: 0, x2: 1000, y1: y, y2: y, class: "grid" })), ...content),
      make("div", { class: "below", "aria-hidden": "true" }, times.map((text) => make("span", {}, text)))));
}

/** The least round number that is not below a value, of which the half is as round: as in a report. */
function roundTop(value) {
  const small = [2, 4, 6, 8].find((top) => top >= value);
  if (small) return small;
  for (let unit = 1; ; unit *= 10) {
    const step = [10, 12, 16, 20, 30, 40, 50, 60, 80].find((factor) => factor * unit >= value);
    if (step) return step * unit;
  }
}

const stripes = (id) => svg("defs", {}, svg("pattern",
  { id, width: 20, height: 4, patternUnits: "userSpaceOnUse" },
  rect(0, 0, 20, 4, { class: "between" }), rect(0, 0, 20, 2, { class: "stripe" })));

/** Columns of [succeeded, other] and a text each. */
function columns(id, list, top) {
  const width = 1000 / list.length;
  const parts = [stripes(id)];
  list.forEach(({ good, bad, text }, place) => {
    if (good + bad === 0) return;
    const height = (count) => count * 100 / top, x = place * width + width * 0.1;
    const bars = [];
    if (good > 0) bars.push(rect(x, 100 - height(good), width * 0.8, height(good), { class: "fill-good" }));
    if (bad > 0) bars.push(rect(x, 100 - height(good + bad), width * 0.8, height(bad), { fill: `url(#${id})` }));
    parts.push(svg("g", {}, svg("title", {}, text), ...bars));
  });
  return parts;
}

function historySection({ seconds, slots }) {
  const minutes = seconds / 60, at = (slot) => new Date(slot.at);
  const clock = (slot) => localTime(at(slot)).slice(11, 16);
  const times = [0, 1, 2, 3, 4].map((part) => clock(slots[Math.min(slots.length - 1, Math.round(part * slots.length / 4))]));
  const most = roundTop(Math.max(1, ...slots.map((slot) => slot.succeeded + slot.failed + slot.cancelled)));
  const deepest = roundTop(Math.max(1, ...slots.map((slot) => slot.open)));
  const length = minutes === 1 ? "minute" : minutes + " minutes";
  const step = 1000 / slots.length;
  const line = slots.map((slot, place) => `${(place + 1) * step},${100 - slot.open * 100 / deepest}`).join(" ");
  const sums = slots.reduce((sum, slot) => [sum[0] + slot.succeeded, sum[1] + slot.failed + slot.cancelled], [0, 0]);
  return [
    make("div", { class: "heading" }, make("h2", {}, "History"),
      make("div", { class: "choice", role: "group", "aria-label": "Span of the history" }, spans.map(([value, name]) =>
        make("button", { type: "button", "aria-pressed": String(span === value), onclick: () => { span = value; show(); } }, name)))),
    make("div", { class: "charts" },
      plot(`Items per ${length}`, most, times, [["good", "succeeded"], ["bad", "failed or cancelled"]],
        `Items that ended in each ${length}: ${number(sums[0])} succeeded, ${number(sums[1])} failed or cancelled`,
        ...columns("stripes-history", slots.map((slot) => ({
          good: slot.succeeded, bad: slot.failed + slot.cancelled,
          text: `${localTime(at(slot), 16)}: ${number(slot.succeeded)} succeeded, ${number(slot.failed)} failed, `
            + `${number(slot.cancelled)} cancelled, ${number(slot.enqueued)} enqueued`,
        })), most)),
      plot("Open items", deepest, times, [["accent", "open at the end of each " + length]],
        `Open items, now ${number(slots[slots.length - 1].open)}, at most ${number(Math.max(...slots.map((slot) => slot.open)))}`,
        svg("polygon", { points: `0,100 ${step},${100 - slots[0].open * 100 / deepest} ${line} 1000,100`, class: "area" }),
        svg("polyline", { points: line, class: "line" }))),
  ];
}

/** A bar of a share of the width, for a cell. */
const share = (value, top, kind = "accent") => make("div", { class: "bar", "aria-hidden": "true" },
  svg("svg", { viewBox: "0 0 100 8", preserveAspectRatio: "none" },
    rect(0, 0, Math.min(100, top > 0 ? value * 100 / top : 0), 8, { class: "fill-" + kind })));
