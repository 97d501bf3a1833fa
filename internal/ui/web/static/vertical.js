import { element, shape, number } from "./dom.js";
import { grid, section } from "./details.js";

const width = 460, height = 140, left = 40, right = 26, bottom = 20, top = 20;
const titles = { cpu: "Use of CPU, in cores", memory: "Use of memory, in bytes" };

// amount is how Kubernetes writes cores and bytes, with at most three digits.
export function amount(resource, value) {
  if (value === undefined || value === null) return "–";
  if (resource === "cpu") return value < 1 ? `${number(value * 1000)}m` : number(value);
  const units = ["", "Ki", "Mi", "Gi", "Ti"];
  let unit = 0, rest = value;
  while (rest >= 1024 && unit < units.length - 1) {
    rest /= 1024;
    unit++;
  }
  return number(rest) + units[unit];
}

// Vertical shows a VerticalPodAutoscaler: what its containers have used, what it recommends, what becomes of the pods.
export class Vertical {
  constructor() {
    this.place = section("Recommendations");
  }

  take(vertical) {
    const text = JSON.stringify(vertical);
    if (this.text === text) return;
    this.text = text;
    this.place.hidden = !vertical;
    if (!vertical) return;
    this.place.replaceChildren(this.place.firstChild, ...vertical.containers.map(container), ...pods(vertical));
  }
}

function container({ name, samples, resources }) {
  return element("div", {}, element("h4", {}, `Container ${name}`, element("span", { class: "soft" }, ` ${samples} samples of CPU`)),
    element("div", { class: "histograms" }, ...resources.map(resourceOf)));
}

function resourceOf(resource) {
  const { name, target, lower, upper, uncapped, requests = [], percentiles = [], histogram = [] } = resource;
  const lines = [["target", target], ["lower bound", lower], ["upper bound", upper], ["uncapped target", uncapped === target ? undefined : uncapped]]
    .filter(([, value]) => value !== undefined).map(([label, value]) => ({ label, value, class: label.replaceAll(" ", "-") }));
  for (const value of requests) lines.push({ label: "request now", value, class: "request" });
  return element("figure", { class: "histogram" }, element("figcaption", {}, titles[name] ?? name),
    histogram.length > 0 ? bars(name, histogram, lines) : element("p", { class: "soft" }, "No checkpoint has a histogram."),
    element("ul", { class: "legend" }, ...lines.map((line) => element("li", {}, sample(line.class), `${line.label} `, element("b", { class: "num" }, amount(name, line.value))))),
    percentiles.length === 0 ? undefined : element("p", { class: "soft num" }, "Use: ", percentiles.map(({ percent, value }) => `${percent}% up to ${amount(name, value)}`).join(", ")));
}

function sample(kind) {
  return shape("svg", { width: 18, height: 12, "aria-hidden": "true" }, shape("line", { class: `mark ${kind}`, x1: 1, x2: 17, y1: 6, y2: 6 }));
}

// bars draws the parts of the samples over the use. The axis ends behind the last bar or line.
function bars(name, histogram, lines) {
  const end = Math.max(...histogram.filter((bar) => bar.weight > 0.0005).map((bar) => bar.to), ...lines.map((line) => line.value)) * 1.06;
  const most = Math.max(...histogram.map((bar) => bar.weight));
  const x = (value) => left + Math.min(value, end) / end * (width - left - right);
  const y = (weight) => top + (1 - weight / most) * (height - top - bottom);
  const parts = histogram.filter((bar) => bar.from < end && bar.weight > 0).map((bar) => shape("rect", { class: "bar", x: x(bar.from), width: Math.max(1, x(bar.to) - x(bar.from) - 1), y: y(bar.weight), height: y(0) - y(bar.weight) }));
  parts.push(shape("line", { class: "axis", x1: left, x2: width - right, y1: y(0), y2: y(0) }));
  for (const value of ticks(name, end)) {
    parts.push(shape("line", { class: "axis", x1: x(value), x2: x(value), y1: y(0), y2: y(0) + 4 }));
    parts.push(shape("text", { x: x(value), y: height - 4, "text-anchor": "middle" }, amount(name, value)));
  }
  parts.push(shape("text", { x: left - 5, y: y(most) + 8, "text-anchor": "end" }, `${Number((most * 100).toPrecision(2))}%`), shape("text", { x: left - 5, y: y(0), "text-anchor": "end" }, "0%"));
  for (const line of lines) parts.push(shape("line", { class: `mark ${line.class}`, x1: x(line.value), x2: x(line.value), y1: top - 4, y2: y(0) }));
  const says = `Use of ${name}: ${lines.map((line) => `${line.label} ${amount(name, line.value)}`).join(", ")}`;
  return shape("svg", { class: "bars", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": says }, ...parts, shape("text", { x: 0, y: 9 }, "part of all samples"));
}

// ticks are about four round values: of bytes, powers of two times 1, 2 or 5 would not be round.
function ticks(name, end) {
  let step = name === "cpu" ? 0.001 : 1 << 20;
  const factors = name === "cpu" ? [2, 2.5, 2] : [2];
  for (let i = 0; end / step > 5; i++) step *= factors[i % factors.length];
  return Array.from({ length: Math.floor(end / step) + 1 }, (_, i) => i * step);
}

function pods({ pods: all, updater = [] }) {
  const parts = [];
  if (updater.length > 0) parts.push(element("h4", {}, "The updater"), element("ul", { class: "plain" }, ...updater.map((line) => element("li", {}, line))));
  if (all.length > 0) {
    parts.push(element("h4", {}, "Pods"), grid("Pods", ["Pod", "Requests now", "What the updater does"], all.map((pod) => [pod.name, element("span", { class: "num" }, pod.requests),
      element("ul", { class: "plain" }, ...pod.says.map((line) => element("li", {}, line)))])));
  }
  return parts;
}
