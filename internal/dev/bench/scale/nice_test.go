package scale

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNiced(t *testing.T) {
	command := []string{"plimsoll", "controller"}
	if diff := cmp.Diff(command, niced(0, command)); diff != "" {
		t.Errorf("as it is (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"nice", "-n", "-5", "plimsoll", "controller"}, niced(-5, command)); diff != "" {
		t.Errorf("sooner than others (-want +got):\n%s", diff)
	}
}

// A missing permission is an error, instead of a different measurement.
func TestCheckNice(t *testing.T) {
	if err := checkNice(t.Context(), 0); err != nil {
		t.Error(err)
	}
	if err := checkNice(t.Context(), 19); err != nil {
		t.Errorf("the nicest, which everybody may be: %v", err)
	}
	if err := checkNice(t.Context(), 30); err == nil || !strings.Contains(err.Error(), "not of 30") {
		t.Errorf("beyond the nicest: %v", err)
	}
}
