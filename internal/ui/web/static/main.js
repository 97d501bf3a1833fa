import { element, time } from "./dom.js";
import { Overview } from "./overview.js";
import { ObjectPage } from "./object.js";
import { followTheme } from "./theme.js";
import { WhatIf } from "./whatif.js";

const every = 2000;
const state = document.querySelector("#state");
const notes = document.querySelector("#notes");
const overview = new Overview(document.querySelector("#overview"), open);
const page = new ObjectPage(document.querySelector("#object"), new WhatIf());

// asking ends the request that is under way.
let asking;

// ask reads from the server that has sent this page, and from nowhere else.
async function ask(path) {
  asking = new AbortController();
  const answer = await fetch(path, { credentials: "same-origin", signal: asking.signal });
  if (!answer.ok) throw new Error((await answer.text()).trim() || answer.statusText);
  return answer.json();
}

function open(row) {
  location.hash = ["#", "object", row.kind, row.namespace, row.name].map((part, i) => (i === 0 ? part : encodeURIComponent(part))).join("/");
}

function shown() {
  try {
    const [, what, kind, namespace, name] = location.hash.split("/").map(decodeURIComponent);
    return what === "object" && name ? { kind, namespace, name } : undefined;
  } catch {
    return undefined; // Not of a link of this page.
  }
}

let revision = 0;
let known;

async function readOverview() {
  const answer = await ask(`api/overview?since=${revision}`);
  revision = answer.revision;
  known = answer;
  document.querySelector("#context").textContent =
    `${answer.context || "cluster"}${answer.namespace ? ` · namespace ${answer.namespace}` : ""}`;
  notes.hidden = answer.notes.length === 0;
  notes.replaceChildren(...answer.notes.map((note) => element("li", {}, element("b", {}, note.what), `: ${note.why}`)));
  overview.take(answer);
}

let busy = false, again = false;
async function turn() {
  if (busy) return;
  busy = true;
  const object = shown();
  document.querySelector("#overview").hidden = Boolean(object);
  document.querySelector("#object").hidden = !object;
  try {
    if (object) {
      page.begin(object);
      if (!known) await readOverview();
      const query = new URLSearchParams({ ...object, last: page.last });
      const answer = await ask(`api/object?${query}`);
      if (JSON.stringify(shown()) === JSON.stringify(object)) page.take(answer);
      state.textContent = `as of ${time(answer.now)}`;
      document.title = `${object.name} · Plimsoll`;
    } else {
      await readOverview();
      state.textContent = `as of ${time(known.now)}`;
      document.title = "Plimsoll";
    }
  } catch (error) {
    if (error.name === "AbortError") return;
    // What is shown stays; it is said that it is old.
    state.textContent = `not up to date: ${error.message}`;
    if (object) page.failed(error);
  } finally {
    busy = false;
    if (again) {
      again = false;
      turn();
    }
  }
}

followTheme(() => page.redraw());

window.addEventListener("hashchange", () => {
  // Who goes elsewhere does not wait for what was asked before.
  again = busy;
  if (busy) asking?.abort();
  else turn();
  document.querySelector("#main").focus();
});
page.changed = turn;
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target.matches("input, select, textarea");
  if (event.key === "Escape" && typing) event.target.blur();
  else if (event.key === "Escape" && shown()) location.hash = "#/";
  else if (!shown()) overview.key(event, typing);
});

turn();
setInterval(() => { if (!document.hidden) turn(); }, every);
