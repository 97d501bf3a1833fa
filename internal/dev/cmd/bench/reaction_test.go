package main

import (
	"slices"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/reaction"
)

// TestChosenForALoad: a load that has a metric of its own is not scaled by requests, and simulated nodes have the
// article's alone.
func TestChosenForALoad(t *testing.T) {
	isOnRequests := func(s reaction.Subject) bool { return s.OnRequests }
	for _, load := range reaction.Loads {
		o := &reactionOptions{load: load}
		chosen, err := o.chosen()
		if err != nil || len(chosen) == 0 || slices.ContainsFunc(chosen, isOnRequests) == load.HasMetric() {
			t.Errorf("%s: %+v, %v", load, chosen, err)
		}
		for _, s := range chosen {
			if s.Load != load {
				t.Errorf("%s: %s has the load %s", load, s.Name, s.Load)
			}
		}
		o.subjects = []string{plimsollRequests}
		if _, err := o.chosen(); (err != nil) != load.HasMetric() {
			t.Errorf("%s by requests: %v", load, err)
		}
		o.subjects, o.simulated = []string{plimsoll}, true
		if _, err := o.chosen(); (err != nil) != (load != reaction.Article) {
			t.Errorf("%s on simulated nodes: %v", load, err)
		}
	}
}
