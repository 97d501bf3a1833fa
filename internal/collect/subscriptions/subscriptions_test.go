package subscriptions

import (
	"fmt"
	"slices"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
)

// TestSet: metrics that an object no longer has end at once, after the new ones have begun; the others keep running.
func TestSet(t *testing.T) {
	var calls []string
	table := New(Config[sources.Prometheus, string]{
		Of: func(s *sources.Spec) *sources.Prometheus { return s.Prometheus },
		Begin: func(key observe.Key, spec *sources.Prometheus) string {
			name := key.Name + "/" + spec.Query
			calls = append(calls, "begin "+name)
			return name
		},
		End: func(name string) { calls = append(calls, "end "+name) },
	})
	query := func(text string) sources.Spec { return sources.Spec{Prometheus: &sources.Prometheus{Query: text}} }
	none, other := sources.Spec{}, sources.Spec{PodEndpoint: &sources.PodEndpoint{}}
	for i, step := range []struct {
		object string
		specs  []sources.Spec
		want   string
	}{
		{"a", []sources.Spec{none, other}, "[]"},
		{"a", []sources.Spec{query("1"), other, query("2"), query("1")}, "[begin a/1 begin a/2]"},
		{"b", []sources.Spec{query("1")}, "[begin b/1]"},
		{"a", []sources.Spec{query("2"), query("1")}, "[]"},
		{"a", []sources.Spec{query("2"), query("3")}, "[begin a/3 end a/1]"},
		{"b", nil, "[end b/1]"},
		{"b", nil, "[]"},
		{"a", []sources.Spec{other}, "[end a/2 end a/3]"},
	} {
		calls = nil
		table.Set(observe.WLA("shop", step.object), step.specs)
		if step.want == "[end a/2 end a/3]" {
			slices.Sort(calls)
		}
		if got := fmt.Sprint(calls); got != step.want {
			t.Errorf("step %d: %s, want %s", i, got, step.want)
		}
		for _, spec := range step.specs {
			if spec.Prometheus == nil {
				continue
			}
			got, ok := table.Get(observe.WLA("shop", step.object), spec.Prometheus)
			if want := step.object + "/" + spec.Prometheus.Query; !ok || got != want {
				t.Errorf("step %d: %q, want %q", i, got, want)
			}
		}
	}
	if _, ok := table.Get(observe.WLA("shop", "a"), &sources.Prometheus{Query: "2"}); ok || len(table.objects) > 0 {
		t.Errorf("%d objects are left", len(table.objects))
	}
}

// TestAll: the metrics of all objects, until the loop ends.
func TestAll(t *testing.T) {
	table := New(Config[sources.Prometheus, string]{
		Of:    func(s *sources.Spec) *sources.Prometheus { return s.Prometheus },
		Begin: func(key observe.Key, _ *sources.Prometheus) string { return key.Name },
		End:   func(string) {},
	})
	for _, name := range []string{"a", "b", "c"} {
		table.Set(observe.WLA("shop", name), []sources.Spec{{Prometheus: &sources.Prometheus{}}})
	}
	for range table.All() {
		break
	}
	table.Set(observe.WLA("shop", "b"), nil)
	if got := slices.Sorted(table.All()); !slices.Equal(got, []string{"a", "c"}) {
		t.Errorf("%q", got)
	}
}

// TestSetAll: SetAll needs no Of.
func TestSetAll(t *testing.T) {
	var calls []string
	table := New(Config[string, string]{
		Begin: func(_ observe.Key, name *string) string {
			calls = append(calls, "begin "+*name)
			return *name
		},
		End: func(name string) { calls = append(calls, "end "+name) },
	})
	key := observe.HPA("shop", "web")
	for _, names := range [][]string{{"a", "b"}, {"b", "c"}, {"c"}, nil} {
		table.SetAll(key, names)
	}
	want := []string{"begin a", "begin b", "begin c", "end a", "end b", "end c"}
	if !slices.Equal(calls, want) || len(table.objects) > 0 {
		t.Errorf("%q, want %q", calls, want)
	}
}
