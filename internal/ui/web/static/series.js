import { number } from "./dom.js";
import { limitWords, metricWords, reasonWords } from "./words.js";

// How much longer than its resolution a point of the history holds at the end, in seconds: the next one may be late.
const late = 30;

// series is what was of an object, with null where nothing is known: the counts and the loads have times of their own.
export function series(answer) {
  return answer.history?.points?.length ? recorded(answer) : watched(answer);
}

// recorded is the history that the controller keeps. A point's load is the mean of its time, and is drawn in its middle;
// its counts are those of its end, unless a change is known more exactly.
function recorded(answer) {
  const { history, now } = answer;
  const metrics = history.metrics ?? [], step = history.resolutionSeconds, seen = now / 1000;
  const names = metrics.length > 0 ? metrics.map(({ name }) => `load by ${metricWords(name)}`) : ["load, in pods"];
  const counts = new Map(), loads = { times: [], values: names.map(() => []) };
  const addLoads = (at, point, i) => {
    loads.times.push(at);
    loads.values.forEach((values, k) => values.push((metrics.length > 0 ? metrics[k].loads[i] : point?.load) ?? null));
  };
  const begins = history.points.map((point) => Date.parse(point.time) / 1000);
  history.points.forEach((point, i) => {
    const begin = begins[i], end = Math.max(begin, Math.min(begin + step, seen)), last = begins[i - 1] + step;
    if (begin > last + step / 2) {
      addLoads(last);
      counts.set(last + Math.min(late, (begin - last) / 2), {});
    }
    addLoads((begin + end) / 2, point, i);
    counts.set(end, { desired: point.wanted, ready: point.ready });
  });
  // A change may be where the point before it ends.
  for (const { at, to, ready, readyAt } of changesOf(answer)) {
    const begin = Math.min(at / 1000, seen);
    counts.set(Math.min(readyAt / 1000, seen), { desired: to, ready });
    counts.set(begin, { ...counts.get(begin), desired: to });
  }
  // The last point holds up to now, unless nothing was recorded for longer than that.
  const i = begins.length - 1, end = Math.min(seen, begins[i] + step + late);
  if (end > loads.times.at(-1)) addLoads(end, history.points[i], i);
  if (!counts.has(end)) counts.set(end, { desired: history.points[i].wanted, ready: history.points[i].ready });
  const times = [...counts.keys()].sort((a, b) => a - b);
  const desired = times.map((at) => counts.get(at).desired ?? null), ready = [];
  // Where only the desired count is known, the ready one has not changed yet.
  times.forEach((at, k) => ready.push(counts.get(at).ready ?? (desired[k] === null ? null : ready.at(-1) ?? null)));
  return { counts: { times, desired, ready }, readyName: "ready", loads, loadNames: names, isOfPods: true };
}

// watched is what this page's server has seen of the object's status.
function watched({ row, now }) {
  const seen = row.counts ?? [];
  const value = (name) => [...seen.map((count) => count[name] ?? null), ...(seen.length ? [seen.at(-1)[name] ?? null] : [])];
  const times = [...seen.map((count) => count.at / 1000), ...(seen.length ? [now / 1000] : [])];
  return {
    counts: { times, desired: value("desired"), ready: value("current") }, readyName: "current",
    loads: { times, values: [value("ratio")] }, loadNames: ["load, of the target"], isOfPods: false,
  };
}

// changesOf are the changes of the desired count, oldest first, each with its reason.
export function changesOf(answer) {
  const { history, row, events } = answer;
  if (history?.points?.length) return history.changes.map((change) => recordedChange(events, change));
  const counts = row.counts ?? [];
  return counts.slice(1).flatMap((count, i) => (count.desired === counts[i].desired ? [] : [
    described({ at: count.at, from: counts[i].desired, to: count.desired, isExact: true },
      eventOf(events, count.at, { to: count.desired, withinSeconds: 1 })?.text, count.ratio === undefined ? undefined : `load at ${number(100 * count.ratio)} % of the target`),
  ]));
}

// recordedChange is at the time of its event where the history knows no more than in which minute it was, and else at the
// end of that minute. The ready count is that of the end.
function recordedChange(events, change) {
  const begin = Date.parse(change.time), isExact = change.withinSeconds <= 1;
  const event = eventOf(events, begin, change);
  const end = begin + change.withinSeconds * 1000, at = isExact ? begin : Math.min(Math.max(event?.at ?? Infinity, begin), end);
  return described({ at, from: change.from, to: change.to, ready: change.ready, readyAt: isExact ? begin : end, isExact: isExact || event !== undefined },
    event?.text, change.load === undefined ? undefined : `load of ${number(change.load)} pods`, limitWords(change.limit));
}

// described has the reason of a change, what else is known of it, and both as one text.
function described(change, reason, load, limit) {
  const why = reason ? reasonWords(reason) : change.to > change.from ? "Scaled up" : "Scaled down";
  const rest = [load ?? "load not known", limit].filter(Boolean).join(", ");
  return { ...change, reason: why, rest, why: `${why}, ${rest}` };
}

// slack is how far the times of an event and of a change may be apart: events have seconds, and may be written late.
const slack = 5000;

// eventOf is the event about a change, which is nearest to it.
function eventOf(events, at, { to, withinSeconds }) {
  let best;
  for (const event of events ?? []) {
    const said = event.reason === "SuccessfulRescale" && /^New size: (\d+); reason: (.*)$/.exec(event.message);
    const away = Math.abs(event.at - at);
    if (said && Number(said[1]) === to && away <= withinSeconds * 1000 + slack && (!best || away < best.away)) best = { away, at: event.at, text: said[2] };
  }
  return best;
}
