package observe

import "testing"

// TestGroupKey: Kubernetes' own workloads are of one group, whatever group a reference has; those of others are not.
func TestGroupKey(t *testing.T) {
	for version, want := range map[string]string{
		"": "", "v1": "", "apps/v1": "", "apps/v1beta2": "", "extensions/v1beta1": "", "batch/v1": "",
		"apps.example.com/v1": "apps.example.com", "apps.example.com/v2": "apps.example.com", "a/b/c": "a/b/c",
	} {
		if got := GroupKey(version); got != want {
			t.Errorf("%q: %q, want %q", version, got, want)
		}
	}
}
