package oracle

import (
	"fmt"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
)

// attribution asks which divergences make a timeline different.
type attribution struct {
	t     *testing.T
	line  *Timeline
	plays map[divergence.Set][]Result
}

// with is what Plimsoll does with these divergences.
func (a *attribution) with(set divergence.Set) []Result {
	results, known := a.plays[set]
	if !known {
		results = a.line.play(a.t, set)
		a.plays[set] = results
	}
	return results
}

// Attribute compares Plimsoll with every divergence on with upstream, and finds
// for each divergence where its removal changes a step. Where no single one does,
// it searches the least set that does. It returns the step of an unexplained
// difference, or -1.
func (l *Timeline) Attribute(t *testing.T, tally *Tally) int {
	t.Helper()
	a := &attribution{t: t, line: l, plays: map[divergence.Set][]Result{}}
	with, so := a.with(divergence.Default), seen{}
	for i := range l.Situations {
		so.look(l.Situations[i])
		tally.Attributed++
		differs := diff(&l.Upstream[i], &with[i]) != ""
		if !differs {
			tally.Same++
		}
		about, problem := a.single(i, so)
		if differs && about == divergence.None {
			about = a.joint(i)
			tally.Jointly[about]++
			problem = so.unlike(about)
		}
		for _, d := range divergence.All() {
			if about.Has(d) {
				tally.Divergences[d]++
			}
		}
		if problem != "" {
			tally.unexplained(l, i, problem)
			return i
		}
	}
	return -1
}

// single is the set of those divergences each of which changes the step when it
// alone is removed.
func (a *attribution) single(i int, so seen) (about divergence.Set, problem string) {
	with := &a.with(divergence.Default)[i]
	for _, d := range divergence.All() {
		without := &a.with(divergence.Default &^ d)[i]
		change := diff(without, with)
		if change == "" {
			continue
		}
		about |= d
		if !so.permits(d, with, without) {
			problem = fmt.Sprintf("%s changes what it is not about (- without it, + with it):\n%s", d, change)
		}
	}
	return about, problem
}

// joint is a least set whose removal makes the step upstream's.
func (a *attribution) joint(i int) divergence.Set {
	set := divergence.Default
	for _, d := range divergence.All() {
		if diff(&a.line.Upstream[i], &a.with(divergence.Default &^ (set &^ d))[i]) == "" {
			set &^= d
		}
	}
	return set
}

// unlike says if one of the divergences is not about what was seen.
func (s seen) unlike(set divergence.Set) string {
	for _, d := range divergence.All() {
		if set.Has(d) && !s[d] {
			return fmt.Sprintf("%s together change the step, but nothing was seen that %s is about\n", set, d)
		}
	}
	return ""
}
