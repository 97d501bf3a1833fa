package main

import (
	"regexp"
	"strings"
	"testing"
)

func TestBound(t *testing.T) {
	const before = `          a:
            description: 'one'
            ` + written + `
            x-kubernetes-int-or-string: true
            x-kubernetes-validations:
            - message: must be positive
              rule: self != 0 && (int(self) > 0 || size(self) > 0)
          b:
            ` + written + `
            x-kubernetes-int-or-string: true
          c:
            ` + written + `
            x-kubernetes-int-or-string: true
            x-kubernetes-validations:
            - message: must be greater than or equal to 0
              rule: int(self) >= 0 || size(self) > 0
`
	got := bound(before)
	want := before
	for _, p := range []string{notZero, anySign, noSign} {
		want = strings.Replace(want, written, "maxLength: 64\n            minLength: 1\n            "+p, 1)
	}
	if got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func TestPatterns(t *testing.T) {
	for text, want := range map[string]struct{ notNegative, positive bool }{
		"0": {true, false}, "00": {true, false}, "0.0": {true, false}, ".0": {true, false}, "0.": {true, false},
		"0Ki": {true, false}, "0e9": {true, false}, "+0": {true, false}, "-0": {}, "-1": {}, "-300m": {},
		"1": {true, true}, "10": {true, true}, "+1": {true, true}, "01": {true, true}, "0.1": {true, true}, ".5": {true, true},
		"1.": {true, true}, "1.0": {true, true}, "100m": {true, true}, "1e3": {true, true}, "1E-2": {true, true},
		"1Gi": {true, true}, "0.001k": {true, true}, "1e100": {}, "": {}, ".": {}, "abc": {}, "1_": {},
	} {
		for p, want := range map[string]bool{noSign: want.notNegative, notZero: want.positive} {
			if got := regexp.MustCompile(strings.TrimPrefix(p, "pattern: ")).MatchString(text); got != want {
				t.Errorf("%q matches %s: %t, want %t", text, p, got, want)
			}
		}
	}
}
