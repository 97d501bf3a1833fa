package vertical

import (
	"testing"
	"time"
)

func TestStamp(t *testing.T) {
	now := time.Date(2026, 11, 21, 9, 0, 0, 123456789, time.UTC)
	for why, c := range map[string]struct{ at, want time.Time }{
		"to the nanosecond":   {now, now},
		"none stays none":     {time.Time{}, time.Time{}},
		"1970 is not none":    {time.Unix(0, 0), time.Unix(0, 1).UTC()},
		"nothing before 1970": {time.Date(1815, 1, 1, 0, 0, 0, 0, time.UTC), time.Unix(0, 1).UTC()},
		"nor after 2262":      {time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), time.Unix(0, 1<<63-1).UTC()},
	} {
		if got := StampOf(c.at).Time(); !got.Equal(c.want) {
			t.Errorf("%s: %s is kept as %s, want %s", why, c.at, got, c.want)
		}
	}
	s := StampOf(now)
	if got := s.Add(time.Hour).Sub(s); got != time.Hour {
		t.Errorf("an hour later is %s later", got)
	}
	if none := Stamp(0); !none.Before(s) || s.Before(none) || !none.IsZero() {
		t.Error("a missing time is not before all others")
	}
}
