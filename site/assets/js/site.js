import { index } from "./search.js";

const script = document.currentScript;
// The folder of the site: it may be served from anywhere.
const root = new URL(".", script.src);

// The menu of pages is open where there is room for it beside the page.
const pages = document.querySelector("nav.menu details");
const narrow = matchMedia("(max-width: 48rem)");
const fold = () => { pages.open = !narrow.matches; };
narrow.addEventListener("change", fold);
fold();
document.querySelector("nav.menu [aria-current]")?.scrollIntoView({ block: "nearest" });

// Another version of the same page, or its first page if it has none of that name.
const version = document.querySelector(".version select");
const shown = version.value;
version.addEventListener("change", async () => {
  const page = location.href.slice(root.href.length);
  const other = new URL(`../${encodeURIComponent(version.value)}/`, root);
  version.value = shown; // for the way back
  let target = new URL("index.html", other);
  try {
    const same = new URL(page, other);
    if ((await fetch(same, { method: "HEAD" })).ok) {
      target = same;
    }
  } catch {
    // Without a server there is no telling.
  }
  location.href = target;
});

const box = document.querySelector(".search");
const input = box.querySelector("input");
const found = box.querySelector("ol");
const most = 12;
box.hidden = false;

let loading;
let parts;

// The index is loaded when somebody searches, not with each page.
function load() {
  loading ??= new Promise((resolve, reject) => {
    const element = document.createElement("script");
    element.src = new URL(script.dataset.index, root);
    element.onload = () => {
      parts = window.plimsollIndex;
      resolve(index(parts));
    };
    element.onerror = () => reject(new Error(`${element.src} cannot be loaded`));
    document.head.append(element);
  });
  return loading;
}

// The longest first: a joined word, and not the words in it, is what was asked for.
const byLength = (terms) => [...terms].sort((a, b) => b.length - a.length);

function around(text, terms) {
  const flat = text.replace(/\s+/g, " ");
  const lower = flat.toLowerCase();
  const at = byLength(terms).map((term) => lower.indexOf(term)).find((position) => position >= 0) ?? 0;
  const from = Math.max(0, at - 40);
  return (from > 0 ? "…" : "") + flat.slice(from, from + 160);
}

function marked(text, terms) {
  const fragment = document.createDocumentFragment();
  if (terms.length === 0) {
    fragment.append(text);
    return fragment;
  }
  const words = byLength(terms).map((term) => term.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  for (const [i, piece] of text.split(new RegExp(`(${words.join("|")})`, "gi")).entries()) {
    if (i % 2 === 0) {
      fragment.append(piece);
      continue;
    }
    const mark = document.createElement("mark");
    mark.textContent = piece;
    fragment.append(mark);
  }
  return fragment;
}

function entry(result) {
  const part = parts[result.id];
  const link = document.createElement("a");
  link.href = new URL(part.url.replace(/^\//, ""), root);
  const where = part.heading === part.title ? part.title : `${part.title} › ${part.heading}`;
  const text = document.createElement("small");
  text.append(marked(around(part.text, result.terms), result.terms));
  link.append(marked(where, result.terms), text);
  const item = document.createElement("li");
  item.append(link);
  return item;
}

async function show() {
  const asked = input.value.trim();
  if (asked === "") {
    found.hidden = true;
    return;
  }
  const search = await load();
  if (asked !== input.value.trim()) {
    return; // more was typed meanwhile
  }
  const results = search.search(asked).slice(0, most);
  found.replaceChildren(...results.map(entry));
  if (results.length === 0) {
    const none = document.createElement("li");
    none.className = "none";
    none.textContent = "Nothing found";
    found.append(none);
  }
  found.querySelector("a")?.classList.add("chosen");
  found.hidden = false;
}

function choose(step) {
  const links = [...found.querySelectorAll("a")];
  const at = links.findIndex((link) => link.classList.contains("chosen"));
  links[at]?.classList.remove("chosen");
  const next = links[(at + step + links.length) % links.length];
  next?.classList.add("chosen");
  next?.scrollIntoView({ block: "nearest" });
}

input.addEventListener("focus", () => load().catch(console.error));
input.addEventListener("input", () => show().catch(console.error));
input.addEventListener("keydown", (event) => {
  const keys = { ArrowDown: () => choose(1), ArrowUp: () => choose(-1), Enter: () => found.querySelector(".chosen")?.click() };
  if (keys[event.key]) {
    event.preventDefault();
    keys[event.key]();
  }
});
found.addEventListener("click", () => { found.hidden = true; input.blur(); });
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    found.hidden = true;
    input.blur();
  }
  if (event.key === "/" && !/^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName)) {
    event.preventDefault();
    input.focus();
  }
});
document.addEventListener("click", (event) => {
  if (!box.contains(event.target)) {
    found.hidden = true;
  }
});
// A link with ?q=words shows what is found.
const asked = new URLSearchParams(location.search).get("q");
if (asked) {
  input.value = asked;
  show().catch(console.error);
}
