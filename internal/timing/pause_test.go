package timing

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestPause(t *testing.T) {
	end := errors.New("over")
	for name, c := range map[string]struct {
		d, endsAfter, want time.Duration
		err                error
	}{
		"the whole time":          {time.Minute, time.Hour, time.Minute, nil},
		"the context ends":        {time.Minute, time.Second, time.Second, end},
		"the context has ended":   {time.Minute, -1, 0, end},
		"no time":                 {0, time.Hour, 0, nil},
		"a time that is past":     {-time.Second, time.Hour, 0, nil},
		"no time in an ended one": {0, -1, 0, end},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				if c.endsAfter < 0 {
					cancel(end)
				} else {
					defer time.AfterFunc(c.endsAfter, func() { cancel(end) }).Stop()
				}
				began := time.Now()
				if err := Pause(ctx, c.d); !errors.Is(err, c.err) {
					t.Errorf("%v, want %v", err, c.err)
				}
				if took := time.Since(began); took != c.want {
					t.Errorf("it took %s, want %s", took, c.want)
				}
			})
		})
	}
}
