package backfill

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/plimsoll-dev/plimsoll/internal/collect/prometheushistory"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/calls"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/checkpoints"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast/replay"
	"github.com/plimsoll-dev/plimsoll/internal/loadhistory"
	"github.com/plimsoll-dev/plimsoll/internal/timing"
)

const (
	// maxPerMinute bounds the loads read in a minute. Each takes three queries for each day.
	maxPerMinute = 30
	// longestPause is the longest time between two attempts while the server does not respond.
	longestPause = 10 * time.Minute
	// worthFor is the time for which reads are retried: after it the forecast has learnt enough by itself.
	worthFor = forecast.Needed
)

// Start reads until ctx ends; wait blocks until the last read has ended.
func (f *Filler) Start(ctx context.Context) (wait func()) {
	var running sync.WaitGroup
	running.Go(func() { f.run(ctx) })
	return running.Wait
}

func (f *Filler) run(ctx context.Context) {
	limiter := rate.NewLimiter(rate.Every(time.Minute/maxPerMinute), 1)
	var backoff calls.Backoff
	for limiter.Wait(ctx) == nil {
		j := f.await(ctx)
		if j == nil {
			return
		}
		data, err := f.read(ctx, j)
		if ctx.Err() != nil {
			return
		}
		result := resultOf(err)
		isOver := result != resultFailed
		if !isOver && time.Since(j.asked) > worthFor {
			isOver, result = true, resultGivenUp
		}
		f.report(j, result, err)
		f.settle(j, data, isOver)
		if result == resultFilled || result == resultUnknown {
			backoff.Note(nil, longestPause)
			continue
		}
		// All loads come from one server: while it does not respond, no job is read.
		backoff.Note(err, longestPause)
		if timing.Pause(ctx, time.Until(backoff.Until())) != nil {
			return
		}
	}
}

// await returns the next job once there is one; nil when ctx ends.
func (f *Filler) await(ctx context.Context) *job {
	for {
		if j := f.pop(); j != nil {
			return j
		}
		select {
		case <-f.wake:
		case <-ctx.Done():
			return nil
		}
	}
}

func (f *Filler) pop() *job {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.queue) > 0 {
		j := f.queue[0]
		f.queue[0] = nil
		if f.queue = f.queue[1:]; !j.isGone {
			return j
		}
	}
	f.queue = nil
	return nil
}

// read reads the load of a job and learns from it.
func (f *Filler) read(ctx context.Context, j *job) (checkpoints.Data, error) {
	q := j.query
	q.To = time.Now()
	q.From = q.To.Add(-f.config.Length)
	s, err := f.config.Source.Load(ctx, q)
	if err != nil {
		return checkpoints.Data{}, err
	}
	return j.learn(&s)
}

// learn converts a load to the data that a checkpoint would have.
func (j *job) learn(s *prometheushistory.Series) (data checkpoints.Data, err error) {
	first, last := known(s.Pods)
	if first >= last {
		return data, prometheushistory.ErrNoLoad
	}
	past := loadhistory.History{}
	for i := first; i < last; i++ {
		p := loadhistory.Point{Load: s.Pods[i], Limit: loadhistory.NotRecorded}
		if !isLoad(p.Load) {
			p.Load = math.NaN()
		}
		if i < len(s.PerPodMilli) {
			p.PerPodMilli = float32(s.PerPodMilli[i])
		}
		past.AddMinute(s.Start.Add(time.Duration(i)*time.Minute), p)
	}
	if data.History, err = past.AppendBinary(nil); err != nil {
		return data, fmt.Errorf("encoding the history: %w", err)
	}
	if j.replay.Settings.Mode == forecast.Off {
		return data, nil
	}
	played := replay.Play(&replay.Load{Start: s.Start, Pods: s.Pods, PerPodMilli: s.PerPodMilli, Full: j.full}, &j.replay)
	if data.Forecast, err = played.State.AppendBinary(nil); err != nil {
		return data, fmt.Errorf("encoding the forecast: %w", err)
	}
	return data, nil
}

// isLoad reports whether a load is possible: replica counts have 31 bits.
func isLoad(pods float64) bool { return pods >= 0 && pods <= math.MaxInt32 }

// known returns the index of the first known load, and the end of the last one.
func known(loads []float64) (first, end int) {
	first = len(loads)
	for i, pods := range loads {
		if isLoad(pods) {
			first, end = min(first, i), i+1
		}
	}
	return first, end
}

// resultOf returns the label of a read. Every result except resultFailed is final.
func resultOf(err error) string {
	switch {
	case err == nil:
		return resultFilled
	case errors.Is(err, prometheushistory.ErrNoLoad), errors.Is(err, prometheushistory.ErrNoRequest):
		return resultUnknown
	}
	return resultFailed
}
