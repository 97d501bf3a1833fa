package reason

import "testing"

// Two reasons with one name, or one without, would look alike in a status.
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
