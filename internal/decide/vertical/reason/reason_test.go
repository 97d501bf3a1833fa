package reason

import "testing"

// A status cannot distinguish two reasons with the same name, or without one.
func TestEachHasAName(t *testing.T) {
	seen := map[string]Reason{}
	for _, r := range All() {
		name := r.String()
		if other, ok := seen[name]; ok || name == "" {
			t.Errorf("reason %d is called %q, as is %d", r, name, other)
		}
		seen[name] = r
	}
	if None.String() != "" {
		t.Errorf("no reason is called %q", None)
	}
}
