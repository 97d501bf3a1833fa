package web

import (
	"fmt"
	"regexp"
	"strings"
)

// The lines of a module with its imports and exports. Any other form is an error.
var (
	importLine = regexp.MustCompile(`(?m)^import \{ ([\w, ]+) \} from "\./(\w+)\.js";\n`)
	exportWord = regexp.MustCompile(`(?m)^export (?:async )?(?:function|class|const) (\w+)`)
	otherForm  = regexp.MustCompile(`(?m)^\s*(?:import|export)\b.*|\bimport\(.*|\bimport\.meta\b.*`)
	endOfText  = regexp.MustCompile(`(?i)</(?:script|style)|<!--|\r|\x00`)
)

// Script returns a module, all modules that it imports, and the library of the plots, as one script for a page without
// any other file. Each module keeps its own scope.
func Script(module string) (string, error) {
	plots, err := read("uPlot.iife.min.js")
	if err != nil {
		return "", err
	}
	licence, err := read("uPlot.LICENSE.txt")
	if err != nil {
		return "", err
	}
	b := bundle{isIn: map[string]bool{}}
	b.out.WriteString("/*\nuPlot:\n" + strings.TrimSpace(licence) + "\n*/\n" + strings.TrimSpace(plots) + "\n")
	if err := b.add(module); err != nil {
		return "", err
	}
	return within(b.out.String())
}

// Style returns the style of the page of plimsoll ui, with the further files after it.
func Style(more ...string) (string, error) {
	var out strings.Builder
	for _, name := range append([]string{"uPlot.min.css", "style.css"}, more...) {
		text, err := read(name)
		if err != nil {
			return "", err
		}
		out.WriteString(strings.TrimSpace(text) + "\n")
	}
	return within(out.String())
}

// within checks that a text can be the content of an element: it does not end the element, and a browser changes no
// character of it before it computes its hash.
func within(text string) (string, error) {
	if found := endOfText.FindString(text); found != "" {
		return "", fmt.Errorf("%q cannot be within a page", found)
	}
	return text, nil
}

func read(name string) (string, error) {
	text, err := static.ReadFile("static/" + name)
	if err != nil {
		return "", fmt.Errorf("the page's files: %w", err)
	}
	return string(text), nil
}

// bundle builds a script.
type bundle struct {
	out  strings.Builder
	isIn map[string]bool
}

// add adds a module after those that it imports, once.
func (b *bundle) add(module string) error {
	if b.isIn[module] {
		return nil
	}
	b.isIn[module] = true
	text, err := read(module + ".js")
	if err != nil {
		return err
	}
	for _, match := range importLine.FindAllStringSubmatch(text, -1) {
		if err := b.add(match[2]); err != nil {
			return err
		}
	}
	text, err = scoped(module, text)
	b.out.WriteString(text)
	return err
}

// scoped returns a module as a constant with its exports.
func scoped(module, text string) (string, error) {
	var names []string
	for _, match := range exportWord.FindAllStringSubmatch(text, -1) {
		names = append(names, match[1])
	}
	text = importLine.ReplaceAllString(text, "const { $1 } = module_$2;\n")
	text = exportWord.ReplaceAllStringFunc(text, func(found string) string { return strings.TrimPrefix(found, "export ") })
	if found := otherForm.FindString(text); found != "" {
		return "", fmt.Errorf("%s.js: %q is no import or export of the form that can be bundled", module, found)
	}
	return fmt.Sprintf("const module_%s = (() => {\n\"use strict\";\n%s\nreturn { %s };\n})();\n", module,
		strings.TrimSpace(text), strings.Join(names, ", ")), nil
}
