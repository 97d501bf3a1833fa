import { element, time, timeTicks, whole, number, color } from "./dom.js";
import { copyable, grid, section, sentence } from "./details.js";
import { metricWords } from "./words.js";

const lasts = [[3600, "1 h"], [21600, "6 h"], [86400, "24 h"], [604800, "7 days"], [1209600, "14 days"]];
const height = 260;

// WhatIf plays the recorded load with other settings. The server's simulator does; here are the form and the result.
export class WhatIf {
  constructor() {
    this.place = section("What if");
    this.min = field("minReplicas", { type: "number", min: 0, step: 1 });
    this.max = field("maxReplicas", { type: "number", min: 1, step: 1 });
    this.targets = element("span", { class: "targets" });
    this.behavior = area("spec.behavior, as YAML");
    this.schedules = area("spec.schedules, as YAML");
    this.last = element("select", {}, ...lasts.map(([value, text]) => element("option", { value, selected: value === 86400 }, text)));
    this.button = element("button", { type: "submit", class: "main" }, "Play the recorded load");
    this.state = element("p", { role: "status", class: "why" });
    this.result = element("div", { class: "result" });
    this.more = element("details", {}, element("summary", {}, "Behavior and schedules"), this.behavior.label, this.schedules.label);
    const form = element("form", { class: "whatif", onsubmit: (event) => { event.preventDefault(); this.play(); } },
      this.min.label, this.max.label, this.targets, element("label", {}, element("span", {}, "Load of the last"), this.last), this.more, this.button);
    this.place.append(element("p", { class: "soft why" }, "Plays the recorded load twice in a simulator: with the present settings and with yours. Empty fields keep their value. Nothing changes in the cluster."),
      form, this.state, this.result);
    new ResizeObserver(() => this.plot?.setSize({ width: this.chart.clientWidth, height })).observe(this.result);
  }

  begin(object) {
    this.object = object;
    this.place.hidden = true;
    this.metrics = undefined;
    for (const input of [this.min.input, this.max.input, this.behavior.input, this.schedules.input]) input.value = "";
    this.more.open = false;
    this.state.textContent = "";
    this.clear();
  }

  clear() {
    this.plot?.destroy();
    this.plot = this.answer = undefined;
    this.result.replaceChildren();
  }

  // take shows the settings as they are behind the empty fields.
  take({ row, metrics = [] }) {
    this.place.hidden = row.kind === "VerticalPodAutoscaler";
    this.min.input.placeholder = row.min ?? "";
    this.max.input.placeholder = row.max ?? "";
    this.schedules.label.hidden = row.kind !== "WorkloadAutoscaler";
    const names = JSON.stringify(metrics.map(({ name }) => name));
    if (this.metrics === names) return;
    this.metrics = names;
    this.fields = metrics.map(({ name }) => field(`Target of ${metricWords(name)}`, { type: "text", placeholder: "as it is" }));
    this.targets.replaceChildren(...this.fields.map(({ label }) => label));
  }

  changes() {
    const changes = { targets: [] };
    if (this.min.input.value !== "") changes.minReplicas = Number(this.min.input.value);
    if (this.max.input.value !== "") changes.maxReplicas = Number(this.max.input.value);
    (this.fields ?? []).forEach(({ input }, metric) => {
      const value = input.value.trim().replace(/%$/, "");
      if (value !== "") changes.targets.push({ metric, value });
    });
    for (const name of ["behavior", "schedules"]) {
      if (this[name].input.value.trim() !== "") changes[name] = this[name].input.value;
    }
    return changes;
  }

  async play() {
    const object = this.object;
    this.button.disabled = true;
    this.clear();
    this.state.textContent = "The simulator plays the load…";
    try {
      const answer = await fetch("api/whatif", {
        method: "POST", credentials: "same-origin", headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ ...object, lastSeconds: Number(this.last.value), changes: this.changes() }),
      });
      if (!answer.ok) throw new Error((await answer.text()).trim() || answer.statusText);
      const played = await answer.json();
      if (object !== this.object) return;
      this.show(played);
      this.state.textContent = "";
    } catch (error) {
      if (object !== this.object) return;
      this.clear();
      this.state.textContent = error.message;
    } finally {
      this.button.disabled = false;
    }
  }

  show(answer) {
    this.clear();
    this.answer = answer;
    this.chart = element("div", { class: "chart" });
    const measures = [
      ["Cost, in pod-hours", "podHours", ""], ["Time above the present target, by more than the tolerance", "aboveTargetPercent", " %"],
      ["Of that, with all pods of maxReplicas", "aboveAtMaxPercent", " %"],
      ["Time with more load than the pods can serve", "shortPercent", " %"], ["The longest such time", "longestShortSeconds", " s"], ["Changes of the replica count", "actions", ""],
    ];
    const cell = (text) => element("span", { class: "num" }, text);
    if (answer.warning) this.result.append(element("p", { class: "why" }, sentence(answer.warning)));
    this.result.append(grid("Result", ["Measure", "As it is", "With the changes", "Difference"], measures.map(([title, name, unit]) => {
      const before = answer.asIs[name], after = answer.changed[name], more = after - before;
      return [title, cell(number(before) + unit), cell(number(after) + unit), cell(more === 0 ? "0" : `${more > 0 ? "+" : "−"}${number(Math.abs(more))}${unit}`)];
    }), "numbers"), this.chart, element("h4", {}, "What this assumes"), element("ul", { class: "soft why" }, ...answer.notes.map((note) => element("li", {}, sentence(note)))),
    element("h4", {}, "The command that makes this change"), copyable(answer.command, "Command"));
    this.draw();
  }

  // draw draws what was played, in the colours of now.
  draw() {
    if (!this.answer) return;
    this.plot?.destroy();
    const { from, stepMillis, load, asIs, changed } = this.answer;
    const steps = uPlot.paths.stepped({ align: 1 });
    const axisGrid = { stroke: color("line"), width: 1 };
    const axis = { stroke: color("soft"), grid: axisGrid, ticks: axisGrid, font: "12px system-ui" };
    const line = (label, name, more) => ({ label, stroke: color(name), width: 2, value: (_, v) => number(v), points: { show: false }, ...more });
    this.plot = new uPlot({
      width: this.chart.clientWidth || 700, height, scales: { x: { time: true }, y: { range: (_, min, max) => [0, Math.max(max, 1) * 1.1] } },
      axes: [{ ...axis, values: timeTicks }, { ...axis, label: "replicas", labelSize: 22, size: 46, incrs: whole }],
      series: [{ label: "time", value: (_, v) => (v === null ? "–" : time(v * 1000)) }, line("load, in pods at the target", "load", { width: 1.2 }),
        line("desired as it is", "text", { paths: steps, dash: [7, 4], width: 1.5 }), line("desired with the changes", "desired", { paths: steps })],
    }, [load.map((_, i) => (from + i * stepMillis) / 1000), load, asIs.desired, changed.desired], this.chart);
  }
}

function field(name, attributes) {
  const input = element("input", attributes);
  return { input, label: element("label", {}, element("span", {}, name), input) };
}

function area(name) {
  const input = element("textarea", { rows: 6, spellcheck: "false", placeholder: "as it is" });
  return { input, label: element("label", { class: "area" }, element("span", {}, name), input) };
}
