package scoreboard

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// folder has one trace, with a surge in it, and something else.
func folder(t *testing.T) string {
	t.Helper()
	var trace strings.Builder
	trace.WriteString("timestamp,value\n")
	for minute := range 30 {
		value := "5\n"
		if minute >= 10 {
			value = "50\n"
		}
		trace.WriteString(strconv.Itoa(60*minute) + "," + value)
	}
	in := t.TempDir()
	for name, content := range map[string]string{"surge.csv": trace.String(), "readme.md": "no trace"} {
		if err := os.WriteFile(filepath.Join(in, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return in
}

func TestMeasure(t *testing.T) {
	c := Defaults()
	c.Folder, c.Seeds = folder(t), 2
	r, err := Measure(t.Context(), c)
	if err != nil || len(r.Loads) != 1 || len(r.Loads[0].Plimsoll) != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	l := &r.Loads[0]
	if l.Upstream[0].Surges != 1 || l.Plimsoll[0].MedianRecoverySeconds >= l.Upstream[0].MedianRecoverySeconds {
		t.Errorf("%+v\n%+v", l.Upstream[0], l.Plimsoll[0])
	}
	var table strings.Builder
	if err := r.WriteTable(&table); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| surge ", "**median**", "less / more in", "pod-hours"} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("%q is missing in\n%s", want, &table)
		}
	}
}

func TestMeasureGenerated(t *testing.T) {
	c := Defaults()
	c.Seeds, c.For = 1, time.Hour
	if r, err := Measure(t.Context(), c); err != nil || len(r.Loads) < 5 {
		t.Errorf("%d generated loads, %v", len(r.Loads), err)
	}
	c.Folder = t.TempDir()
	if _, err := Measure(t.Context(), c); err == nil {
		t.Error("an empty folder is played")
	}
	if _, err := Measure(t.Context(), Config{}); err == nil {
		t.Error("nothing is played")
	}
}
