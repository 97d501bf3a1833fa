import { element, number, shape, symbols, time } from "./dom.js";
import { limitWords } from "./words.js";

const short = { HorizontalPodAutoscaler: "HPA", WorkloadAutoscaler: "WLA", VerticalPodAutoscaler: "VPA" };
const rank = { problem: 0, warning: 1, unknown: 2, ok: 3 };
const ratio = (row) => row.load?.ratio ?? -1;

const columns = [
  { name: "name", title: "Name", of: (row) => row.name },
  { name: "namespace", title: "Namespace", of: (row) => row.namespace },
  { name: "kind", title: "Kind", of: (row) => short[row.kind] },
  { name: "health", title: "Health", of: (row) => rank[row.health] },
  { name: "replicas", title: "Replicas", of: (row) => -(row.desired ?? -1) },
  { name: "load", title: "Load / target", of: (row) => -ratio(row) },
  { name: "recent", title: "Desired", of: (row) => -(row.scaled ?? 0) },
  { name: "target", title: "Target", of: (row) => row.target },
  { name: "says", title: "Why", of: why },
];
const byHealth = columns.find(({ name }) => name === "health");

// why is what is wrong with an autoscaler, or what its count comes from.
function why(row) {
  return row.says || limitWords(row.limit?.name);
}

// Overview is a table that has elements for the rows in sight alone.
export class Overview {
  constructor(place, open) {
    this.open = open;
    this.rows = new Map();
    this.shown = [];
    this.sort = { column: byHealth, down: false };
    this.selected = undefined;
    this.find = element("input", { type: "search", placeholder: "Find a name, namespace or target: press /", "aria-label": "Find", oninput: () => this.choose() });
    this.kind = this.choice("Kind", ["all kinds", "HPA", "WLA", "VPA"]);
    this.health = this.choice("Health", ["any health", "not ok", "problem", "warning", "unknown", "ok"]);
    this.count = element("span", { class: "count", role: "status" });
    this.body = element("tbody");
    this.headings = columns.map((column) => element("th", { class: `c-${column.name}`, scope: "col", "aria-sort": "none" },
      element("button", { type: "button", onclick: () => this.sortBy(column) }, column.title)));
    this.table = element("table", { class: "rows", role: "grid", "aria-label": "Autoscalers" },
      element("thead", {}, element("tr", { "aria-rowindex": 1 }, ...this.headings)), this.body);
    this.scroll = element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Autoscalers, a table", onscroll: () => this.draw() }, this.table);
    place.append(element("div", { class: "tools" }, this.find, this.kind, this.health, this.count), this.scroll);
    new ResizeObserver(() => this.measure()).observe(this.scroll);
    this.measure();
  }

  choice(label, values) {
    return element("select", { "aria-label": label, onchange: () => this.choose() }, ...values.map((value) => element("option", {}, value)));
  }

  // measure takes the height of a row and the columns from the style: they differ with the width of the page.
  measure() {
    this.rowHeight = parseFloat(getComputedStyle(this.scroll).getPropertyValue("--row"));
    // A cell over columns that are not shown would widen the table.
    this.span = this.headings.filter((heading) => getComputedStyle(heading).display !== "none").length;
    this.draw(true);
  }

  // take takes in what has changed.
  take(answer) {
    this.empty = emptyText(answer);
    if (answer.whole) this.rows.clear();
    for (const row of answer.rows) this.rows.set(row.id, row);
    for (const id of answer.removed) this.rows.delete(id);
    if (answer.whole || answer.rows.length > 0 || answer.removed.length > 0 || this.shown.length === 0) this.choose();
  }

  sortBy(column) {
    this.sort = { column, down: this.sort.column === column && !this.sort.down };
    this.choose();
  }

  // choose finds the rows to show, and their order.
  choose() {
    const words = this.find.value.toLowerCase().split(/\s+/).filter(Boolean);
    const kind = this.kind.value, health = this.health.value;
    const { of } = this.sort.column;
    this.shown = [...this.rows.values()].filter((row) =>
      (kind === "all kinds" || short[row.kind] === kind) &&
      (health === "any health" || row.health === health || (health === "not ok" && row.health !== "ok")) &&
      words.every((word) => `${row.namespace}/${row.name} ${row.target}`.toLowerCase().includes(word)));
    const turn = this.sort.down ? -1 : 1;
    const keys = new Map(this.shown.map((row) => [row, of(row)]));
    this.shown.sort((a, b) => {
      const x = keys.get(a), y = keys.get(b);
      if (x !== y) return (x < y ? -1 : 1) * turn;
      return a.id < b.id ? -1 : 1;
    });
    for (const [i, heading] of this.headings.entries()) {
      const is = columns[i] === this.sort.column;
      heading.setAttribute("aria-sort", is ? (this.sort.down ? "descending" : "ascending") : "none");
      heading.firstChild.textContent = columns[i].title + (is ? (this.sort.down ? " ▾" : " ▴") : "");
    }
    this.count.textContent = this.shown.length === this.rows.size ? `${this.rows.size} autoscalers` : `${this.shown.length} of ${this.rows.size} autoscalers`;
    this.table.setAttribute("aria-rowcount", this.shown.length + 1);
    this.draw(true);
  }

  // draw makes the elements of the rows in sight.
  draw(always = false) {
    const height = this.scroll.clientHeight || 800;
    const from = Math.max(0, Math.floor(this.scroll.scrollTop / this.rowHeight) - 5);
    const to = Math.min(this.shown.length, from + Math.ceil(height / this.rowHeight) + 10);
    if (!always && from === this.from && to === this.to) return;
    this.from = from;
    this.to = to;
    const space = (rows) => {
      const cell = element("td", { colspan: this.span });
      cell.style.height = `${rows * this.rowHeight}px`;
      return element("tr", { class: "space", "aria-hidden": "true" }, cell);
    };
    const lines = this.shown.slice(from, to).map((row, i) => this.line(row, from + i));
    if (lines.length === 0) lines.push(element("tr", {}, element("td", { colspan: this.span, class: "none soft" }, this.rows.size === 0 ? this.empty : "No autoscaler matches.")));
    this.body.replaceChildren(...(from > 0 ? [space(from)] : []), ...lines, ...(to < this.shown.length ? [space(this.shown.length - to)] : []));
  }

  line(row, index) {
    const cells = [
      element("a", { href: `#/object/${[row.kind, row.namespace, row.name].map(encodeURIComponent).join("/")}`, tabindex: -1 }, row.name), row.namespace, short[row.kind],
      element("span", { class: `health-${row.health}` }, `${symbols[row.health]} ${row.health}`),
      replicas(row), load(row), spark(row), targetCell(row), whyCell(row),
    ];
    return element("tr", { "aria-rowindex": index + 2, "aria-selected": String(row.id === this.selected), onclick: (event) => { if (!event.target.closest("a")) this.open(row); } },
      ...cells.map((cell, i) => element("td", { class: `c-${columns[i].name}`, title: row[columns[i].name]?.length > 0 ? row[columns[i].name] : undefined }, element("div", {}, cell))));
  }

  // key moves through the rows.
  key(event, typing) {
    const at = this.shown.findIndex((row) => row.id === this.selected);
    const page = Math.max(1, Math.floor(this.scroll.clientHeight / this.rowHeight) - 2);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page };
    if (event.key === "/" && !typing) {
      event.preventDefault();
      this.find.focus();
    } else if (steps[event.key] && !event.target.matches("select") && this.shown.length > 0) {
      event.preventDefault();
      this.select(at < 0 ? 0 : Math.min(this.shown.length - 1, Math.max(0, at + steps[event.key])));
    } else if (event.key === "Enter" && at >= 0 && !event.target.matches("button, a, select")) {
      this.open(this.shown[at]);
    }
  }

  select(index) {
    this.selected = this.shown[index].id;
    const top = index * this.rowHeight, bottom = top + 2 * this.rowHeight;
    if (top < this.scroll.scrollTop) this.scroll.scrollTop = top;
    else if (bottom > this.scroll.scrollTop + this.scroll.clientHeight) this.scroll.scrollTop = bottom - this.scroll.clientHeight;
    this.draw(true);
    this.count.setAttribute("aria-label", `${this.shown[index].name} in ${this.shown[index].namespace}, row ${index + 1} of ${this.shown.length}`);
  }
}

// emptyText is why there is no row.
function emptyText({ notes, namespace }) {
  const own = notes.filter(({ what }) => Object.keys(short).some((kind) => what === `${kind}s`));
  if (own.some(({ pending }) => !pending)) return "No autoscalers can be shown. What cannot be read, and why, stands above.";
  if (own.length > 0) return "The autoscalers are being read…";
  return namespace ? `There are no autoscalers in namespace ${namespace}.` : "There are no autoscalers in this cluster.";
}

// targetCell may be broken between its kind and its name.
function targetCell({ target }) {
  const [kind, ...name] = target.split("/");
  return element("span", {}, target ? kind : "–", ...(name.length > 0 ? ["/", element("wbr"), name.join("/")] : []));
}

function whyCell(row) {
  if (row.says) return row.says;
  return element("span", { class: "soft", title: row.limit?.says || undefined }, limitWords(row.limit?.name));
}

// replicas shows the counts, and their places in the range from min to max.
function replicas(row) {
  if (row.kind === "VerticalPodAutoscaler") return element("span", { class: "soft" }, row.mode ?? "");
  if (row.max === undefined) return "–";
  const range = `${number(row.min)}–${row.max}`, now = row.current;
  let text = now === undefined ? `– of ${range}` : now === row.desired || row.desired === undefined ? `${now} of ${range}` : `${now} → ${row.desired} of ${range}`;
  if (row.ready !== undefined && row.ready !== now) text += `, ${row.ready} ready`;
  const mode = row.mode ? element("span", { class: "soft" }, ` ${row.mode}`) : undefined;
  return element("span", { title: text }, element("span", { class: "num" }, text), mode, rangeOf(row));
}

function rangeOf({ min = 0, max, desired, current, ready }) {
  const width = 96;
  const at = (n) => (max === min ? width / 2 : (Math.min(Math.max(n, min), max) - min) / (max - min) * width);
  const parts = [
    shape("line", { class: "range", x1: 0, x2: width, y1: 7, y2: 7 }),
    shape("line", { class: "end", x1: 0, x2: 0, y1: 3, y2: 11 }), shape("line", { class: "end", x1: width, x2: width, y1: 3, y2: 11 }),
  ];
  const running = ready ?? current;
  if (running !== undefined) parts.push(shape("circle", { class: "current", cx: at(running), cy: 7, r: 3.5 }));
  if (desired !== undefined) parts.push(shape("circle", { class: "desired", cx: at(desired), cy: 7, r: 5.5 }));
  return shape("svg", { width: width + 14, height: 14, viewBox: `-7 0 ${width + 14} 14`, "aria-hidden": "true" }, ...parts);
}

// load is a bar that ends at twice the target.
function load(row) {
  if (row.kind === "VerticalPodAutoscaler") return "";
  if (!row.load) return "–";
  const text = element("span", { class: "num", title: row.load.metric ? `${row.load.metric}: ${row.load.text}` : row.load.text }, row.load.text);
  if (row.load.ratio === undefined) return text;
  const width = 72;
  return element("span", {}, text, shape("svg", { width, height: 14, "aria-hidden": "true" },
    shape("rect", { class: "track", width, height: 7, y: 4 }), shape("rect", { class: "fill", width: Math.min(row.load.ratio, 2) / 2 * width, height: 7, y: 4 }),
    shape("line", { class: "target", x1: width / 2, x2: width / 2, y1: 2, y2: 13 })));
}

// spark is the desired count since this page's server has watched.
function spark(row) {
  const counts = row.counts ?? [];
  if (counts.length === 0) return "";
  const width = 84, height = 22, start = counts[0].at, end = Math.max(Date.now(), start + 1);
  const top = Math.max(...counts.map((count) => count.desired), 1);
  const x = (at) => ((at - start) / (end - start) * width).toFixed(1);
  const y = (n) => (height - 1 - n / top * (height - 2)).toFixed(1);
  let path = `M0 ${y(counts[0].desired)}`;
  for (const count of counts.slice(1)) path += `H${x(count.at)}V${y(count.desired)}`;
  path += `H${width}`;
  const first = counts[0].desired, last = counts.at(-1).desired;
  return element("span", { title: `desired since ${time(start)}: from ${first} to ${last}` },
    shape("svg", { width, height, role: "img", "aria-label": `desired from ${first} to ${last}` }, shape("path", { class: "spark", d: path })));
}
