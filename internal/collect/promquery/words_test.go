package promquery

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
)

// TestAdviceNamesFields: a field and its value that an error advises are those of a WorkloadAutoscaler.
func TestAdviceNamesFields(t *testing.T) {
	advice := regexp.MustCompile(`([a-z]\w*): ([A-Z]\w*)`)
	for _, err := range []error{errEmpty, errNotNumber} {
		found := advice.FindStringSubmatch(err.Error())
		if found == nil {
			t.Errorf("%q advises nothing", err)
			continue
		}
		decoder := json.NewDecoder(strings.NewReader(fmt.Sprintf(`{%q:%q}`, found[1], found[2])))
		decoder.DisallowUnknownFields()
		var source plimsollv1alpha1.PrometheusMetricSource
		if failure := decoder.Decode(&source); failure != nil {
			t.Errorf("%q: %v", err, failure)
		}
		if source.NullValues != plimsollv1alpha1.NullValuesZero {
			t.Errorf("%q sets nullValues to %q", err, source.NullValues)
		}
	}
}
