package web

import (
	"regexp"
	"strings"
	"testing"
)

// TestScript: the script has each module once, after its imports, has no import or export statements, and has the
// licence of code by others.
func TestScript(t *testing.T) {
	script, err := Script("report")
	if err != nil {
		t.Fatal(err)
	}
	before := -1
	for _, module := range []string{"dom", "details", "object", "report"} {
		begin := "const module_" + module + " = "
		if n := strings.Count(script, begin); n != 1 {
			t.Fatalf("%s.js is there %d times", module, n)
		}
		at := strings.Index(script, begin)
		if at < before {
			t.Errorf("%s.js is before what it imports", module)
		}
		before = at
	}
	for _, absent := range []string{"\nimport ", "\nexport ", "fetch(", "XMLHttpRequest", "</script"} {
		if strings.Contains(script, absent) {
			t.Errorf("the script has %q", absent)
		}
	}
	for _, part := range []string{"The above copyright notice and this permission notice shall be included", "var uPlot="} {
		if !strings.Contains(script, part) {
			t.Errorf("the script lacks %q", part)
		}
	}
	if _, err := Script("none"); err == nil {
		t.Error("a missing script is allowed")
	}
}

// TestScoped: the forms that the modules use are rewritten, and other forms are refused.
func TestScoped(t *testing.T) {
	got, err := scoped("a", `import { b, c } from "./d.js";
// An import of goods.
const own = 1;
export function f() { return b(own); }
export class G {}
export const h = c;
export async function i() {}
`)
	want := `const module_a = (() => {
"use strict";
const { b, c } = module_d;
// An import of goods.
const own = 1;
function f() { return b(own); }
class G {}
const h = c;
async function i() {}
return { f, G, h, i };
})();
`
	if err != nil || got != want {
		t.Errorf("%v: %s", err, got)
	}
	for _, text := range []string{
		`import x from "./d.js";`, `import * as x from "./d.js";`, `import "./d.js";`, `import { x as y } from "./d.js"`,
		`import { x } from "https://example.com/d.js";`, `export default 1;`, `export { x };`, `export * from "./d.js";`,
		`export let x = 1;`, `x = await import("./d.js");`, `x = import.meta.url;`,
	} {
		if got, err := scoped("a", text+"\n"); err == nil {
			t.Errorf("%s is bundled as %s", text, got)
		}
	}
}

// TestWithin: text that would end an element of the page, or that a browser changes before it computes the hash, is
// refused.
func TestWithin(t *testing.T) {
	for _, text := range []string{"</script>", "</SCRIPT ", "</style>", "<!--", "a\r\nb", "a\x00"} {
		if _, err := within("a" + text + "b"); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
	if _, err := within("if (a < b && b > c) {}\n"); err != nil {
		t.Error(err)
	}
}

// TestStyle: the style contains all files, and imports none.
func TestStyle(t *testing.T) {
	style, err := Style("report.css")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{".uplot", ":root[data-theme=\"dark\"]", "@media print"} {
		if !strings.Contains(style, part) {
			t.Errorf("the style lacks %q", part)
		}
	}
	if found := regexp.MustCompile(`url\(|@import`).FindString(style); found != "" {
		t.Errorf("the style has %s", found)
	}
	if _, err := Style("none.css"); err == nil {
		t.Error("a missing style file is allowed")
	}
}
