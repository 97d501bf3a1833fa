package horizontal

import (
	"context"
	"strings"
	"testing"
	"time"
)

// A quantity that takes hours to read is an error that names the item and the field.
func TestQuantityThatTakesHours(t *testing.T) {
	for _, cpu := range []string{`"1e-999999999"`, `"1e999999999"`, `"` + strings.Repeat("9", 1<<20) + `"`} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		text := `{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"shop","name":"web-0"},
			"spec":{"containers":[{"name":"app","resources":{"requests":{"cpu":` + cpu + `}}}]}}]}`
		failed := make(chan error, 1)
		go func() {
			_, err := NewReader(strings.NewReader(text)).Next()
			failed <- err
		}()
		select {
		case err := <-failed:
			if err == nil ||
				!strings.Contains(err.Error(), "item 1 (Pod shop/web-0): spec.containers[0].resources.requests[cpu]: quantity") {
				t.Errorf("%.20s: %v", cpu, err)
			}
		case <-ctx.Done():
			t.Fatalf("%.20s: not read within 20 s", cpu)
		}
		cancel()
	}
}
