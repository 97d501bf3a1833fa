import { element, symbols, time, timeTicks, whole, number, color } from "./dom.js";
import { Details } from "./details.js";
import { Vertical } from "./vertical.js";
import { WhatIf } from "./whatif.js";

const lasts = [["10m", "10 min"], ["1h", "1 h"], ["6h", "6 h"], ["24h", "24 h"], ["168h", "7 days"]];
const height = 300;

// ObjectPage is all about one autoscaler.
export class ObjectPage {
  constructor(place) {
    this.place = place;
    this.last = "1h";
    this.changed = () => {};
    this.title = element("h2");
    this.summary = element("dl", { class: "summary" });
    this.says = element("p", { class: "why" });
    this.chart = element("div", { class: "chart" });
    this.noHistory = element("p", { class: "soft why" });
    this.events = element("ol", { class: "events", tabindex: 0, "aria-label": "Changes of the desired count" });
    this.lines = element("tbody");
    this.unexplained = element("p", { class: "why" });
    this.manifest = element("pre", { tabindex: 0, "aria-label": "Manifest" });
    const choice = element("select", { "aria-label": "How much of the history", onchange: () => { this.last = choice.value; this.changed(); } },
      ...lasts.map(([value, text]) => element("option", { value, selected: value === this.last }, text)));
    this.past = element("div", {},
      element("h3", {}, "Load and replicas, the last ", choice),
      this.noHistory,
      element("div", { class: "columns" }, this.chart, element("div", {}, element("h3", {}, "Changes"), this.events)));
    this.notes = element("ul", { class: "soft why", "aria-label": "What could not be read" });
    this.details = new Details();
    this.vertical = new Vertical();
    this.whatIf = new WhatIf();
    place.append(element("p", {}, element("a", { href: "#/" }, "← All autoscalers")), this.title, this.summary, this.says, this.notes, this.vertical.place, this.past,
      element("h3", {}, "Why, and what is next"), this.unexplained, element("table", { class: "lines" }, this.lines), this.details.metrics,
      this.whatIf.place, this.details.findings, this.details.events, element("h3", {}, "Manifest"), this.manifest);
    new ResizeObserver(() => this.plot?.setSize({ width: this.chart.clientWidth, height })).observe(this.chart);
  }

  // begin empties the page for another object.
  begin(object) {
    const id = `${object.kind}/${object.namespace}/${object.name}`;
    if (id === this.id) return;
    this.id = id;
    this.title.textContent = `${object.namespace} / ${object.name}`;
    this.answer = undefined;
    for (const part of [this.summary, this.events, this.lines, this.manifest, this.says, this.unexplained, this.noHistory]) part.replaceChildren();
    this.notes.hidden = true;
    this.details.begin();
    this.vertical.take(undefined);
    this.whatIf.begin(object);
    this.past.hidden = object.kind === "VerticalPodAutoscaler";
    this.removePlot();
    this.place.scrollTop = 0;
  }

  take(answer) {
    this.answer = answer;
    const { row } = answer;
    const parts = [["Kind", row.kind], ["Target", row.target], ["Health", element("span", { class: `health-${row.health}` }, `${symbols[row.health]} ${row.health}`)]];
    if (row.desired !== undefined) parts.push(["Desired", String(row.desired)], ["Current", String(row.current)]);
    if (row.max !== undefined) parts.push(["Range", `${row.min ?? 0} to ${row.max}`]);
    if (row.load) parts.push(["Load / target", `${row.load.text}${row.load.metric ? ` ${row.load.metric}` : ""}`]);
    if (row.mode) parts.push(["Mode", row.mode]);
    if (row.scaled) parts.push(["Last scaled", time(row.scaled)]);
    this.summary.replaceChildren(...parts.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))));
    this.says.textContent = row.says ?? "";
    this.unexplained.textContent = answer.unexplained ?? "";
    this.lines.replaceChildren(...answer.lines.map(({ label, text, strong, heading }) => (heading ?
      element("tr", {}, element("th", { colspan: 2 }, text)) :
      element("tr", { class: strong ? "main" : undefined }, element("th", { scope: "row" }, label), element("td", {}, text)))));
    if (this.manifest.textContent !== answer.manifest) this.manifest.textContent = answer.manifest ?? "";
    this.notes.hidden = !answer.notes?.length;
    this.notes.replaceChildren(...(answer.notes ?? []).map((note) => element("li", {}, `${note.what}: ${note.why}`)));
    this.details.take(answer);
    this.vertical.take(answer.vertical);
    this.whatIf.take(answer);
    this.drawPast();
  }

  failed(error) {
    if (!this.answer) this.says.textContent = error.message;
  }

  removePlot() {
    this.plot?.destroy();
    this.plot = undefined;
  }

  // redraw draws all charts, in the colours of now.
  redraw() {
    this.drawPast();
    this.whatIf.draw();
  }

  // drawPast draws what was taken in.
  drawPast() {
    if (!this.answer || this.past.hidden) return;
    const series = this.answer.history?.points?.length ? recorded(this.answer) : watched(this.answer);
    this.noHistory.textContent = this.answer.history?.points?.length ? "" :
      `Only what this page has seen since it was opened: ${this.answer.unrecorded ?? "nothing is recorded of this time"}`;
    this.changes = series.changes;
    this.showEvents();
    if (series.times.length > 0) this.draw(series);
    else this.removePlot();
  }

  draw({ times, desired, ready, readyName, load, loadName }) {
    const { row } = this.answer;
    const flat = (n) => times.map(() => n);
    const data = [times, desired, ready, load, flat(row.min ?? null), flat(row.max ?? null)];
    const drawn = `${readyName} ${loadName} ${document.documentElement.dataset.theme} ${times.length < 3}`;
    if (this.plot && this.drawn === drawn) {
      this.plot.setData(data);
      return;
    }
    this.removePlot();
    const steps = uPlot.paths.stepped({ align: 1 });
    const line = (label, name, more = {}) => ({ label, stroke: color(name), width: 2, value: (_, v) => number(v), spanGaps: false, points: { show: times.length < 3 }, ...more });
    const grid = { stroke: color("line"), width: 1 };
    const axis = { stroke: color("soft"), grid, ticks: grid, font: "12px system-ui" };
    const isReplicas = loadName.endsWith("pods");
    const options = {
      width: this.chart.clientWidth || 700, height, cursor: { points: { size: 6 } },
      scales: { x: { time: true }, y: { range: (_, min, max) => [0, Math.max(max, 1) * 1.1] }, ratio: { range: (_, min, max) => [0, Math.max(max, 1) * 1.1] } },
      axes: [{ ...axis, values: timeTicks }, { ...axis, label: "replicas", labelSize: 22, size: 46, incrs: whole }],
      series: [
        { label: "time", value: (_, v) => (v === null ? "–" : time(v * 1000)) },
        line("desired", "desired", { paths: steps }), line(readyName, "ready", { paths: steps }),
        line(loadName, "load", { scale: isReplicas ? "y" : "ratio", width: 1.5 }),
        line("minReplicas", "bound", { dash: [6, 4], width: 1 }), line("maxReplicas", "bound", { dash: [6, 4], width: 1 }),
      ],
      hooks: { draw: [(u) => this.marks(u)] },
    };
    if (!isReplicas) options.axes.push({ ...axis, scale: "ratio", side: 1, label: "load, of the target", labelSize: 22, size: 46, grid: { show: false } });
    this.plot = new uPlot(options, data, this.chart);
    this.drawn = drawn;
  }

  // marks draws a line at each change of the desired count, a thicker one at the chosen one.
  marks(u) {
    const { ctx, bbox } = u;
    ctx.save();
    ctx.strokeStyle = color("now");
    for (const change of this.changes) {
      const x = u.valToPos(change.at / 1000, "x", true);
      if (x < bbox.left || x > bbox.left + bbox.width) continue;
      ctx.lineWidth = (change.at === this.chosen ? 3 : 1) * devicePixelRatio;
      ctx.setLineDash(change.at === this.chosen ? [] : [2, 4]);
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
    }
    ctx.restore();
  }

  showEvents() {
    const choose = (change) => () => {
      this.chosen = change.at === this.chosen ? undefined : change.at;
      this.showEvents();
      this.plot?.redraw();
    };
    const focused = document.activeElement?.dataset?.at;
    this.events.replaceChildren(...[...this.changes].reverse().map((change) => element("li", {},
      element("button", { type: "button", "data-at": change.at, "aria-pressed": String(change.at === this.chosen), onclick: choose(change) },
        element("span", { class: "num" }, time(change.at)), element("span", { class: "num" }, `${change.from} → ${change.to}`), element("span", { class: "soft" }, change.why)))));
    if (this.changes.length === 0) this.events.append(element("li", { class: "soft" }, "None in this time."));
    if (focused) this.events.querySelector(`[data-at="${CSS.escape(focused)}"]`)?.focus();
  }
}

// recorded is the history that the controller keeps.
function recorded({ history }) {
  const at = (point) => Date.parse(point.time) / 1000;
  const value = (name) => history.points.map((point) => point[name] ?? null);
  return {
    times: history.points.map(at), desired: value("wanted"), ready: value("ready"), readyName: "ready", load: value("load"), loadName: "load, in pods",
    changes: history.changes.map((change) => ({ at: Date.parse(change.time), from: change.from, to: change.to,
      why: [change.load === undefined ? "" : `load of ${number(change.load)} pods`, change.limit === "None" ? "" : change.limit].filter(Boolean).join(", ") })),
  };
}

// watched is what this page's server has seen of the object's status.
function watched({ row, now }) {
  const counts = row.counts ?? [];
  const changes = [];
  for (let i = 1; i < counts.length; i++) {
    if (counts[i].desired !== counts[i - 1].desired) {
      changes.push({ at: counts[i].at, from: counts[i - 1].desired, to: counts[i].desired,
        why: counts[i].ratio === undefined ? "" : `load of ${number(counts[i].ratio)} of the target` });
    }
  }
  const value = (name) => [...counts.map((count) => count[name] ?? null), ...(counts.length ? [counts.at(-1)[name] ?? null] : [])];
  return {
    times: [...counts.map((count) => count.at / 1000), ...(counts.length ? [now / 1000] : [])],
    desired: value("desired"), ready: value("current"), readyName: "current", load: value("ratio"), loadName: "load, of the target", changes,
  };
}
