import { element, time, timeTicks, whole, number, color } from "./dom.js";
import { series } from "./series.js";

const height = 300;
// A mark's reason is shown where the pointer is at most so many pixels away.
const near = 8;
const loadColors = ["load", "load2", "load3", "load4"];
// These are found again by their labels.
const expected = "expected load", mostLabel = "maxReplicas";
const dashes = [[], [10, 3], [3, 3], [10, 3, 3, 3]];

// Chart has the load and the replicas of an autoscaler on one time axis: what was, what the schedules ask for, and what
// is expected.
export class Chart {
  constructor(label) {
    this.place = element("div", { class: "chart", role: "img", "aria-label": label });
    this.tip = element("div", { class: "tip", hidden: true });
    new ResizeObserver(() => this.plot?.setSize({ width: this.place.clientWidth, height })).observe(this.place);
  }

  clear() {
    this.plot?.destroy();
    this.plot = undefined;
  }

  // show draws an answer, with the changes of the desired count and the chosen one of them.
  show(answer, changes, chosen) {
    const parts = series(answer);
    this.changes = changes;
    this.chosen = chosen;
    this.answer = answer;
    if (parts.counts.times.length === 0) {
      this.clear();
      return;
    }
    const tables = tablesOf(parts, answer).filter(({ columns: [times] }) => times.length > 0);
    const columns = tables.map((table) => table.columns);
    const lines = tables.flatMap((table) => table.lines);
    this.ends = [0, ...columns.flatMap(([times, ...values]) => values.map(() => times.at(-1)))];
    const data = uPlot.join(columns, columns.map((table) => table.map(() => 2)));
    const made = JSON.stringify([document.documentElement.dataset.theme, lines]);
    if (this.plot && this.made === made) {
      this.renew(data);
      return;
    }
    this.clear();
    this.made = made;
    this.plot = new uPlot(this.options(lines, parts.isOfPods), data, this.place);
    this.full = [data[0][0], data[0].at(-1)];
    this.plot.over.append(this.tip);
  }

  // renew keeps the part of the time that somebody has chosen.
  renew(data) {
    const { min, max } = this.plot.scales.x;
    const isWhole = min === this.full[0] && max === this.full[1];
    this.full = [data[0][0], data[0].at(-1)];
    this.plot.setData(data, isWhole);
    if (!isWhole) this.plot.redraw();
  }

  choose(chosen) {
    this.chosen = chosen;
    this.plot?.redraw();
    if (this.plot) this.point(this.plot);
  }

  options(lines, isOfPods) {
    const steps = uPlot.paths.stepped({ align: 1 });
    const grid = { stroke: color("line"), width: 1 };
    const axis = { stroke: color("soft"), grid, ticks: grid, font: "12px system-ui" };
    const all = lines.map(({ isStepped, color: name, ...line }) => ({ stroke: color(name), width: 2, spanGaps: false, points: { show: false }, value: (_, v) => number(v), ...line, ...(isStepped ? { paths: steps } : {}) }));
    const mean = 1 + lines.findIndex(({ label }) => label === expected);
    const options = {
      width: this.place.clientWidth || 700, height,
      cursor: { points: { size: 6 }, dataIdx: (u, s, at) => this.known(u, s, at) },
      scales: { x: { time: true }, y: { range: (u) => [0, topOf(u, "y") * 1.1] }, ratio: { range: (u) => [0, topOf(u, "ratio") * 1.1] } },
      axes: [{ ...axis, values: timeTicks }, { ...axis, label: "replicas", labelSize: 22, size: 46, incrs: whole }],
      series: [{ label: "time", value: (_, v) => (v === null || v === undefined ? "–" : time(v * 1000)) }, ...all],
      bands: mean > 0 ? [{ series: [mean + 1, mean], fill: color("band") }] : [],
      hooks: { drawClear: [(u) => this.schedules(u)], draw: [(u) => this.marks(u)], setCursor: [(u) => this.point(u)] },
    };
    if (!isOfPods) options.axes.push({ ...axis, scale: "ratio", side: 1, label: "load, of the target", labelSize: 22, size: 46, grid: { show: false } });
    return options;
  }

  // known is where the last value of a series is that holds at a time.
  known(u, of, at) {
    if (of === 0 || u.data[0][at] > this.ends[of]) return at;
    for (let i = at; i >= 0; i--) if (u.data[of][i] !== undefined) return i;
    return at;
  }

  // schedules shades the time in which schedules are in force, with their names.
  schedules(u) {
    const { ctx, bbox } = u;
    const bounds = this.answer.bounds ?? [];
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    ctx.font = `${12 * devicePixelRatio}px system-ui`;
    ctx.textBaseline = "top";
    ctx.textAlign = "left";
    let named = "";
    for (const [i, bound] of bounds.entries()) {
      const names = (bound.schedules ?? []).join(", ");
      if (names !== "") {
        const left = u.valToPos(bound.at / 1000, "x", true), right = u.valToPos((bounds[i + 1]?.at ?? this.answer.until) / 1000, "x", true);
        ctx.fillStyle = color("schedule");
        ctx.fillRect(left, bbox.top, right - left, bbox.height);
        ctx.fillStyle = color("soft");
        if (names !== named) ctx.fillText(names, Math.max(left, bbox.left) + 4 * devicePixelRatio, bbox.top + 3 * devicePixelRatio);
      }
      named = names;
    }
    ctx.restore();
  }

  // marks draws a line at each change of the desired count, a thicker one at the chosen one, and one at now.
  marks(u) {
    const { ctx, bbox } = u;
    const stroke = (at, name, width, dash) => {
      const x = u.valToPos(at / 1000, "x", true);
      if (x < bbox.left || x > bbox.left + bbox.width) return;
      ctx.strokeStyle = color(name);
      ctx.lineWidth = width * devicePixelRatio;
      ctx.setLineDash(dash);
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
    };
    ctx.save();
    for (const { at } of this.changes) stroke(at, "now", at === this.chosen ? 3 : 1, at === this.chosen ? [] : [2, 4]);
    stroke(this.answer.now, "soft", 1, []);
    ctx.restore();
  }

  // point shows the reason of the change at the pointer, or else of the chosen one.
  point(u) {
    const left = u.cursor.left ?? -1;
    const away = ({ at }) => Math.abs(u.valToPos(at / 1000, "x") - left);
    let change = left < 0 ? undefined : this.changes.reduce((best, one) => (away(one) <= near && (!best || away(one) < away(best)) ? one : best), undefined);
    change ??= this.changes.find(({ at }) => at === this.chosen);
    const x = change ? u.valToPos(change.at / 1000, "x") : -1;
    this.tip.hidden = x < 0 || x > u.over.clientWidth;
    if (this.tip.hidden) return;
    this.tip.replaceChildren(element("b", {}, `${time(change.at)}  ${change.from} → ${change.to}`), change.why ? ` ${change.why}` : "");
    const isRight = x > u.over.clientWidth / 2;
    this.tip.style.left = isRight ? "" : `${x + 6}px`;
    this.tip.style.right = isRight ? `${u.over.clientWidth - x + 6}px` : "";
  }
}

// tablesOf are columns with times of their own, and the lines that they become: what was, the bounds, what comes if the
// load stays, what is expected.
function tablesOf({ counts, readyName, loads, loadNames, isOfPods }, { row, now, until, bounds, ahead, forecast }) {
  const from = Math.min(counts.times[0], loads.times[0]), seen = now / 1000;
  const to = Math.min((until || now) / 1000, seen + Math.max(30, (seen - from) / 3));
  const isSoon = (one) => one.at / 1000 > seen && one.at / 1000 <= to;
  const within = (bounds ?? []).filter((bound, i) => bound.at / 1000 < to && (bounds[i + 1]?.at ?? Infinity) / 1000 > from);
  if (within.length === 0 && row.max !== undefined) within.push({ at: from * 1000, min: row.min ?? null, max: row.max });
  const next = row.desired === undefined || !ahead || to <= seen ? [] : [{ at: now, replicas: row.desired }, ...ahead.filter(isSoon)];
  const curve = (forecast?.curve ?? []).filter(isSoon);
  // The last of them holds up to the end.
  const upToEnd = (list, at) => [...list.map(at), ...(list.length ? [to] : [])];
  const values = (list, name) => [...list.map((one) => one[name]), ...(list.length ? [list.at(-1)[name]] : [])];
  const points = { show: counts.times.length < 3 };
  const bound = { isStepped: true, color: "bound", dash: [6, 4], width: 1 };
  return [
    { columns: [counts.times, counts.desired, counts.ready], lines: [
      { label: "desired", color: "desired", isStepped: true, points }, { label: readyName, color: "ready", isStepped: true, points },
    ] },
    { columns: [loads.times, ...loads.values], lines: [
      ...loadNames.map((label, i) => ({ label, color: loadColors[i % loadColors.length], scale: isOfPods ? "y" : "ratio", width: 1.5, dash: dashes[Math.trunc(i / loadColors.length) % dashes.length], points })),
    ] },
    { columns: [upToEnd(within, ({ at }) => Math.max(from, at / 1000)), values(within, "min"), values(within, "max")], lines: [{ label: "minReplicas", ...bound }, { label: mostLabel, ...bound }] },
    { columns: [upToEnd(next, ({ at }) => at / 1000), values(next, "replicas")], lines: [{ label: "desired if the load stays", color: "desired", isStepped: true, dash: [3, 4], width: 1.5 }] },
    { columns: [curve.map(({ at }) => at / 1000), curve.map(({ mean }) => mean), curve.map(({ upper }) => upper)], lines: [{ label: expected, color: "load", dash: [2, 4], width: 1.5 }, { label: "with its mean error", color: "band", width: 1 }] },
  ];
}

// topOf is the most of the series of a scale. maxReplicas is in sight where it is at most twice that.
function topOf(u, scale) {
  let top = 1, bound = 0;
  for (const [i, { scale: of, label }] of u.series.entries()) {
    if (i === 0 || of !== scale || !u.series[i].show) continue;
    for (const value of u.data[i]) {
      if (label === mostLabel) bound = Math.max(bound, value ?? 0);
      else top = Math.max(top, value ?? 0);
    }
  }
  return scale === "y" && bound <= 2 * top ? Math.max(top, bound) : top;
}
