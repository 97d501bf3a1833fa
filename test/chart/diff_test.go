package chart

import (
	"bufio"
	"strings"
	"testing"

	"github.com/pmezard/go-difflib/difflib"
)

func bufferedReader(text string) *bufio.Reader { return bufio.NewReader(strings.NewReader(text)) }

// unified is the difference of two texts, with two lines around each change.
func unified(t testing.TB, from, to string) string {
	t.Helper()
	text, err := difflib.GetUnifiedDiffString(difflib.UnifiedDiff{
		A: difflib.SplitLines(from), B: difflib.SplitLines(to), Context: 2,
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}
