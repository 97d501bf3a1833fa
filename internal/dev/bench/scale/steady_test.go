package scale

import (
	"testing"
	"time"
)

// The start is over for all objects when it is over for the last of them.
func TestAllDecided(t *testing.T) {
	began := time.Unix(1000, 0)
	j := newJournal(2, began)
	j.note(0, decision{at: began.Add(3 * time.Second)})
	if at, all := j.allDecided(); all {
		t.Errorf("all decided at %v", at)
	}
	j.note(1, decision{at: began.Add(9 * time.Second)})
	j.note(1, decision{at: began.Add(7 * time.Second)}) // recorded late
	j.note(0, decision{at: began.Add(20 * time.Second)})
	if at, all := j.allDecided(); !all || !at.Equal(began.Add(7*time.Second)) {
		t.Errorf("all decided: %v, at %v", all, at)
	}
}

// At rest Plimsoll writes each status once a minute, upstream four times.
func TestMostAtRest(t *testing.T) {
	for kind, perMinute := range map[Kind]float64{Plimsoll: 1, Upstream: 4} {
		if got, want := mostAtRest(kind, 600), 600*perMinute/60; got < want || got > 1.5*want {
			t.Errorf("%s: %v a second, of which %v are its own rhythm", kind, got, want)
		}
	}
	if few := mostAtRest(Plimsoll, 60); few != pacedAtRest {
		t.Errorf("%v a second of 60 objects, whose numbers are first written at a pace of %v", few, pacedAtRest)
	}
}
