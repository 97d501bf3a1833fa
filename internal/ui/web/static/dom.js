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

// What times are written with: those of the browser's time zone, until another one is set.
let zone, withDay, clock, minute, day, date, midnight;

// showTimesIn sets the time zone of all times that are shown from then on; undefined is the browser's own. The day is
// left out where it is today, unless it is always wanted.
export function showTimesIn(timeZone, always = false) {
  const format = (parts, language) => new Intl.DateTimeFormat(language, { ...parts, hourCycle: "h23", timeZone });
  const two = "2-digit", seconds = { hour: two, minute: two, second: two };
  [zone, withDay] = [timeZone, always];
  [clock, minute, midnight] = [format(seconds), format({ hour: two, minute: two }), format(seconds, "en")];
  [day, date] = [format({ month: "short", day: "numeric" }), format({ year: "numeric", month: two, day: two })];
}
showTimesIn(undefined);

// time is a moment in milliseconds, with its day if that is not today.
export function time(at) {
  const moment = new Date(at);
  const text = clock.format(moment);
  return !withDay && date.format(moment) === date.format(new Date()) ? text : `${day.format(moment)} ${text}`;
}

// changeTime is when a count changed; where only its minute is known, by when.
export function changeTime({ at, isExact }) {
  return isExact ? time(at) : `by ${minute.format(new Date(at))}`;
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

// timeTicks are the texts of a time axis: the day where it begins, seconds where the ticks are closer than minutes.
export function timeTicks(_, ticks, axis, space, step) {
  return ticks.map((at) => {
    const moment = new Date(at * 1000);
    if (midnight.format(moment) === "00:00:00") return day.format(moment);
    return (step < 60 ? clock : minute).format(moment);
  });
}

// tzDate is what a plot takes for the date of a moment in seconds: its ticks are at full hours and days of the time zone.
export function tzDate(at) {
  const moment = new Date(Math.round(at * 1000));
  return zone ? uPlot.tzDate(moment, zone) : moment;
}

// whole are the distances of ticks on an axis of replicas.
export const whole = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000];
