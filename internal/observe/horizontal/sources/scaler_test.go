package sources_test

import (
	"testing"
	"time"

	"k8s.io/utils/ptr"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
)

// The request's text is what plimsoll-scalers makes of the object (scalers/internal/job), or it refuses the request.
func TestScalerOf(t *testing.T) {
	m := &plimsollv1alpha1.ScalerMetricSource{
		Type: "redis", Metadata: map[string]string{"listName": "a<b", "address": "redis:6379"},
		AuthenticationRef: &plimsollv1alpha1.TriggerAuthenticationReference{Name: "auth", Kind: "TriggerAuthentication"},
	}
	e, err := sources.ScalerOf("queue", m)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"type":"redis","metadata":{"address":"redis:6379","listName":"a\u003cb"},` +
		`"authenticationRef":{"name":"auth","kind":"TriggerAuthentication"}}`
	if got := e.Metadata.Map(); len(got) != 2 || got["metric"] != "queue" || got["scaler"] != want {
		t.Errorf("got %q", got)
	}
	if e.Interval != 30*time.Second || e.Timeout != 10*time.Second || !e.FromPlimsollScalers || e.Address != "" ||
		e.IsPushed {
		t.Errorf("got %+v", e)
	}
	m.IntervalSeconds, m.TimeoutSeconds = ptr.To[int32](1), ptr.To[int32](2)
	if e, err = sources.ScalerOf("queue", m); err != nil || e.Interval != time.Second || e.Timeout != 2*time.Second {
		t.Errorf("got %+v, %v", e, err)
	}
}

func TestScalerOfRefuses(t *testing.T) {
	m := &plimsollv1alpha1.ScalerMetricSource{Type: "redis"}
	for want, change := range map[string]func(*plimsollv1alpha1.ScalerMetricSource){
		"type: missing": func(m *plimsollv1alpha1.ScalerMetricSource) { m.Type = "" },
		"intervalSeconds: 301: out of range: 1 to 300": func(m *plimsollv1alpha1.ScalerMetricSource) { m.IntervalSeconds = ptr.To[int32](301) },
		"timeoutSeconds: 31: out of range: 1 to 30":    func(m *plimsollv1alpha1.ScalerMetricSource) { m.TimeoutSeconds = ptr.To[int32](31) },
	} {
		wrong := m.DeepCopy()
		change(wrong)
		if _, err := sources.ScalerOf("queue", wrong); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
