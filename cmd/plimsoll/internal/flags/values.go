package flags

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// Annotations of flags that have few values: for completion, and to offer the nearest one.
const (
	valuesAnnotation = "plimsoll_values"
	listAnnotation   = "plimsoll_list"
	minusAnnotation  = "plimsoll_minus"
)

// Values has the values that a flag accepts.
type Values struct {
	All []string
	// IsList says that the flag takes several, with commas between; HasMinus that each may have a - before it.
	IsList, HasMinus bool
}

// AddValues notes which values a flag can have.
func AddValues(fs *pflag.FlagSet, flag string, values Values) {
	annotate(fs, flag, valuesAnnotation, values.All)
	if values.IsList {
		annotate(fs, flag, listAnnotation, []string{"true"})
	}
	if values.HasMinus {
		annotate(fs, flag, minusAnnotation, []string{"true"})
	}
}

// annotate fails only for a flag that the set does not have.
func annotate(fs *pflag.FlagSet, flag, key string, values []string) {
	if err := fs.SetAnnotation(flag, key, values); err != nil {
		panic(err)
	}
}

// ValuesOf returns the values that a flag accepts; none if they are unknown.
func ValuesOf(f *pflag.Flag) Values {
	return Values{
		All: f.Annotations[valuesAnnotation], IsList: len(f.Annotations[listAnnotation]) > 0,
		HasMinus: len(f.Annotations[minusAnnotation]) > 0,
	}
}

// AllValues returns the accepted values of all flags that have a list of them.
func AllValues(fs *pflag.FlagSet) map[string]Values {
	all := map[string]Values{}
	fs.VisitAll(func(f *pflag.Flag) {
		if values := ValuesOf(f); len(values.All) > 0 {
			all[f.Name] = values
		}
	})
	return all
}

// Complete are the values that continue what was typed. In a list, only the last of them is continued, and what is
// there already is not offered again.
func (v Values) Complete(typed string) []string {
	before, last := "", typed
	if at := strings.LastIndex(typed, ","); v.IsList && at >= 0 {
		before, last = typed[:at+1], typed[at+1:]
	}
	minus := ""
	if rest, isCut := strings.CutPrefix(last, "-"); v.HasMinus && isCut {
		minus, last = "-", rest
	}
	taken := map[string]bool{}
	for name := range strings.SplitSeq(before, ",") {
		taken[strings.TrimPrefix(name, "-")] = true
	}
	var found []string
	for _, value := range v.All {
		if strings.HasPrefix(value, last) && !taken[value] {
			found = append(found, before+minus+value)
		}
	}
	return found
}

// Unknown is the first part of a value that is none of those.
func (v Values) Unknown(value string) string {
	if !v.IsList {
		return value
	}
	for part := range strings.SplitSeq(value, ",") {
		if part = strings.TrimSpace(part); v.HasMinus {
			part = strings.TrimPrefix(part, "-")
		}
		if !slices.Contains(v.All, part) {
			return part
		}
	}
	return ""
}

// AddDivergences notes the names that a flag with divergences can have.
func AddDivergences[S fmt.Stringer](fs *pflag.FlagSet, flag string, all []S) {
	values := Values{All: []string{"default", "none"}, IsList: true}
	if f := fs.Lookup(flag); f != nil && len(ValuesOf(f).All) > 0 {
		values = ValuesOf(f)
	}
	for _, each := range all {
		values.All = append(values.All, each.String())
	}
	AddValues(fs, flag, values)
}
