package viewers

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/explain/loadreport"
	"github.com/plimsoll-dev/plimsoll/internal/output"
	"github.com/plimsoll-dev/plimsoll/internal/ui/server"
	"github.com/plimsoll-dev/plimsoll/internal/ui/view"
	"github.com/plimsoll-dev/plimsoll/internal/ui/web"
)

// source has one autoscaler, with or without a history.
type source struct {
	asked atomic.Int64
	lacks atomic.Bool
}

func (s *source) Overview(int64) *view.Overview { return &view.Overview{} }

func (s *source) Object(_ context.Context, _, _, name string, _ time.Duration) (*view.Object, error) {
	s.asked.Add(1)
	if name != "web" {
		return nil, server.ErrNotFound
	}
	o := &view.Object{Lines: []output.Line{{Text: "2 desired replicas"}}}
	if !s.lacks.Load() {
		o.History = &loadreport.Output{Points: make([]loadreport.OutputPoint, 1)}
	}
	return o, nil
}

func (s *source) WhatIf(context.Context, *view.WhatIfRequest) (*view.WhatIf, error) {
	return nil, errors.New("not asked")
}

// TestViewers polls the server of plimsoll ui itself: with its token, for each object again and again, and detects
// errors.
func TestViewers(t *testing.T) {
	s := &source{}
	page, err := server.New(0, s, web.Handler())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- page.Serve(ctx) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	if _, err := open(t.Context(), page.Address()+"x", nil); err == nil {
		t.Error("pages open with another token")
	}
	found, gone := Object{"HorizontalPodAutoscaler", "shop", "web"}, Object{"HorizontalPodAutoscaler", "shop", "gone"}
	v, err := open(t.Context(), page.Address(), []Object{found, found, gone})
	if err != nil {
		t.Fatal(err)
	}
	await(t, v, func(s Seen) bool { return s.Answers >= 4 && s.Failures >= 1 })
	seen := v.seen()
	if seen.Lacking > 0 || seen.Bytes == 0 || len(seen.Took) != seen.Answers || !strings.Contains(seen.Why, "404") {
		t.Errorf("seen is %+v", seen)
	}
	s.lacks.Store(true)
	await(t, v, func(s Seen) bool { return s.Lacking >= 2 })
	v.Close(t.Context())
	if asked := s.asked.Load(); asked < 5 || s.asked.Load() != asked {
		t.Errorf("%d times asked, and %d after the end", asked, s.asked.Load())
	}
}

func await(t *testing.T, v *Viewers, is func(Seen) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for !is(v.seen()) {
		select {
		case <-ctx.Done():
			t.Fatalf("seen is %+v", v.seen())
		case <-ticker.C:
		}
	}
}
