// Package notices collects the licences of all modules that are linked into a program: most of them require that every
// distribution of the program includes their text.
package notices

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Package is a linked package.
type Package struct {
	// Module is its module's path and version, such as k8s.io/api v0.37.1.
	Module string
	// ModuleDir is the folder of the module's files, Dir that of the package's.
	ModuleDir, Dir string
}

// A file by its name. NOTICE is what the Apache License requires to be kept, PATENTS a grant beside Go's licence.
var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents|unlicense)([.-].*)?$`)

// notLicence matches names of other files, such as license.go.
var notLicence = regexp.MustCompile(`\.(go|json|ya?ml|tmpl|sh)$`)

// Collect has the text of each licence once, after the modules that have it. A module without one is an error.
func Collect(title string, packages []Package) ([]byte, error) {
	byText := map[string][]string{} // the files with a text, as module and path
	licensed := map[string]bool{}   // by module
	read := map[string]bool{}       // by folder
	for i := range packages {
		p := &packages[i]
		for _, dir := range p.folders() {
			if read[dir] {
				continue
			}
			read[dir] = true
			if err := p.collect(dir, byText); err != nil {
				return nil, err
			}
		}
	}
	for _, files := range byText {
		for _, file := range files {
			module, _, _ := strings.Cut(file, ": ")
			licensed[module] = true
		}
	}
	var missing []error
	for i := range packages {
		if m := packages[i].Module; !licensed[m] {
			licensed[m] = true
			missing = append(missing, fmt.Errorf("%s has no file with its licence", m))
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("licences: %w", errors.Join(missing...))
	}
	return write(title, byText), nil
}

// folders are the package's folder and those above it, up to the module's.
func (p *Package) folders() []string {
	dirs := []string{p.Dir}
	for dir := p.Dir; len(dir) > len(p.ModuleDir); {
		dir = filepath.Dir(dir)
		dirs = append(dirs, dir)
	}
	return dirs
}

// collect reads the licences in one folder.
func (p *Package) collect(dir string, byText map[string][]string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("licences of %s: %w", p.Module, err)
	}
	for _, entry := range entries {
		if entry.IsDir() || !licenceFile.MatchString(entry.Name()) || notLicence.MatchString(entry.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			return fmt.Errorf("licences of %s: %w", p.Module, err)
		}
		relative, err := filepath.Rel(p.ModuleDir, dir)
		if err != nil {
			return fmt.Errorf("licences of %s: %w", p.Module, err)
		}
		key := string(normalized(text))
		byText[key] = append(byText[key], p.Module+": "+path.Join(filepath.ToSlash(relative), entry.Name()))
	}
	return nil
}

// normalized is a text as it is printed: without carriage returns and without spaces at its ends.
func normalized(text []byte) []byte {
	return bytes.TrimSpace(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")))
}

// write prints the texts in the order of the first of their modules.
func write(title string, byText map[string][]string) []byte {
	for _, files := range byText {
		slices.Sort(files)
	}
	texts := slices.SortedFunc(maps.Keys(byText), func(a, b string) int {
		return cmp.Or(slices.Compare(byText[a], byText[b]), cmp.Compare(a, b))
	})
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s\n\nEach text below is preceded by the modules that have it.\n", title)
	for _, text := range texts {
		fmt.Fprintf(&out, "\n%s\n\n", strings.Repeat("=", 80))
		for _, file := range byText[text] {
			fmt.Fprintln(&out, file)
		}
		fmt.Fprintf(&out, "\n%s\n", text)
	}
	return out.Bytes()
}
