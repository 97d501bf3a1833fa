import { number } from "./dom.js";

// How much longer than its resolution a point of the history holds at the end, in seconds: the next one may be late.
const late = 30;

// series is what was of an object: counts and loads with null where nothing is known.
export function series(answer) {
  return answer.history?.points?.length ? recorded(answer) : watched(answer);
}

// recorded is the history that the controller keeps.
function recorded({ history, now }) {
  const all = { times: [], desired: [], ready: [], readyName: "ready", isOfPods: true };
  const metrics = history.metrics ?? [];
  all.loadNames = metrics.length > 0 ? metrics.map(({ name }) => `load by ${name}`) : ["load, in pods"];
  all.loads = all.loadNames.map(() => []);
  const add = (at, point, i) => {
    all.times.push(at);
    all.desired.push(point?.wanted ?? null);
    all.ready.push(point?.ready ?? null);
    all.loads.forEach((load, k) => load.push((metrics.length > 0 ? metrics[k].loads[i] : point?.load) ?? null));
  };
  const step = history.resolutionSeconds;
  history.points.forEach((point, i) => {
    const at = Date.parse(point.time) / 1000;
    if (i > 0 && at > all.times.at(-1) + 1.5 * step) add(all.times.at(-1) + step);
    add(at, point, i);
  });
  // The last point holds up to now, unless nothing was recorded for longer than that.
  const last = all.times.at(-1), i = history.points.length - 1;
  if (now / 1000 > last) add(Math.min(now / 1000, last + step + late), history.points[i], i);
  return all;
}

// watched is what this page's server has seen of the object's status.
function watched({ row, now }) {
  const counts = row.counts ?? [];
  const value = (name) => [...counts.map((count) => count[name] ?? null), ...(counts.length ? [counts.at(-1)[name] ?? null] : [])];
  return {
    times: [...counts.map((count) => count.at / 1000), ...(counts.length ? [now / 1000] : [])],
    desired: value("desired"), ready: value("current"), readyName: "current", loads: [value("ratio")], loadNames: ["load, of the target"], isOfPods: false,
  };
}

// changesOf are the changes of the desired count, oldest first, each with its reason.
export function changesOf(answer) {
  const { history, row, events } = answer;
  if (history?.points?.length) {
    return history.changes.map((change) => {
      const at = Date.parse(change.time);
      return { at, from: change.from, to: change.to, why: [reason(events, at, change), change.load === undefined ? "" : `load of ${number(change.load)} pods`, change.limit === "None" ? "" : change.limit].filter(Boolean).join(", ") };
    });
  }
  const counts = row.counts ?? [];
  return counts.slice(1).flatMap((count, i) => (count.desired === counts[i].desired ? [] : [{
    at: count.at, from: counts[i].desired, to: count.desired,
    why: [reason(events, count.at, { to: count.desired, withinSeconds: 1 }), count.ratio === undefined ? "" : `load of ${number(count.ratio)} of the target`].filter(Boolean).join(", "),
  }]));
}

// slack is how far the times of an event and of a change may be apart: events have seconds, and may be written late.
const slack = 5000;

// reason is that of the event about a change, which is nearest to it.
function reason(events, at, { to, withinSeconds }) {
  let best;
  for (const event of events ?? []) {
    const said = event.reason === "SuccessfulRescale" && /^New size: (\d+); reason: (.*)$/.exec(event.message);
    const away = Math.abs(event.at - at);
    if (said && Number(said[1]) === to && away <= withinSeconds * 1000 + slack && (!best || away < best.away)) best = { away, text: said[2] };
  }
  return best?.text;
}
