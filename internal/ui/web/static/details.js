import { element, shape, time, number } from "./dom.js";
import { limitWords, metricWords, reasonWords } from "./words.js";

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
    const events = noteOf(answer, "Events"), advice = noteOf(answer, "Advice");
    this.put(this.events, [answer.events, events], () => [noted(events), answer.events || !events ? eventTable(answer.events ?? []) : undefined]);
    this.put(this.findings, [answer.findings, advice], () => [answer.findings && findingList(answer.findings), noted(advice)]);
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

// noteOf says why something is missing of a part of the page; it is empty where nothing is.
export function noteOf({ notes }, what) {
  return (notes ?? []).filter((note) => note.what === what).map(({ why }) => sentence(why)).join(" ");
}

// sentence is a text with a capital letter and a full stop.
export function sentence(text) {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?…]$/.test(text) ? "" : "."}`;
}

function noted(text) {
  return text ? element("p", { class: "soft why" }, text) : undefined;
}

export function section(title) {
  return element("section", { hidden: true }, element("h3", {}, title));
}

// grid is a table with headings. On a narrow page its rows become lists, unless it compares numbers.
export function grid(label, headings, rows, kind = "") {
  return element("table", { class: `grid ${kind}`, "aria-label": label },
    element("thead", {}, element("tr", {}, ...headings.map((heading) => element("th", { scope: "col" }, heading)))),
    element("tbody", {}, ...rows.map((cells) => element("tr", {}, ...cells.map((cell, i) => element("td", { "data-label": headings[i] }, element("div", {}, cell ?? "–")))))));
}

function metricTable(metrics) {
  if (metrics.length === 0) return undefined;
  return grid("Metrics", ["Metric", "Value / target", "Asks for", "Pods counted", "Pods that do not count"], metrics.map((metric) => [
    metricWords(metric.name), metric.failure ? element("span", { class: "health-problem" }, metric.failure) : bar(metric.ratio),
    element("span", { class: "num" }, number(metric.replicas)), element("span", { class: "num" }, number(metric.counted)), setAside(metric),
  ]));
}

function bar(ratio) {
  if (ratio === undefined) return "–";
  const width = 88;
  return element("span", {}, shape("svg", { width, height: 12, "aria-hidden": "true" },
    shape("rect", { class: "track", width, height: 8, y: 2 }), shape("rect", { class: "fill", width: Math.min(ratio, 2) / 2 * width, height: 8, y: 2 }),
    shape("line", { class: "target", x1: width / 2, x2: width / 2, y1: 0, y2: 12 })), element("span", { class: "num" }, ` ${number(ratio)}`));
}

function setAside({ counted, setAside: pods = [] }) {
  if (pods.length === 0) return counted === undefined ? "–" : "none";
  return element("ul", { class: "plain" }, ...pods.map(({ pod, why }) => element("li", {}, element("span", {}, pod), element("span", { class: "soft" }, ` ${why}`))));
}

function forecast(from) {
  if (!from) return undefined;
  const { mode, text, until, expected, replicas } = from;
  if (expected === undefined) return element("p", {}, `Forecast (${mode}): it still learns, and expects nothing yet: ${text}.`);
  return element("p", {}, `Forecast (${mode}): ${text}. Up to ${time(until)} it expects a load of at most ${number(expected)} pods at the target` +
    (replicas > 0 ? `, and proposes ${replicas} replicas.` : "."));
}

function ahead(counts) {
  if (!counts?.length) return undefined;
  return element("p", {}, "If the load stays as it is: ", counts.map(({ at, replicas, limit }) => {
    const why = limitWords(limit);
    return `${replicas} replicas at ${time(at)}${why ? ` (${why})` : ""}`;
  }).join(", "), ".");
}

function eventTable(events) {
  if (events.length === 0) return element("p", { class: "soft" }, "No events. The API server keeps them for an hour by default.");
  return grid("Events", ["Time", "Type", "Reason", "Message"], [...events].reverse().map((event) => [
    element("span", { class: "num" }, time(event.at)), element("span", { class: event.type === "Warning" ? "health-warning" : "" }, event.type),
    event.count > 1 ? `${event.reason} ×${event.count}` : event.reason, eventWords(event.message),
  ]), "of-events");
}

// eventWords is an event's message, with the reason of a scale in words.
function eventWords(message) {
  const said = /^(New size: \d+; reason: )(.*)$/.exec(message);
  return said ? said[1] + reasonWords(said[2]) : message;
}

const levels = { error: ["problem", "■"], warning: ["warning", "▲"], advice: ["unknown", "○"] };

function findingList(findings) {
  if (findings.length === 0) return element("p", {}, "No advice: the rules that were checked find nothing to change.");
  return element("ul", { class: "findings" }, ...findings.map((finding) => {
    const [health, symbol] = levels[finding.level] ?? levels.advice;
    return element("li", {}, element("p", {}, element("span", { class: `health-${health}` }, `${symbol} ${finding.level} `), element("b", {}, finding.title), element("span", { class: "soft" }, ` ${finding.rule} · ${finding.object}${finding.field ? ` · ${finding.field}` : ""}`)),
      element("p", {}, finding.why), finding.remedy ? element("p", {}, finding.remedy) : undefined, remedy(finding));
  }));
}

// remedy is what can be copied: a command for the cluster, or a patch for the manifest that the person has.
function remedy({ command, patch }) {
  if (command) return copyable(command, "Command");
  return patch ? copyable(patch, "Patch for your manifest") : undefined;
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
