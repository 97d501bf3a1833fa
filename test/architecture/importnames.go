package architecture

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// importNameBreaches finds folders whose files, or whose tests, mean several packages by one import name: a line that
// is moved from one file to another would change its meaning.
func importNameBreaches(files []file) []string {
	meanings := map[string]map[string]bool{}
	for _, f := range files {
		for _, spec := range f.syntax.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil || spec.Name != nil && (spec.Name.Name == "_" || spec.Name.Name == ".") {
				continue
			}
			key := path.Dir(f.path) + ": " + f.importName(imported)
			if f.isTest() {
				key = path.Dir(f.path) + " (tests): " + f.importName(imported)
			}
			if meanings[key] == nil {
				meanings[key] = map[string]bool{}
			}
			meanings[key][imported] = true
		}
	}
	var found []string
	for key, paths := range meanings {
		if len(paths) > 1 {
			found = append(found, fmt.Sprintf("%s means %s", key, strings.Join(slices.Sorted(maps.Keys(paths)), " and ")))
		}
	}
	slices.Sort(found)
	return found
}
