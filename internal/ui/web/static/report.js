import { changeTime, element, color, number, showTimesIn, time, tzDate } from "./dom.js";
import { Chart } from "./chart.js";
import { grid, sentence } from "./details.js";
import { changesOf } from "./series.js";
import { ObjectPage } from "./object.js";
import { followTheme, setTheme } from "./theme.js";
import { limitWords } from "./words.js";

const missing = {
  All: "everything: nothing was recorded", Load: "the load", Counts: "the replica counts", LoadAndCounts: "the load and the replica counts",
};
// How wide a plot is on paper, in pixels.
const paper = 680;
const numeral = (text) => element("span", { class: "num" }, text);

// duration is a time in seconds in its two largest units.
function duration(seconds) {
  const units = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];
  const first = Math.max(0, units.findIndex(([, size]) => seconds >= size));
  let rest = Math.round(seconds);
  return units.slice(first, first + 2).map(([name, size]) => {
    const n = Math.floor(rest / size);
    rest -= n * size;
    return n > 0 ? `${n} ${name}` : "";
  }).filter(Boolean).join(" ") || "0 s";
}

// ReportChart has the whole time that was asked about on its axis, also where nothing was recorded.
class ReportChart extends Chart {
  constructor(label, report) {
    super(label);
    this.report = report;
  }

  options(lines, isOfPods) {
    const options = super.options(lines, isOfPods), from = Date.parse(this.report.from) / 1000, to = Date.parse(this.report.to) / 1000;
    options.tzDate = tzDate;
    options.scales.x.range = (u, min, max) => [min <= u.data[0][0] ? Math.min(from, min) : min, max >= u.data[0].at(-1) ? Math.max(to, max) : max];
    return options;
  }

  // marks has the numbers of the changes too, as far as there is room, and hatches the time without data.
  marks(u) {
    super.marks(u);
    const { ctx, bbox } = u, scale = devicePixelRatio;
    const at = (moment) => Math.min(Math.max(u.valToPos(moment / 1000, "x", true), bbox.left), bbox.left + bbox.width);
    ctx.save();
    ctx.beginPath();
    for (const gap of this.report.gaps) {
      const left = at(Date.parse(gap.from)), right = at(Date.parse(gap.to));
      if (gap.missing === "All") ctx.rect(left, bbox.top, Math.max(right - left, scale), bbox.height);
    }
    ctx.clip();
    ctx.strokeStyle = color("line");
    ctx.lineWidth = scale;
    ctx.beginPath();
    for (let x = bbox.left - bbox.height; x < bbox.left + bbox.width; x += 8 * scale) {
      ctx.moveTo(x, bbox.top + bbox.height);
      ctx.lineTo(x + bbox.height, bbox.top);
    }
    ctx.stroke();
    ctx.restore();
    ctx.save();
    ctx.fillStyle = color("text");
    ctx.font = `${11 * scale}px system-ui`;
    ctx.textAlign = "center";
    let free = bbox.left;
    this.changes.forEach((change, i) => {
      const x = u.valToPos(change.at / 1000, "x", true), half = ctx.measureText(String(i + 1)).width / 2;
      if (x - half < free || x > bbox.left + bbox.width) return;
      ctx.fillText(String(i + 1), x, bbox.top + 11 * scale);
      free = x + half + 4 * scale;
    });
    ctx.restore();
  }

  // print draws the plot as wide as paper.
  print(isOn) {
    this.plot?.setSize({ width: isOn ? paper : this.place.clientWidth || 700, height: this.plot.height });
  }
}

// ReportPage is the page of one autoscaler with the data that this file has.
class ReportPage extends ObjectPage {
  constructor(place, report, moment) {
    super(place);
    Object.assign(this, { report, moment });
    this.chart = new ReportChart("Load and replicas over time; the tables below say the same", report);
    this.back.remove();
    this.facts = element("dl", { class: "summary" });
    this.answered.after(this.facts, element("p", { class: "soft" }, "As it was when this report was made:"));
    this.changesPlace = element("div");
    this.gapsPlace = element("div");
    this.points = element("details", { ontoggle: () => this.fillPoints() }, element("summary", {}, "All points, as a table"));
    this.recorded = element("div", {}, this.chart.place, element("h3", {}, "Changes of the desired count"), this.changesPlace,
      element("h3", {}, "Time without data"), this.gapsPlace, this.points);
    this.past.replaceChildren(element("h3", {}, "Load and replicas"), this.noHistory, this.recorded);
  }

  take(answer) {
    const { report, moment } = this;
    const { history } = answer;
    const facts = [["Made", moment(report.made)], ["By", report.program], ["Cluster", report.cluster]];
    if (!this.past.hidden) facts.push(["Time", `${moment(report.from)} to ${moment(report.to)} (${duration((Date.parse(report.to) - Date.parse(report.from)) / 1000)})`]);
    if (history) facts.push(["History", `${report.source}, a point for each ${duration(history.resolutionSeconds)}`]);
    this.facts.replaceChildren(...facts.filter(([, value]) => value).map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))));
    super.take(answer);
    this.showGaps(report.gaps);
    this.fillPoints();
  }

  // drawPast draws what was recorded, and nothing else: this file has seen nothing itself.
  drawPast() {
    if (!this.answer || this.past.hidden) return;
    this.recorded.hidden = !this.answer.history;
    if (!this.answer.history) {
      this.noHistory.textContent = `There is nothing to draw. ${sentence(this.answer.unrecorded ?? "Nothing is recorded of this time")}`;
      return;
    }
    this.changes = changesOf(this.answer);
    this.showEvents();
    // The plot ends with the time that was asked about.
    this.chart.show({ ...this.answer, now: Date.parse(this.report.to) }, this.changes, this.chosen);
  }

  // showEvents has the changes in the order of the time axis, with the numbers that they have there.
  showEvents() {
    if (this.changes.length === 0) {
      this.changesPlace.replaceChildren(element("p", { class: "soft" }, "The count did not change in this time."));
      return;
    }
    const choose = (change) => () => {
      this.chosen = change.at === this.chosen ? undefined : change.at;
      for (const button of this.changesPlace.querySelectorAll("button")) button.setAttribute("aria-pressed", String(Number(button.dataset.at) === this.chosen));
      this.chart.choose(this.chosen);
    };
    this.changesPlace.replaceChildren(grid("Changes of the desired count", ["No.", "Time", "Desired", "Ready", "Why"], this.changes.map((change, i) => [
      element("button", { type: "button", class: "mark", "data-at": change.at, "aria-pressed": String(change.at === this.chosen), "aria-label": `Change ${i + 1}: mark it in the plot`, onclick: choose(change) }, String(i + 1)),
      numeral(changeTime(change)), numeral(`${change.from} → ${change.to}`), numeral(number(change.ready)), change.why,
    ]), "of-events"));
  }

  showGaps(gaps) {
    if (gaps.length === 0) {
      this.gapsPlace.replaceChildren(element("p", { class: "soft" }, "None: the load and the replica counts of the whole time are recorded."));
      return;
    }
    const seconds = ({ from, to }) => (Date.parse(to) - Date.parse(from)) / 1000;
    const table = grid("Time without data", ["From", "To", "Length", "What is missing"], gaps.map((gap) => [
      numeral(time(Date.parse(gap.from))), numeral(time(Date.parse(gap.to))), numeral(duration(seconds(gap))), missing[gap.missing] ?? gap.missing,
    ]));
    const all = duration(gaps.reduce((sum, gap) => sum + seconds(gap), 0));
    this.gapsPlace.replaceChildren(element("p", {}, `${gaps.length === 1 ? "One part" : `${gaps.length} parts`} of this time, ${all} together. Nothing is drawn there; it does not mean zero.`), table);
  }

  // fillPoints makes the table of all points when it is opened: it is long.
  fillPoints() {
    this.points.querySelector("table")?.remove();
    const { history } = this.answer ?? {};
    if (!this.points.open || !history) return;
    this.points.append(grid("All points", ["Begin", "Load, in pods at the target", "Desired", "Ready", "Limit at the end"], history.points.map((point) => [
      numeral(time(Date.parse(point.time))), numeral(number(point.load)), numeral(number(point.wanted)), numeral(number(point.ready)), limitWords(point.limit) || "–",
    ]), "numbers"));
  }
}

const report = JSON.parse(document.querySelector("#data").textContent);
const { row } = report.object;

// fullTime writes a moment with its year and its time zone.
function fullTime(timeZone) {
  const two = "2-digit";
  const format = new Intl.DateTimeFormat(undefined, { year: "numeric", month: "short", day: "numeric", hour: two, minute: two, second: two, hourCycle: "h23", timeZone, timeZoneName: "short" });
  return (text) => format.format(new Date(text));
}

const page = new ReportPage(document.querySelector("#object"), report, fullTime("UTC"));
const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
const zones = document.querySelector("#zone select");

// show shows all, in the time zone that is chosen.
function show() {
  showTimesIn(zones.value, true);
  page.moment = fullTime(zones.value);
  page.details.begin();
  page.chart.clear();
  page.take(report.object);
}

zones.replaceChildren(...[...new Set(["UTC", own])].map((name) => element("option", { value: name }, name)));
zones.addEventListener("change", show);
document.querySelector("#zone").hidden = zones.options.length < 2;
document.querySelector("#context").textContent = report.cluster ?? "";
page.begin(row);
show();
followTheme(() => page.redraw());

// Paper is white.
let theme;
window.addEventListener("beforeprint", () => {
  theme = document.documentElement.dataset.theme;
  setTheme("light", () => page.redraw());
  page.chart.print(true);
});
window.addEventListener("afterprint", () => {
  setTheme(theme, () => page.redraw());
  page.chart.print(false);
});
