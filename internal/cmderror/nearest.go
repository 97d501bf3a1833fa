package cmderror

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

const (
	// mostNearest is how many candidates are offered.
	mostNearest = 3
	// longestCompared bounds the work for what a user typed: names of objects have at most 253 characters.
	longestCompared = 253
)

// Nearest are the candidates that a user may have meant, the nearest first: those that differ in at most a third of
// their characters, or in two, and those that begin with what was typed.
func Nearest(typed string, candidates []string) []string {
	if typed == "" || len(typed) > longestCompared {
		return nil
	}
	typed = strings.ToLower(typed)
	type candidate struct {
		name     string
		distance int
	}
	var near []candidate
	for _, name := range candidates {
		lower := strings.ToLower(name)
		distance := levenshtein.ComputeDistance(typed, lower)
		isPrefix := strings.HasPrefix(lower, typed) || len(lower) > 2 && strings.HasPrefix(typed, lower)
		isNear := distance <= min(max(2, len(lower)/3), len(lower)-1)
		if isNear || isPrefix {
			near = append(near, candidate{name, distance})
		}
	}
	slices.SortStableFunc(near, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), strings.Compare(a.name, b.name))
	})
	var names []string
	for _, each := range near[:min(len(near), mostNearest)] {
		names = append(names, each.name)
	}
	return names
}

// DidYouMean asks whether one of the names was meant; empty for none.
func DidYouMean(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("did you mean %s?", Or(names))
}

// Or is as "a, b or c".
func Or(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// OneOf is an error unless the value of a flag is one of these.
func OneOf(flag, value string, values ...string) error {
	if slices.Contains(values, value) {
		return nil
	}
	return Usage(&Error{
		What: fmt.Sprintf("--%s: %q", flag, value), Why: "want " + Or(values), Flag: flag, Value: value,
		Next: DidYouMean(Nearest(value, values)),
	})
}
