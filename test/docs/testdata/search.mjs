// Searches the site that make docs has built, as its pages do: search.mjs SEARCH.JS INDEX.JS QUERY... prints the addresses
// that are found for each query, the best first.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [search, file, ...queries] = process.argv.slice(2);
const { index } = await import(pathToFileURL(search));
const page = {};
new Function("window", readFileSync(file, "utf8"))(page);
const parts = page.plimsollIndex;
const found = index(parts);
console.log(JSON.stringify({
  parts: parts.map((part) => part.url),
  results: Object.fromEntries(queries.map((query) => [query, found.search(query).map((result) => parts[result.id].url)])),
}));
