package explainer

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/plimsoll-dev/plimsoll/internal/explain/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/explain/leader"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// TestLocalTimes: the controller's times are in UTC. The sentence has them as the clock of whoever reads it shows them.
func TestLocalTimes(t *testing.T) {
	before := time.Local
	t.Cleanup(func() { time.Local = before })
	time.Local = time.FixedZone("CET", int(time.Hour.Seconds()))

	stream, err := os.ReadFile("../horizontal/testdata/stabilization.yaml")
	if err != nil {
		t.Fatal(err)
	}
	// The first step alone: without a word about the history, as a controller answers that has just started.
	step := bytes.Split(stream, []byte("\n---\n"))[1]
	api := map[string]any{autoscalerPath: storedAutoscaler}
	controller := map[string]any{"/horizontalpodautoscalers/shop/web/snapshot": step}
	reader, err := NewClusterReader(&rest.Config{Host: answers(t, api)}, leader.Finder{Address: answers(t, controller)},
		Options{Controller: Auto, Period: 15 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	e, err := reader.Horizontal(t.Context(), observe.HPA("shop", "web"))
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := e.WriteText(&text, horizontal.Style{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Held at 10 until 13:01:00, then 15:", "at 2026-11-20T13:00:00+01:00"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is missing in\n%s", want, text.String())
		}
	}
}
