package acting

import (
	"strconv"
	"strings"
	"testing"
	"time"
)

const (
	delay = 2 * time.Minute
	kcm   = "kube-controller-manager"
)

// start is when the program begins to watch, in all tests.
var start = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// step is something that happens to one object, and the state after that.
type step struct {
	// at is the time since the start.
	at time.Duration
	// do plays an event; nil if only time passes.
	do   func(*stage)
	want State
}

// stage is a cluster with named objects.
type stage struct {
	cluster Cluster
	objects map[string]*Object
	writes  map[string]*Writes
	now     time.Time
	change  Change
	began   bool
}

func newStage(own string) *stage {
	s := &stage{
		cluster: Cluster{Own: own, Delay: delay}, objects: map[string]*Object{}, writes: map[string]*Writes{}, now: start,
	}
	s.cluster.Start(start)
	return s
}

// add adds an object, or another one of its name, whose status these have written, the first one first.
func add(name string, rule Rule, writers ...string) func(*stage) {
	return func(s *stage) {
		if s.objects[name] == nil {
			s.objects[name] = &Object{}
		}
		s.writes[name] = &Writes{}
		for i, by := range writers {
			s.wrote(name, by, s.now.Add(time.Duration(i-len(writers))*time.Second))
		}
		s.cluster.Add(s.objects[name], Scope{Namespace: namespaceOf(name), Rule: rule}, s.writes[name], s.now)
	}
}

// wrote adds a write to the object's managedFields.
func (s *stage) wrote(name, by string, at time.Time) {
	w := s.writes[name]
	switch {
	case by == s.cluster.Own:
		w.Own = at
	case isJunior(by, s.cluster.Own):
		w.Junior = Write{By: by, At: at}
	default:
		w.Other = Write{By: by, At: at}
	}
}

// namespaceOf returns the part of a name before a slash.
func namespaceOf(name string) string {
	namespace, _, hasOne := strings.Cut(name, "/")
	if !hasOne {
		return ""
	}
	return namespace
}

// write returns a write of an object's status.
func write(name, by string) func(*stage) {
	return func(s *stage) {
		s.writes[name] = &Writes{}
		s.wrote(name, by, s.now)
		s.change = s.cluster.Update(s.objects[name], s.writes[name], s.now)
	}
}

// compare returns a comparison of an object's status with what would be written.
func compare(name string, differs bool) func(*stage) {
	return func(s *stage) { s.began = s.cluster.Compared(s.objects[name], differs, s.now) }
}

// settled lets this installation act on an HPA by evidence, while no other controller acts on any.
func settled(s *stage) {
	add("first", Evidence)(s)
	for s.cluster.acting == 0 {
		s.now = s.now.Add(10 * time.Second)
		s.cluster.StateAt(s.objects["first"], s.now)
		compare("first", true)(s)
	}
	s.now = start
}

// rename gives an object the name that the cases check.
func rename(from, to string) func(*stage) {
	return func(s *stage) { s.objects[to], s.writes[to] = s.objects[from], s.writes[from] }
}

const second = time.Second

// TestStates has one object named web in each case, and events of it and of others.
func TestStates(t *testing.T) {
	for name, steps := range map[string][]step{
		"differs for the delay": {
			{do: add("web", Evidence, kcm), want: Left},
			{at: 29 * second, want: Left},
			{at: 30 * second, do: compare("web", true), want: Undecided},
			{at: 149 * second, do: compare("web", true), want: Undecided},
			{at: 150 * second, do: compare("web", true), want: Acting},
			{at: time.Hour, want: Acting},
		},
		"has nothing to be written": {
			{do: add("web", Evidence, kcm), want: Left},
			{at: 30 * second, do: compare("web", false), want: Undecided},
			{at: time.Hour, do: compare("web", false), want: Undecided},
		},
		"a difference that goes counts from the next one": {
			{do: add("web", Evidence, kcm), want: Left},
			{at: 30 * second, do: compare("web", true), want: Undecided},
			{at: 100 * second, do: compare("web", false), want: Undecided},
			{at: 110 * second, do: compare("web", true), want: Undecided},
			{at: 229 * second, do: compare("web", true), want: Undecided},
			{at: 230 * second, do: compare("web", true), want: Acting},
		},
		"a write of the other controller ends the difference": {
			{do: add("web", Evidence, kcm), want: Left},
			{at: 30 * second, do: compare("web", true), want: Undecided},
			{at: 140 * second, do: write("web", kcm), want: Left},
			{at: 150 * second, do: compare("web", true), want: Left},
			{at: 170 * second, do: compare("web", true), want: Undecided},
			{at: 289 * second, do: compare("web", true), want: Undecided},
			{at: 290 * second, do: compare("web", true), want: Acting},
		},
		"the other controller's write of another HPA shows that it acts": {
			{do: add("web", Evidence, kcm), want: Left},
			{do: add("other", Evidence, kcm), want: Left},
			{at: 30 * second, do: compare("web", true), want: Undecided},
			{at: 149 * second, do: write("other", kcm), want: Left},
			{at: 150 * second, do: compare("web", true), want: Left},
			{at: 178 * second, do: write("other", kcm), want: Left},
			{at: 207 * second, want: Left},
			{at: 208 * second, do: compare("web", true), want: Undecided},
			{at: 328 * second, do: compare("web", true), want: Acting},
		},
		"a controller that wrote only another HPA is no hindrance": {
			{do: add("web", Evidence, kcm), want: Left},
			{do: add("other", Evidence, "operator"), want: Left},
			{at: 30 * second, do: compare("web", true), want: Undecided},
			{at: 149 * second, do: write("other", "operator"), want: Undecided},
			{at: 150 * second, do: compare("web", true), want: Acting},
		},
		"it may write an HPA next that none has written": {
			{do: add("web", Evidence), want: Left},
			{do: add("other", Evidence, "operator"), want: Left},
			{at: 30 * second, do: compare("web", true), want: Undecided},
			{at: 149 * second, do: write("other", "operator"), want: Left},
			{at: 150 * second, do: compare("web", true), want: Left},
		},
		"restart: this installation wrote last": {
			{do: add("web", Evidence, kcm, FieldManager), want: Acting},
		},
		"restart: both wrote in the same second": {
			{do: func(s *stage) {
				s.objects["web"] = &Object{}
				s.writes["web"] = &Writes{Own: s.now, Other: Write{By: kcm, At: s.now}}
				s.cluster.Add(s.objects["web"], Scope{Rule: Evidence}, s.writes["web"], s.now)
			}, want: Left},
		},
		"restart: the other controller wrote last": {
			{do: add("web", Evidence, FieldManager, kcm), want: Left},
			{at: 31 * second, want: Undecided},
		},
		"restart: new while this installation wrote last in the cluster": {
			{do: add("other", Evidence, kcm, FieldManager), want: Undecided},
			{at: 10 * second, do: add("web", Evidence), want: Left},
			{at: 30 * second, want: Acting},
		},
		"restart: new while the other controller wrote last in the cluster": {
			{do: add("own", Evidence, FieldManager), want: Undecided},
			{do: func(s *stage) {
				s.now = s.now.Add(time.Second)
				add("other", Evidence, kcm)(s)
			}, want: Undecided},
			{at: 10 * second, do: add("web", Evidence), want: Left},
			{at: 31 * second, want: Undecided},
			{at: 120 * second, want: Acting},
		},
		"new, where this installation is alone": {
			{do: settled, want: Undecided},
			{at: time.Hour, do: add("web", Evidence), want: Acting},
		},
		"written by the other controller long ago, where this installation is alone": {
			{do: settled, want: Undecided},
			{at: 150 * second, do: add("web", Evidence, kcm), want: Undecided},
			{at: 269 * second, do: compare("web", false), want: Undecided},
			{at: 270 * second, want: Acting},
		},
		"new, after another controller wrote one": {
			{do: settled, want: Undecided},
			{at: time.Hour, do: write("first", kcm), want: Undecided},
			{at: time.Hour + second, do: add("web", Evidence), want: Left},
			{at: time.Hour + 31*second, do: compare("web", true), want: Undecided},
			{at: time.Hour + 151*second, do: compare("web", true), want: Acting},
		},
		"new, where this installation is alone in another namespace": {
			{do: settled, want: Undecided},
			{at: time.Hour, do: add("shop/new", Evidence), want: Undecided},
			{at: time.Hour, do: rename("shop/new", "web"), want: Undecided},
			{at: time.Hour + second, do: compare("web", true), want: Undecided},
			{at: time.Hour + 121*second, do: compare("web", true), want: Acting},
		},
		"new, where this installation is alone in two other namespaces": {
			{do: settled, want: Undecided},
			{do: add("a/own", Evidence, FieldManager), want: Undecided},
			{at: time.Hour, do: add("shop/new", Evidence), want: Undecided},
			{at: time.Hour, do: rename("shop/new", "web"), want: Acting},
		},
		"new, after another controller wrote one in another namespace": {
			{do: settled, want: Undecided},
			{do: add("shop/other", Evidence, FieldManager), want: Undecided},
			{at: time.Hour, do: write("shop/other", kcm), want: Undecided},
			{at: time.Hour + second, do: add("web", Evidence), want: Acting},
		},
		"new, after another controller wrote some in two other namespaces": {
			{do: settled, want: Undecided},
			{do: add("a/other", Evidence, FieldManager), want: Undecided},
			{do: add("b/other", Evidence, FieldManager), want: Undecided},
			{at: time.Hour, do: write("a/other", kcm), want: Undecided},
			{at: time.Hour, do: write("b/other", kcm), want: Undecided},
			{at: time.Hour + second, do: add("web", Evidence), want: Left},
			{at: time.Hour + 31*second, do: compare("web", true), want: Undecided},
		},
		"acted on until the other controller writes": {
			{do: add("web", Evidence, FieldManager), want: Acting},
			{at: second, do: write("web", kcm), want: Left},
			{at: 20 * second, do: write("web", kcm), want: Left},
			{at: 49 * second, want: Left},
			{at: 50 * second, do: compare("web", true), want: Undecided},
			{at: 170 * second, do: compare("web", true), want: Acting},
		},
		"acted on, and the other controller writes another": {
			{do: add("web", Evidence, FieldManager), want: Acting},
			{do: add("other", Evidence, FieldManager), want: Acting},
			{at: time.Minute, do: write("other", kcm), want: Acting},
		},
		"acted on, and the other controller writes and has nothing more to write": {
			{do: add("other", Evidence, FieldManager), want: Undecided},
			{do: add("web", Evidence, FieldManager), want: Acting},
			{at: time.Minute, do: write("web", kcm), want: Left},
			{at: time.Hour, do: compare("web", false), want: Undecided},
			{at: time.Hour, do: add("web", Evidence, kcm), want: Undecided},
		},
		"acted on, and the other controller writes and ends": {
			{do: add("other", Evidence, FieldManager), want: Undecided},
			{do: add("third", Evidence, FieldManager), want: Undecided},
			{do: add("web", Evidence, FieldManager), want: Acting},
			{at: time.Minute, do: write("web", kcm), want: Left},
			{at: time.Minute, do: write("other", kcm), want: Left},
			{at: 2 * time.Minute, do: compare("other", true), want: Undecided},
			{at: 4 * time.Minute, do: compare("other", true), want: Undecided},
			{at: 359 * second, want: Undecided},
			{at: 360 * second, want: Acting},
		},
		"recreated": {
			{do: add("web", Evidence, FieldManager), want: Acting},
			{at: time.Minute, do: write("web", kcm), want: Left},
			{at: 2 * time.Minute, do: add("web", Evidence), want: Undecided},
			{at: 3 * time.Minute, do: compare("web", true), want: Undecided},
			{at: 5 * time.Minute, do: compare("web", true), want: Acting},
			{at: 10 * time.Minute, do: add("web", Evidence), want: Undecided},
		},
		"recreated, where this installation is alone": {
			{do: settled, want: Undecided},
			{at: time.Hour, do: add("web", Evidence, kcm), want: Acting},
			{at: time.Hour, do: add("web", Evidence), want: Acting},
		},
		"gone and removed counts no more": {
			{do: add("own", Evidence, FieldManager), want: Undecided},
			{do: func(s *stage) { s.cluster.Remove(s.objects["own"]) }, want: Undecided},
			{at: time.Hour, do: add("web", Evidence), want: Undecided},
		},
		"acted on, and an installation writes that is to leave it alone": {
			{do: add("web", Evidence, FieldManager), want: Acting},
			{at: time.Minute, do: write("web", "plimsoll/b"), want: Acting},
		},
		"not acted on, and an installation writes that would leave it alone": {
			{do: add("web", Evidence, kcm), want: Left},
			{at: time.Minute, do: write("web", "plimsoll/b"), want: Left},
			{at: 10 * time.Minute, do: compare("web", true), want: Left},
			{at: 11 * time.Minute, do: compare("web", true), want: Undecided},
			{at: 13 * time.Minute, do: compare("web", true), want: Acting},
		},

		"always": {
			{do: add("web", Always, kcm), want: Acting},
			{at: second, do: write("web", kcm), want: Acting}, // was in progress when it was stopped
			{at: 10 * second, do: write("web", kcm), want: Left},
			{at: 20 * second, do: write("web", kcm), want: Left},
			{at: 139 * second, want: Left},
			{at: 140 * second, want: Acting},
			{at: 150 * second, do: write("web", "plimsoll/b"), want: Acting},
		},
		"unless installed: another controller wrote": {
			{do: add("web", UnlessInstalled, "kubectl"), want: Acting},
			{at: 10 * second, do: write("web", "kubectl"), want: Left},
			{at: 130 * second, want: Acting},
		},
	} {
		t.Run(name, func(t *testing.T) { play(t, FieldManager, steps) })
	}
}

// TestStatesOfTheJunior: an installation leaves objects to another one that takes precedence.
func TestStatesOfTheJunior(t *testing.T) {
	for name, steps := range map[string][]step{
		"always": {
			{do: add("web", Always), want: Acting},
			{at: 10 * second, do: write("web", FieldManager), want: Left},
			{at: 609 * second, want: Left},
			{at: 610 * second, want: Acting},
		},
		"until the other one's objects are out of date": {
			{do: add("web", UnlessInstalled), want: Acting},
			{at: 10 * second, do: write("web", FieldManager), want: Left},
			{at: 609 * second, do: compare("web", true), want: Left},
			{at: 610 * second, do: compare("web", false), want: Undecided},
			{at: time.Hour, do: compare("web", true), want: Undecided},
			{at: time.Hour + 2*time.Minute, do: compare("web", true), want: Acting},
		},
		"moved: another object shows that the other one is gone": {
			{do: add("web", UnlessInstalled, FieldManager), want: Left},
			{do: add("other", UnlessInstalled, FieldManager), want: Left},
			{at: 10 * time.Minute, do: compare("other", true), want: Undecided},
			{at: 719 * second, do: compare("other", true), want: Undecided},
			{at: 720 * second, do: compare("other", true), want: Acting},
			{at: time.Hour, do: write("web", FieldManager), want: Left},
			{at: 69 * time.Minute, do: write("other", FieldManager), want: Left},
			{at: 79 * time.Minute, do: compare("web", true), want: Undecided},
			{at: 80 * time.Minute, do: compare("web", false), want: Undecided},
		},
		"new, while the other one acts in another namespace": {
			{do: add("a/other", UnlessInstalled, FieldManager), want: Undecided},
			{at: time.Minute, do: write("a/other", FieldManager), want: Undecided},
			{at: time.Minute, do: add("web", UnlessInstalled), want: Acting},
		},
		"new, while the other one acts in two other namespaces": {
			{do: add("a/other", UnlessInstalled, FieldManager), want: Undecided},
			{do: add("b/other", UnlessInstalled, FieldManager), want: Undecided},
			{at: time.Minute, do: add("web", UnlessInstalled), want: Left},
		},
		"moved: an object of another namespace does not show that the other one is gone": {
			{do: add("web", UnlessInstalled, FieldManager), want: Left},
			{do: add("a/other", UnlessInstalled, FieldManager), want: Left},
			{at: 10 * time.Minute, do: compare("a/other", true), want: Undecided},
			{at: 720 * second, do: compare("a/other", true), want: Undecided},
			{at: time.Hour, do: compare("web", false), want: Undecided},
		},
		"restart: the other one wrote last": {
			{do: add("web", UnlessInstalled, "plimsoll/b", FieldManager), want: Left},
			{at: 10 * time.Minute, want: Undecided},
		},
		"restart: this one wrote last": {
			{do: add("web", UnlessInstalled, FieldManager, "plimsoll/b"), want: Acting},
		},
		"new, while the other one acts": {
			{do: add("other", UnlessInstalled, FieldManager), want: Undecided},
			{at: time.Minute, do: add("web", UnlessInstalled), want: Left},
			{at: 9 * time.Minute, do: write("other", FieldManager), want: Left},
			{at: 10 * time.Minute, do: add("web", UnlessInstalled), want: Left},
			{at: 19 * time.Minute, do: compare("web", true), want: Undecided},
			{at: 21 * time.Minute, do: compare("web", true), want: Acting},
		},
	} {
		t.Run(name, func(t *testing.T) { play(t, "plimsoll/b", steps) })
	}
}

func play(t *testing.T, own string, steps []step) {
	t.Helper()
	s := newStage(own)
	for i, next := range steps {
		s.now = start.Add(next.at)
		if next.do != nil {
			next.do(s)
		}
		got := Undecided
		if o := s.objects["web"]; o != nil {
			peeked, _ := s.cluster.Peek(o, start.Add(next.at))
			got, _ = s.cluster.StateAt(o, start.Add(next.at))
			if got != Acting && got != peeked {
				t.Errorf("step %d: %s, but seen without a change it is %s", i, got, peeked)
			}
		}
		if got != next.want {
			t.Fatalf("step %d, after %s: %s, want %s", i, next.at, got, next.want)
		}
	}
}

// TestChange: the effect of a write.
func TestChange(t *testing.T) {
	s := newStage("plimsoll/b")
	add("web", Evidence, "plimsoll/b")(s)
	s.now = start.Add(time.Minute)
	for _, tt := range []struct {
		by   string
		want Change
	}{
		{by: "plimsoll/c", want: Change{Junior: Write{By: "plimsoll/c", At: s.now}}},
		{by: kcm, want: Change{Other: Write{By: kcm, At: s.now}, HasStopped: true, IsFirst: true}},
		{by: "", want: Change{}},
	} {
		if tt.by == "" {
			s.change = s.cluster.Update(s.objects["web"], &Writes{}, s.now)
		} else {
			write("web", tt.by)(s)
		}
		if s.change != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.by, s.change, tt.want)
		}
	}
	if !s.objects["web"].IsContested() || s.objects["web"].Last().By != kcm {
		t.Errorf("%+v", s.objects["web"])
	}
	s.now = s.now.Add(time.Minute)
	write("web", kcm)(s)
	if s.change.HasStopped || s.change.IsFirst {
		t.Errorf("the second write is reported as %+v", s.change)
	}
}

// TestManyWriters: users who may write statuses can use any name, which must not take memory.
func TestManyWriters(t *testing.T) {
	s := newStage(FieldManager)
	add("web", Evidence)(s)
	for i := range 10 * maxWriters {
		s.now = s.now.Add(time.Second)
		write("web", "kubectl-"+strconv.Itoa(i))(s)
	}
	if n := len(s.cluster.seen); n > maxWriters {
		t.Errorf("%d writers are remembered", n)
	}
}
