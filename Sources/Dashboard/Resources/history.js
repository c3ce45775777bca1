// The charts of all batches over the last hours.

const spans = [[60, "1 hour"], [360, "6 hours"], [1440, "24 hours"]];
let span = 60;

function historySection({ seconds, slots: all }) {
  // Start at the first slot with any activity, but show at least 12 slots.
  const first = all.findIndex((slot) => slot.enqueued + slot.succeeded + slot.failed + slot.cancelled + slot.open > 0);
  const slots = all.slice(Math.max(0, Math.min(first < 0 ? 0 : first, all.length - 12)));
  const minutes = seconds / 60;
  const times = [0, 1, 2, 3, 4].map((part) =>
    localTime(slots[Math.min(slots.length - 1, Math.round(part * slots.length / 4))].at).slice(11, part === 4 ? 99 : 16).replace(/:\d\d /, " "));
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
      columns("stripes-history", `Items per ${length}`, slots.map((slot) => ({
        values: [slot.succeeded, slot.failed + slot.cancelled],
        text: `${localTime(slot.at, 16)}: ${number(slot.succeeded)} succeeded, ${number(slot.failed)} failed, `
          + `${number(slot.cancelled)} cancelled, ${number(slot.enqueued)} enqueued`,
      })), times, [["good", "succeeded"], ["bad", "failed or cancelled"]],
      `Items that ended in each ${length}: ${number(sums[0])} succeeded, ${number(sums[1])} failed or cancelled`),
      plot("Open items", deepest, times, [["accent", "open at the end of each " + length]],
        `Open items, now ${number(slots[slots.length - 1].open)}, at most ${number(Math.max(...slots.map((slot) => slot.open)))}`, number,
        svg("polygon", { points: `0,100 ${step},${100 - slots[0].open * 100 / deepest} ${line} 1000,100`, class: "area" }),
        svg("polyline", { points: line, class: "line" }))),
  ];
}
