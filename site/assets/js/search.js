import MiniSearch from "minisearch";

// A word, and words that hyphens or underscores join: flags, metrics, names of rules.
const joined = /[\p{L}\p{N}]+(?:[-_][\p{L}\p{N}]+)+/gu;
const words = MiniSearch.getDefault("tokenize");

// index makes what is searched of the parts of all pages. A joined word is found as a whole, and by each of its words.
export function index(parts) {
  const search = new MiniSearch({
    fields: ["heading", "title", "text"],
    tokenize: (text) => [...words(text), ...(text.match(joined) ?? [])],
    searchOptions: { boost: { heading: 5, title: 3 }, prefix: true, fuzzy: (term) => (term.length > 4 ? 0.2 : 0), combineWith: "AND" },
  });
  search.addAll(parts);
  return search;
}
