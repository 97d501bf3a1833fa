package explainer

import (
	"os"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	snapshothorizontal "github.com/plimsoll-dev/plimsoll/internal/snapshot/horizontal"
)

// TestOwnSyncPeriod: the projection uses the object's own period, or else the flag's.
func TestOwnSyncPeriod(t *testing.T) {
	for name, tt := range map[string]struct {
		own  *int32
		want time.Duration
	}{
		"its own":    {ptr.To[int32](60), time.Minute},
		"the flag's": {nil, 15 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			file, err := os.Open("../horizontal/testdata/wla-schedule.yaml")
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			step, err := snapshothorizontal.NewReader(file).Next()
			if err != nil {
				t.Fatal(err)
			}
			step.Workload.Spec.SyncPeriodSeconds = tt.own
			e, err := Options{Period: 15 * time.Second}.SavedHorizontal(step)
			if err != nil {
				t.Fatal(err)
			}
			if e.Period != tt.want {
				t.Errorf("period %s, want %s", e.Period, tt.want)
			}
		})
	}
}
