package panics

import (
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// TestReport: a panic is counted, and the log has its cause, the object and where it was.
func TestReport(t *testing.T) {
	var logged []string
	log := funcr.New(func(_, args string) { logged = append(logged, args) }, funcr.Options{})
	count, before := 0, testutil.ToFloat64(Recovered)
	func() {
		defer func() { Report(recover(), log, func() { count++ }, "deciding failed", "object", "shop/web") }()
		fails()
	}()
	if got := testutil.ToFloat64(Recovered) - before; got != 1 {
		t.Errorf("the process counts %v", got)
	}
	if count != 1 || len(logged) != 1 {
		t.Fatalf("%d are counted, and %q is logged", count, logged)
	}
	for _, part := range []string{`"msg"="deciding failed"`, `"error"="panic: a defect"`, `"object"="shop/web"`, "panics.fails"} {
		if !strings.Contains(logged[0], part) {
			t.Errorf("the log lacks %s: %s", part, logged[0])
		}
	}
}

//go:noinline
func fails() { panic("a defect") }
