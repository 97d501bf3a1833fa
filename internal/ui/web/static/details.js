import { element, shape, time, number } from "./dom.js";

// Details are what there is to know of an autoscaler besides its past: metrics and pods, the forecast, events, advice.
export class Details {
  constructor() {
    this.metrics = section("Metrics and pods");
    this.events = section("Events");
    this.findings = section("Advice");
    this.shown = new Map();
  }

  begin() {
    this.shown.clear();
    for (const part of [this.metrics, this.events, this.findings]) part.hidden = true;
  }

  take(answer) {
    this.put(this.metrics, [answer.metrics, answer.forecast, answer.ahead], () => [metricTable(answer.metrics ?? []), forecast(answer.forecast), ahead(answer.ahead)]);
    this.put(this.events, answer.events, () => [eventTable(answer.events ?? [])]);
    this.put(this.findings, answer.findings, () => (answer.findings ? [findingList(answer.findings)] : []));
  }

  // put draws a part if what it shows has changed: who reads it, or has the focus in it, is left alone otherwise.
  put(place, from, parts) {
    const text = JSON.stringify(from);
    if (this.shown.get(place) === text) return;
    this.shown.set(place, text);
    const made = parts().filter(Boolean);
    place.hidden = made.length === 0;
    place.replaceChildren(place.firstChild, ...made);
  }
}

export function section(title) {
  return element("section", { hidden: true }, element("h3", {}, title));
}

// grid is a table with headings.
export function grid(label, headings, rows) {
  return element("div", { class: "wide", tabindex: 0, role: "region", "aria-label": label }, element("table", { class: "grid", "aria-label": label },
    element("thead", {}, element("tr", {}, ...headings.map((heading) => element("th", { scope: "col" }, heading)))),
    element("tbody", {}, ...rows.map((cells) => element("tr", {}, ...cells.map((cell) => element("td", {}, cell ?? "")))))));
}

function metricTable(metrics) {
  if (metrics.length === 0) return undefined;
  return grid("Metrics", ["Metric", "Value / target", "Replicas asked for", "Pods counted", "Pods set aside"], metrics.map((metric) => [
    metric.name, metric.failure ? element("span", { class: "health-problem" }, metric.failure) : bar(metric.ratio),
    element("span", { class: "num" }, number(metric.replicas)), element("span", { class: "num" }, number(metric.counted)), setAside(metric.setAside ?? []),
  ]));
}

function bar(ratio) {
  if (ratio === undefined) return "–";
  const width = 88;
  return element("span", {}, shape("svg", { width, height: 12, "aria-hidden": "true" },
    shape("rect", { class: "track", width, height: 8, y: 2 }), shape("rect", { class: "fill", width: Math.min(ratio, 2) / 2 * width, height: 8, y: 2 }),
    shape("line", { class: "target", x1: width / 2, x2: width / 2, y1: 0, y2: 12 })), element("span", { class: "num" }, ` ${number(ratio)}`));
}

function setAside(pods) {
  if (pods.length === 0) return "0";
  return element("ul", { class: "plain" }, ...pods.map(({ pod, why }) => element("li", {}, element("span", {}, pod), element("span", { class: "soft" }, ` ${why}`))));
}

function forecast(from) {
  if (!from) return undefined;
  return element("p", {}, `Forecast (${from.mode}): ${from.text}. Up to ${time(from.until)} a load of at most ${number(from.expected)} pods at the target is expected` +
    (from.replicas > 0 ? `; the forecast proposes ${from.replicas} replicas.` : "."));
}

function ahead(counts) {
  if (!counts?.length) return undefined;
  return element("p", {}, "If the load stays as it is: ", counts.map(({ at, replicas, limit }) =>
    `${replicas} replicas at ${time(at)}${limit && limit !== "None" ? ` (${limit})` : ""}`).join(", "), ".");
}

function eventTable(events) {
  if (events.length === 0) return undefined;
  return grid("Events", ["Time", "Type", "Reason", "Message"], [...events].reverse().map((event) => [
    element("span", { class: "num" }, time(event.at)), element("span", { class: event.type === "Warning" ? "health-warning" : "" }, event.type),
    event.count > 1 ? `${event.reason} ×${event.count}` : event.reason, event.message,
  ]));
}

const levels = { error: ["problem", "■"], warning: ["warning", "▲"], advice: ["unknown", "○"] };

function findingList(findings) {
  if (findings.length === 0) return element("p", {}, "Nothing.");
  return element("ul", { class: "findings" }, ...findings.map((finding) => {
    const [health, symbol] = levels[finding.level] ?? levels.advice;
    return element("li", {}, element("p", {}, element("span", { class: `health-${health}` }, `${symbol} ${finding.level} `), element("b", {}, finding.title), element("span", { class: "soft" }, ` ${finding.rule} · ${finding.object}${finding.field ? ` · ${finding.field}` : ""}`)),
      element("p", {}, finding.why), finding.remedy ? element("p", {}, finding.remedy) : undefined, finding.command ? copyable(finding.command, "Command") : undefined);
  }));
}

// copyable is a text with a button that copies it.
export function copyable(text, label) {
  const button = element("button", { type: "button", "aria-label": `Copy: ${label}`, onclick: async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(pre);
      button.textContent = "Selected";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  } }, "Copy");
  const pre = element("pre", { tabindex: 0, "aria-label": label }, text);
  return element("div", { class: "copyable" }, pre, button);
}
