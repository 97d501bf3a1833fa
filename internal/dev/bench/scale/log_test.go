package scale

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/scale/population"
)

func someSize(t *testing.T) population.Size {
	t.Helper()
	size, err := population.Size{Objects: 30, PodsPer: 3}.Completed()
	if err != nil {
		t.Fatal(err)
	}
	return size
}

func TestDecisionInALine(t *testing.T) {
	size := someSize(t)
	const stamp = `"time":"2026-11-21T07:13:30.123456789Z"`
	for line, want := range map[string]int{
		`{` + stamp + `,"level":"DEBUG","msg":"decided","logger":"horizontal","object":"shop-1/web-23","current":3}`: 23,
		`{` + stamp + `,"level":"INFO","msg":"scaled","object":"shop-0/web-3"}`:                                      3,
		`{` + stamp + `,"level":"DEBUG","msg":"not decided","object":"shop-0/web-3"}`:                                -1,
		`{` + stamp + `,"msg":"decided","object":"shop-0/web-23"}`:                                                   -1,
		`{` + stamp + `,"msg":"decided","object":"web-3"}`:                                                           -1,
		`{` + stamp + `,"msg":"decided","object":"shop-0/we`:                                                         -1,
		``: -1,
	} {
		object, when, ok := decisionIn([]byte(line), size)
		if !ok {
			object = -1
		}
		if object != want {
			t.Errorf("%s: object %d, want %d", line, object, want)
		}
		if ok && when.Nanosecond() != 123456789 {
			t.Errorf("%s: at %s", line, when)
		}
	}
}

// The log is read from where it ended before the program began, also while lines are only half written.
func TestFollowLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if from := endOf(path); from.offset != 0 {
		t.Errorf("a log that is not there ends at %d", from.offset)
	}
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	write := func(text string) {
		if _, err := file.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	line := func(second, object int) string {
		return fmt.Sprintf(`{"time":"2026-11-21T07:13:%02dZ","msg":"decided","object":"shop-0/web-%d"}`+"\n", second, object)
	}
	write(line(1, 1))
	from := endOf(path)
	write(line(2, 2))

	noted := make(chan string, 10)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	size := someSize(t)
	go func() {
		ended <- followLog(ctx, from, size,
			func(object int, at time.Time) { noted <- fmt.Sprint(object, " at ", at.Second()) })
	}()
	got := []string{<-noted}
	text := line(3, 3)
	write(text[:20])
	write(text[20:] + line(4, 4))
	got = append(got, <-noted, <-noted)
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"2 at 2", "3 at 3", "4 at 4"}, got); diff != "" {
		t.Error(diff)
	}
	if err := followLog(t.Context(), position{path: path + "x"}, size, nil); err == nil {
		t.Error("a log that is not there is followed")
	}
}
