import { element, symbols, time } from "./dom.js";
import { Chart } from "./chart.js";
import { changesOf } from "./series.js";
import { Details } from "./details.js";
import { Vertical } from "./vertical.js";

const lasts = [["10m", "10 min"], ["1h", "1 h"], ["6h", "6 h"], ["24h", "24 h"], ["168h", "7 days"]];

// ObjectPage is all about one autoscaler, with a place to try other settings if there is one.
export class ObjectPage {
  constructor(place, whatIf) {
    this.place = place;
    this.last = "1h";
    this.changed = () => {};
    this.title = element("h2");
    this.summary = element("dl", { class: "summary" });
    this.says = element("p", { class: "why" });
    this.chart = new Chart("Load and replicas over time; the list of changes says the same in words");
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
      element("div", { class: "columns" }, this.chart.place, element("div", {}, element("h3", {}, "Changes"), this.events)));
    this.notes = element("ul", { class: "soft why", "aria-label": "What could not be read" });
    this.details = new Details();
    this.vertical = new Vertical();
    this.whatIf = whatIf;
    this.back = element("p", {}, element("a", { href: "#/" }, "← All autoscalers"));
    place.append(this.back, this.title, this.summary, this.says, this.notes, this.vertical.place, this.past,
      element("h3", {}, "Why, and what is next"), this.unexplained, element("table", { class: "lines" }, this.lines), this.details.metrics,
      whatIf?.place ?? "", this.details.findings, this.details.events, element("h3", {}, "Manifest"), this.manifest);
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
    this.whatIf?.begin(object);
    this.past.hidden = object.kind === "VerticalPodAutoscaler";
    this.chart.clear();
    this.place.scrollTop = 0;
  }

  take(answer) {
    this.answer = answer;
    const { row } = answer;
    const parts = [["Kind", row.kind], ["Target", row.target], ["Health", element("span", { class: `health-${row.health}` }, `${symbols[row.health]} ${row.health}`)]];
    if (row.desired !== undefined) parts.push(["Desired", String(row.desired)], ["Current", String(row.current)]);
    if (row.ready !== undefined && row.kind !== "VerticalPodAutoscaler") parts.push(["Ready", String(row.ready)]);
    if (row.max !== undefined) parts.push(["Range", `${row.min ?? 0} to ${row.max}`]);
    if (row.load) parts.push(["Load / target", `${row.load.text}${row.load.metric ? ` ${row.load.metric}` : ""}`]);
    if (row.limit) parts.push(["Limited by", element("span", { title: row.limit.says || undefined }, row.limit.name)]);
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
    this.whatIf?.take(answer);
    this.drawPast();
  }

  failed(error) {
    if (!this.answer) this.says.textContent = error.message;
  }

  // redraw draws all charts, in the colours of now.
  redraw() {
    this.drawPast();
    this.whatIf?.draw();
  }

  // drawPast draws what was taken in.
  drawPast() {
    if (!this.answer || this.past.hidden) return;
    this.noHistory.textContent = this.answer.history?.points?.length ? "" :
      `Only what this page has seen since it was opened: ${this.answer.unrecorded ?? "nothing is recorded of this time"}`;
    this.changes = changesOf(this.answer);
    this.showEvents();
    this.chart.show(this.answer, this.changes, this.chosen);
  }

  showEvents() {
    const choose = (change) => () => {
      this.chosen = change.at === this.chosen ? undefined : change.at;
      this.showEvents();
      this.chart.choose(this.chosen);
    };
    const focused = document.activeElement?.dataset?.at;
    this.events.replaceChildren(...[...this.changes].reverse().map((change) => element("li", {},
      element("button", { type: "button", "data-at": change.at, "aria-pressed": String(change.at === this.chosen), onclick: choose(change) },
        element("span", { class: "num" }, time(change.at)), element("span", { class: "num" }, `${change.from} → ${change.to}`), element("span", { class: "soft" }, change.why)))));
    if (this.changes.length === 0) this.events.append(element("li", { class: "soft" }, "None in this time."));
    if (focused) this.events.querySelector(`[data-at="${CSS.escape(focused)}"]`)?.focus();
  }
}
