package status

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	kubestatus "github.com/plimsoll-dev/plimsoll/internal/kube/status"
)

// TestTurns: however parts alternate, writes of recent values are an interval apart, and new values are written at
// once.
func TestTurns(t *testing.T) {
	const interval = time.Minute
	rapid.Check(t, func(t *rapid.T) {
		var kept turns
		now := time.Unix(1000, 0)
		shown, wasShown := map[string]string{"a": "0", "b": "0"}, map[kubestatus.Part]time.Time{}
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(1, 40).Draw(t, "seconds")) * time.Second)
			var was, is []kubestatus.Part
			isNew := false
			for _, name := range []string{"a", "b"} {
				value := rapid.SampledFrom([]string{"0", "1"}).Draw(t, name)
				wasShown[kubestatus.Part{Name: name, Value: shown[name]}] = now
				if value == shown[name] {
					continue
				}
				part := kubestatus.Part{Name: name, Value: value}
				was, is = append(was, kubestatus.Part{Name: name, Value: shown[name]}), append(is, part)
				at, isSeen := wasShown[part]
				isNew = isNew || !isSeen || now.Sub(at) >= interval
			}
			if len(is) == 0 {
				continue
			}
			before := kept.back
			turn := kept.classify(now, was, is, interval)
			switch {
			case turn == isNews && !isNew:
				t.Fatal("what was lately shown is news")
			case turn == isBack && now.Sub(before) < interval:
				t.Fatalf("written %s after the one before", now.Sub(before))
			case turn == isFlap:
				for _, part := range is {
					wasShown[part] = now
				}
				continue
			case turn == isBack:
				kept.back = now
			}
			for _, part := range is {
				shown[part.Name] = part.Value
			}
		}
	})
}
