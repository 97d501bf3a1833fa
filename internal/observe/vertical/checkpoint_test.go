package vertical

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
)

// A checkpoint of another version is refused. An annotation of another form costs only its own content.
func TestCheckpointOfAnotherVersion(t *testing.T) {
	checkpoint := func(version, annotation string) *vpav1.VerticalPodAutoscalerCheckpoint {
		c := &vpav1.VerticalPodAutoscalerCheckpoint{}
		c.Status.Version, c.Status.TotalSamplesCount = version, 7
		c.Status.FirstSampleStart = metav1.NewTime(time.Unix(1000, 0))
		c.Status.CPUHistogram.TotalWeight = 3
		if annotation != "" {
			c.Annotations = map[string]string{AnnotationOpen: annotation}
		}
		return c
	}
	for _, version := range []string{"", "v2", "v4"} {
		if _, _, err := CheckpointOf(checkpoint(version, "")); err == nil || !strings.Contains(err.Error(), "instead of v3") {
			t.Errorf("version %q: error %v", version, err)
		}
	}
	cases := map[string]struct {
		annotation       string
		isWhole, hasOpen bool
	}{
		"upstream's":        {"", true, false},
		"this version's":    {`{"version":1,"samples":7}`, true, true},
		"with a new field":  {`{"version":1,"samples":7,"later":{"a":[1]}}`, true, true},
		"another type":      {`{"version":"2","samples":7}`, false, false},
		"not JSON any more": {"AAEC", false, false},
	}
	for name, tc := range cases {
		saved, isWhole, err := CheckpointOf(checkpoint("v3", tc.annotation))
		if err != nil || isWhole != tc.isWhole || (saved.Open != nil) != tc.hasOpen {
			t.Errorf("%s: whole %t, open %t, error %v", name, isWhole, saved.Open != nil, err)
		}
		if saved.Samples != 7 || saved.Use[vertical.CPU].Total != 3 || saved.First.Unix() != 1000 {
			t.Errorf("%s: the histograms are lost: %+v", name, saved)
		}
	}
}
