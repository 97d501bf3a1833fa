package podendpoint

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
)

// TestAdviceNamesFields: a field and its value that an error advises or names are those of a WorkloadAutoscaler.
func TestAdviceNamesFields(t *testing.T) {
	advice := regexp.MustCompile(`([a-z]\w*): ([A-Z]\w*)`)
	for _, c := range []struct {
		err  error
		want plimsollv1alpha1.PodEndpointMetricSource
	}{
		{errAbsent, plimsollv1alpha1.PodEndpointMetricSource{NullValues: plimsollv1alpha1.NullValuesZero}},
		{errRestarts, plimsollv1alpha1.PodEndpointMetricSource{ValueType: plimsollv1alpha1.RateValueType}},
	} {
		found := advice.FindStringSubmatch(c.err.Error())
		if found == nil {
			t.Errorf("%q names no field", c.err)
			continue
		}
		decoder := json.NewDecoder(strings.NewReader(fmt.Sprintf(`{%q:%q}`, found[1], found[2])))
		decoder.DisallowUnknownFields()
		var source plimsollv1alpha1.PodEndpointMetricSource
		if failure := decoder.Decode(&source); failure != nil {
			t.Errorf("%q: %v", c.err, failure)
		}
		if source.NullValues != c.want.NullValues || source.ValueType != c.want.ValueType {
			t.Errorf("%q sets %s to %s", c.err, found[1], found[2])
		}
	}
}
