package oracle

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
)

// anyPod matches texts that name the first pod without a request: which one that
// is depends on the order of a Go map upstream.
var anyPod = regexp.MustCompile(
	`missing request for \S+ in container \S+ of Pod [\w-]+|missing pod-level request for \S+ in Pod [\w-]+` +
		`|container \S+ not found in Pod [\w-]+`)

const anyPodText = "<a pod without request>"

// anyOrder matches the two objects of one target, which upstream keeps in a map,
// where they are not in the order of their names.
var anyOrder = regexp.MustCompile(`\[(shop/web) (shop/rival)\]`)

// lines is a result in lines that can be compared.
func lines(r *Result) []string {
	var out []string
	for _, write := range r.Writes {
		out = append(out, "write "+write)
	}
	for _, line := range r.Series {
		out = append(out, "series "+line)
	}
	// In which order the events of one decision come is not to be seen.
	var events []string
	for _, event := range r.Events {
		events = append(events, "event "+mask(event))
	}
	slices.Sort(events)
	out = append(out, events...)
	out = append(out, statusLines("", &r.Status)...)
	if r.Rival != nil {
		out = append(out, statusLines("rival ", r.Rival)...)
	}
	for i := range out {
		out[i] = mask(out[i])
	}
	if slices.ContainsFunc(out, func(line string) bool { return strings.Contains(line, anyPodText) }) {
		// Another pod's name is another status, which upstream then tries to write.
		out = slices.DeleteFunc(out, func(line string) bool { return strings.Contains(line, " FailedUpdateStatus: ") })
	}
	return out
}

// mask hides what depends on the order of a Go map upstream.
func mask(line string) string {
	return anyOrder.ReplaceAllString(anyPod.ReplaceAllString(line, anyPodText), "[$2 $1]")
}

func statusLines(prefix string, status any) []string {
	raw, err := json.Marshal(status)
	must(err)
	fields := map[string]json.RawMessage{}
	must(json.Unmarshal(raw, &fields))
	var out []string
	for name, value := range fields {
		var items []json.RawMessage
		if json.Unmarshal(value, &items) != nil {
			out = append(out, fmt.Sprintf("%s%s %s", prefix, name, value))
			continue
		}
		for i, item := range items {
			out = append(out, fmt.Sprintf("%s%s[%d] %s", prefix, name, i, item))
		}
	}
	slices.Sort(out)
	return out
}

// diff is the lines in which two results differ; empty if they are equal.
func diff(before, after *Result) string {
	if equality.Semantic.DeepEqual(before, after) {
		return ""
	}
	u, p := lines(before), lines(after)
	if slices.Equal(u, p) {
		return ""
	}
	var out strings.Builder
	for _, line := range u {
		if !slices.Contains(p, line) {
			fmt.Fprintln(&out, "  -", line)
		}
	}
	for _, line := range p {
		if !slices.Contains(u, line) {
			fmt.Fprintln(&out, "  +", line)
		}
	}
	if out.Len() == 0 {
		fmt.Fprintf(&out, "  order: %q\n     and %q\n", u, p)
	}
	return out.String()
}
