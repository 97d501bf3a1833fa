import { changeTime, element, number, symbols, time } from "./dom.js";
import { Chart } from "./chart.js";
import { changesOf } from "./series.js";
import { Details, noteOf, sentence } from "./details.js";
import { Vertical } from "./vertical.js";
import { limitWords } from "./words.js";

// inPlace are the parts of the page that say themselves what is missing of them.
const inPlace = ["Advice", "Events", "Explanation", "History"];

const lasts = [["10m", "10 min"], ["1h", "1 h"], ["6h", "6 h"], ["24h", "24 h"], ["168h", "7 days"]];

// ObjectPage is all about one autoscaler, with a place to try other settings if there is one.
export class ObjectPage {
  constructor(place, whatIf) {
    this.place = place;
    this.last = "1h";
    this.changed = () => {};
    this.title = element("h2");
    this.answered = element("p", { class: "answer" });
    this.summary = element("dl", { class: "summary" });
    this.says = element("p", { class: "why" });
    this.chart = new Chart("Load and replicas over time; the list of changes says the same in words");
    this.noHistory = element("p", { class: "soft why" });
    this.events = element("ol", { class: "events", tabindex: 0, "aria-label": "Changes of the desired count" });
    this.lines = element("tbody");
    this.moreLines = element("tbody");
    this.more = element("details", {}, element("summary", {}, "Everything that the decision rests on"), element("table", { class: "lines" }, this.moreLines));
    this.explanationNote = element("p", { class: "soft why" });
    this.manifest = element("pre", { tabindex: 0, "aria-label": "Manifest" });
    const choice = element("select", { "aria-label": "How much of the history", onchange: () => { this.last = choice.value; this.changed(); } },
      ...lasts.map(([value, text]) => element("option", { value, selected: value === this.last }, text)));
    this.past = element("div", {},
      element("h3", {}, "Load and replicas, the last ", choice),
      this.noHistory,
      element("div", { class: "columns" }, this.chart.place, element("div", {}, element("h3", {}, "Changes of the desired count"), this.events)));
    this.explanation = element("div", {}, element("h3", {}, "Why, and what is next"), this.explanationNote, element("table", { class: "lines" }, this.lines), this.more);
    this.notes = element("ul", { class: "soft why", "aria-label": "What is old or missing" });
    this.details = new Details();
    this.vertical = new Vertical();
    this.whatIf = whatIf;
    this.back = element("p", {}, element("a", { href: "#/" }, "← All autoscalers"));
    place.append(this.back, this.title, this.answered, this.summary, this.says, this.notes, this.vertical.place, this.past, this.explanation,
      this.details.metrics, whatIf?.place ?? "", this.details.findings, this.details.events, element("h3", {}, "Manifest"), this.manifest);
  }

  // begin empties the page for another object.
  begin(object) {
    const id = `${object.kind}/${object.namespace}/${object.name}`;
    if (id === this.id) return;
    this.id = id;
    this.title.textContent = `${object.namespace} / ${object.name}`;
    this.answer = undefined;
    for (const part of [this.answered, this.summary, this.events, this.lines, this.moreLines, this.manifest, this.says, this.explanationNote, this.noHistory]) part.replaceChildren();
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
    this.answered.textContent = answer.summary ? answer.summary : answer.unexplained ? `Not explained: ${answer.unexplained}` : "";
    this.summary.replaceChildren(...factsOf(row).map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))));
    this.says.textContent = row.says ? sentence(row.says) : "";
    this.explanation.hidden = answer.lines.length === 0;
    this.explanationNote.textContent = noteOf(answer, "Explanation");
    const main = answer.lines.filter(({ strong }) => strong), rest = answer.lines.filter(({ strong }) => !strong);
    this.lines.replaceChildren(...(main.length > 0 ? main : rest).map(lineOf));
    this.moreLines.replaceChildren(...(main.length > 0 ? rest : []).map(lineOf));
    this.more.hidden = this.moreLines.childElementCount === 0;
    if (this.manifest.textContent !== answer.manifest) this.manifest.textContent = answer.manifest ?? "";
    const notes = (answer.notes ?? []).filter(({ what }) => !inPlace.includes(what));
    this.notes.hidden = notes.length === 0;
    this.notes.replaceChildren(...notes.map((note) => element("li", {}, `${note.what}: ${note.why}`)));
    this.details.take(answer);
    this.vertical.take(answer.vertical);
    this.whatIf?.take(answer);
    this.drawPast();
  }

  failed(error) {
    if (!this.answer) this.answered.textContent = sentence(error.message);
  }

  // redraw draws all charts, in the colours of now.
  redraw() {
    this.drawPast();
    this.whatIf?.draw();
  }

  // drawPast draws what was taken in.
  drawPast() {
    if (!this.answer || this.past.hidden) return;
    this.noHistory.textContent = this.answer.history?.points?.length ? noteOf(this.answer, "History") :
      `The chart has only what this page has seen since it was opened. ${sentence(this.answer.unrecorded ?? "Nothing is recorded of this time")}`;
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
    const list = [];
    let reason;
    for (const change of [...this.changes].reverse()) {
      // A reason stands above all the changes in a row that have it.
      if (change.reason !== reason) list.push(element("li", { class: "reason" }, change.reason));
      reason = change.reason;
      list.push(element("li", {}, element("button", { type: "button", "data-at": change.at, "aria-pressed": String(change.at === this.chosen), onclick: choose(change) },
        element("span", { class: "num" }, changeTime(change)), element("span", { class: "num" }, `${change.from} → ${change.to}`), element("span", { class: "soft" }, change.rest))));
    }
    if (list.length === 0) list.push(element("li", { class: "soft" }, "The count did not change in this time."));
    this.events.replaceChildren(...list);
    if (focused) this.events.querySelector(`[data-at="${CSS.escape(focused)}"]`)?.focus();
  }
}

function lineOf({ label, text, strong, heading }) {
  if (heading) return element("tr", {}, element("th", { colspan: 2 }, text));
  return element("tr", { class: strong ? "main" : undefined }, element("th", { scope: "row" }, label), element("td", {}, text));
}

// factsOf are the names and values of what is known of an autoscaler; a value that should be there and is not is a dash.
function factsOf(row) {
  const facts = [["Kind", row.kind], ["Target", row.target || "–"], ["Health", element("span", { class: `health-${row.health}` }, `${symbols[row.health]} ${row.health}`)]];
  if (row.kind !== "VerticalPodAutoscaler") {
    facts.push(["Desired", number(row.desired)], ["Current", number(row.current)], ["Ready", number(row.ready)], ["Range", `${number(row.min)} to ${number(row.max)}`]);
    facts.push(["Load / target", row.load ? `${row.load.text}${row.load.metric ? ` ${row.load.metric}` : ""}` : "–"]);
    if (limitWords(row.limit?.name)) facts.push(["Why this count", element("span", { title: row.limit.says || undefined }, limitWords(row.limit.name))]);
  }
  if (row.mode) facts.push(["Mode", row.mode]);
  if (row.scaled) facts.push(["Last scaled", time(row.scaled)]);
  return facts;
}
