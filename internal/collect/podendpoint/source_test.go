package podendpoint

import (
	"errors"
	"testing"
	"time"
)

// Every pod is scraped each second, at about the same time, over one connection.
func TestRates(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := begin(t, Config{})
		f.page["pod-0"], f.page["pod-1"] = f.requests(10), f.requests(30)
		q := rateQuery(pods(0, 2))
		if _, err := f.run(q, 0); !errors.Is(err, ErrStarting) {
			t.Errorf("at first: %v", err)
		}
		if got, err := f.run(q, 3*time.Second); got != "10000 30000" || err != nil {
			t.Errorf("after 3 s: %s, %v", got, err)
		}
		if got, err := f.run(q, 17*time.Second); got != "10000 30000" || err != nil {
			t.Errorf("after 20 s: %s, %v", got, err)
		}
		for _, pod := range []string{"pod-0", "pod-1"} {
			if n := len(f.asked[pod]); f.dialed[pod] != 1 || n < 20 || n > 22 {
				t.Errorf("%s was dialed %d times and asked %d times", pod, f.dialed[pod], n)
			}
		}
		last := len(f.asked["pod-0"]) - 1
		if apart := f.asked["pod-0"][last].Sub(f.asked["pod-1"][last]).Abs(); apart > spread {
			t.Errorf("the pods are scraped %s apart", apart)
		}
		if told := f.sampled[len(f.sampled)-1]; told.Reporting != 2 || told.Key != q.Key || told.Namespace != "team-a" ||
			told.At.Sub(told.Before) != time.Second {
			t.Errorf("%+v", told)
		}
	})
}
