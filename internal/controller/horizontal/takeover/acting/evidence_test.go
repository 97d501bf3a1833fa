package acting

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// hasEvidenceByWalk iterates over the namespaces.
func (c *Cluster) hasEvidenceByWalk(namespace string, now time.Time, ago time.Duration, enough int) bool {
	contested, others := c.contested.in(namespace), 0
	for name, e := range c.evidence.byNamespace {
		if !e.since.After(contested) || now.Sub(e.since) < ago {
			continue
		}
		if others++; name == namespace || others >= enough {
			return true
		}
	}
	return false
}

// TestEvidenceAsByWalk: after any changes in a few namespaces, the evidence equals that of an iteration over all
// namespaces.
func TestEvidenceAsByWalk(t *testing.T) {
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		c, now := Cluster{Own: FieldManager, Delay: delay}, start
		c.Start(now)
		objects := make([]Object, 8)
		namespace := func(i int) string { return string(rune('a' + i%4)) }
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now = now.Add(rapid.SampledFrom([]time.Duration{0, time.Second, delay / 2, delay}).Draw(t, "later"))
			i := rapid.IntRange(0, len(objects)-1).Draw(t, "object")
			o := &objects[i]
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				w := Writes{Own: rapid.SampledFrom([]time.Time{{}, start.Add(-time.Hour)}).Draw(t, "own")}
				c.Add(o, Scope{Namespace: namespace(i), Rule: Evidence}, &w, now)
			case 1:
				if o.Namespace != "" && !o.isActing {
					c.act(o, now)
				}
			case 2:
				if o.Namespace != "" {
					c.Update(o, &Writes{Other: Write{By: kcm, At: now}}, now)
				}
			case 3:
				c.Remove(o)
			}
			for i := range 5 {
				for _, ago := range []time.Duration{0, delay} {
					for enough := 2; enough <= 3; enough++ {
						got := c.hasEvidence(namespace(i), now, ago, enough)
						if want := c.hasEvidenceByWalk(namespace(i), now, ago, enough); got != want {
							t.Fatalf("%s ago %s, %d enough: %t, want %t", namespace(i), ago, enough, got, want)
						}
						if got {
							found++
						}
					}
				}
			}
		}
	})
	if found == 0 {
		t.Error("there was no evidence")
	}
}

// TestTwoNamespacesOfMany: a user who forges Plimsoll's name in the managedFields of two namespaces of eleven does not
// make a starting program act elsewhere. Three of eleven do, and two of ten.
func TestTwoNamespacesOfMany(t *testing.T) {
	for name, c := range map[string]struct {
		own, all int
		want     State
	}{
		"two of eleven":   {2, 11, Undecided},
		"two of ten":      {2, 10, Acting},
		"three of eleven": {3, 11, Acting},
		"one of one":      {1, 1, Acting},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(FieldManager)
			for i := range c.all {
				if i < c.own {
					add(fmt.Sprintf("team-%d/web", i), Evidence, kcm, FieldManager)(s)
				} else {
					add(fmt.Sprintf("team-%d/web", i), Evidence, kcm)(s)
				}
			}
			last := s.objects[fmt.Sprintf("team-%d/web", c.all-1)]
			s.now = start.Add(31 * time.Second)
			for range 60 {
				s.now = s.now.Add(time.Minute)
				s.cluster.Compared(last, false, s.now)
			}
			if got, _ := s.cluster.StateAt(last, s.now); got != c.want {
				t.Errorf("the last HPA is %s, want %s", got, c.want)
			}
			for _, o := range s.objects {
				s.cluster.Remove(o)
				s.cluster.Remove(o)
			}
			if len(s.cluster.objects) != 0 {
				t.Errorf("objects that are gone are counted: %v", s.cluster.objects)
			}
		})
	}
}

// BenchmarkUndecided has an undecided HPA that another controller writes, beside HPAs in many namespaces that this
// controller acts on.
func BenchmarkUndecided(b *testing.B) {
	for _, namespaces := range []int{10, 10_000} {
		b.Run(fmt.Sprint(namespaces), func(b *testing.B) {
			c, now := Cluster{Own: FieldManager, Delay: delay}, start
			c.Start(now)
			objects := make([]Object, namespaces)
			for i := range objects {
				objects[i].Scope = Scope{Namespace: fmt.Sprint("team-", i), Rule: Evidence}
				c.act(&objects[i], now)
			}
			for i := range 2 {
				o := Object{Scope: Scope{Namespace: fmt.Sprint("other-", i), Rule: Evidence}}
				c.Update(&o, &Writes{Other: Write{By: kcm, At: now}}, now.Add(time.Second))
			}
			for b.Loop() {
				c.isAlone("undecided", now.Add(time.Hour))
			}
		})
	}
}
