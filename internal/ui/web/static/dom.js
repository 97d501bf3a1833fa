// Elements are made of text and nodes, never of markup: what a cluster says is anybody's.
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value !== undefined && value !== null) made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== undefined && child !== null));
  return made;
}

export function shape(name, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });
const day = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric" });

// time is a moment in milliseconds, with its day if that is not today.
export function time(at) {
  const moment = new Date(at);
  const text = clock.format(moment);
  return moment.toDateString() === new Date().toDateString() ? text : `${day.format(moment)} ${text}`;
}

export function color(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

export const symbols = { ok: "●", warning: "▲", problem: "■", unknown: "○" };

// number has at most three digits that matter.
export function number(value) {
  if (value === null || value === undefined) return "–";
  return Math.abs(value) >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(3)));
}

const minute = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hour12: false });

// timeTicks are the texts of a time axis: the day where it begins, seconds where the ticks are closer than minutes.
export function timeTicks(_, ticks, axis, space, step) {
  return ticks.map((at) => {
    const moment = new Date(at * 1000);
    if (moment.getHours() === 0 && moment.getMinutes() === 0 && moment.getSeconds() === 0) return day.format(moment);
    return (step < 60 ? clock : minute).format(moment);
  });
}

// whole are the distances of ticks on an axis of replicas.
export const whole = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000];
