package condition

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var noon = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

func one(kind string, status Status, message string, since time.Time) Condition {
	return Condition{Type: kind, Status: status, Reason: "R", Message: message, Since: since}
}

// TestSet: a condition keeps its place, and its transition time changes with its status.
func TestSet(t *testing.T) {
	later := noon.Add(time.Minute)
	flipped := one("A", True, "m", later)
	flipped.Transitioned = true
	for why, c := range map[string]struct {
		list      List[Condition]
		all       []Condition
		set       Condition
		want      []Condition
		isChanged bool
	}{
		"the first": {Sorted, nil, one("A", True, "m", later), []Condition{one("A", True, "m", later)}, true},
		"a new one goes where its type stands": {
			Sorted, []Condition{one("A", True, "", noon), one("C", True, "", noon)}, one("B", False, "m", later),
			[]Condition{one("A", True, "", noon), one("B", False, "m", later), one("C", True, "", noon)}, true,
		},
		"or to the end": {
			Unsorted, []Condition{one("C", True, "", noon), one("A", True, "", noon)}, one("B", False, "m", later),
			[]Condition{one("C", True, "", noon), one("A", True, "", noon), one("B", False, "m", later)}, true,
		},
		"nothing is new": {
			Sorted, []Condition{one("A", True, "m", noon)}, one("A", True, "m", later), []Condition{one("A", True, "m", noon)},
			false,
		},
		"a message does not move the time": {
			Sorted, []Condition{one("A", True, "before", noon)}, one("A", True, "m", later),
			[]Condition{one("A", True, "m", noon)}, true,
		},
		"a status does": {
			Unsorted, []Condition{one("B", True, "", noon), one("A", False, "m", noon)}, one("A", True, "m", later),
			[]Condition{one("B", True, "", noon), one("A", True, "m", later)}, true,
		},
		"there and back": {Unsorted, []Condition{one("A", True, "m", noon)}, flipped, []Condition{flipped}, true},
		"others did not sort": {
			Sorted, []Condition{one("B", True, "", noon), one("A", True, "m", noon)}, one("A", False, "m", later),
			[]Condition{one("B", True, "", noon), one("A", False, "m", later)}, true,
		},
	} {
		got, isChanged := c.list.Set(c.all, c.set)
		if diff := cmp.Diff(c.want, got); diff != "" || isChanged != c.isChanged {
			t.Errorf("%s: changed %t, want %t (-want +got):\n%s", why, isChanged, c.isChanged, diff)
		}
	}
}

// TestRemove: a missing condition is not true, and removing it has no effect.
func TestRemove(t *testing.T) {
	all := []Condition{one("A", True, "", noon), one("B", False, "", noon)}
	if !Sorted.IsTrue(all, "A") || Sorted.IsTrue(all, "B") || Sorted.IsTrue(all, "C") {
		t.Error("A alone is true")
	}
	if _, isChanged := Sorted.Remove(all, "C"); isChanged {
		t.Error("C was removed")
	}
	twice := []Condition{one("A", True, "", noon), one("B", False, "", noon), one("A", False, "", noon)}
	if all, isChanged := Sorted.Remove(twice, "A"); !isChanged || len(all) != 1 || all[0].Type != "B" {
		t.Errorf("of A, B and A, B is left, not %+v", all)
	}
	if all, isChanged := Sorted.Remove(all, "A"); !isChanged || len(all) != 1 || all[0].Type != "B" {
		t.Errorf("B is left, not %+v", all)
	}
}
