package cmderror

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPrint: each error has one form, whatever it is wrapped in.
func TestPrint(t *testing.T) {
	missing := &Error{What: `hpa "wbe" not found`, Why: "there is none in namespace shop", Next: "did you mean web?"}
	other := &Error{What: "no Lease", Next: "did you mean web?"}
	for name, tt := range map[string]struct {
		err  error
		want string
	}{
		"none":  {nil, ""},
		"plain": {errors.New("boom"), "error: boom\n"},
		"whole": {missing, `error: hpa "wbe" not found
  why   there is none in namespace shop
  next  did you mean web?
`},
		"wrapped": {fmt.Errorf("explaining: %w (twice)", missing), `error: explaining: hpa "wbe" not found (twice)
  why   there is none in namespace shop
  next  did you mean web?
`},
		"two in a sentence": {fmt.Errorf("no history: %w; and %w", missing, other),
			`error: no history: hpa "wbe" not found; and no Lease
  why   there is none in namespace shop
  next  did you mean web?
`},
		"joined": {Usage(errors.Join(missing, errors.New("boom"))), `error: hpa "wbe" not found
  why   there is none in namespace shop
  next  did you mean web?
error: boom
  next  plimsoll explain --help
`},
		"several lines": {&Error{What: "no", Next: "a\nb"}, "error: no\n  next  a\n        b\n"},
		"secret": {errors.New("token s3cret of https://me:pw@host/ and Authorization: Bearer abcdefgh.ijk"),
			"error: token REDACTED of https://REDACTED@host/ and Authorization: Bearer REDACTED\n"},
	} {
		var out strings.Builder
		Print(&out, tt.err, "plimsoll explain --help", []string{"", "s3cret"})
		if diff := cmp.Diff(tt.want, out.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestExitStatus: the outermost status counts, and an error without one has failed.
func TestExitStatus(t *testing.T) {
	boom := errors.New("boom")
	for name, tt := range map[string]struct {
		err  error
		want int
	}{
		"none":      {nil, 0},
		"no usage":  {Usage(nil), 0},
		"failed":    {fmt.Errorf("x: %w", boom), 1},
		"usage":     {fmt.Errorf("x: %w", Usage(boom)), 2},
		"one of":    {OneOf("output", "xml", "json"), 2},
		"formatted": {Usagef("--from: %w", boom), 2},
		"joined":    {errors.Join(boom, Usage(boom)), 2},
		"own":       {WithStatus(Usage(boom), 7), 7},
	} {
		if got := ExitStatus(tt.err); got != tt.want || IsUsage(tt.err) != (tt.want == 2) {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
		if tt.want > 0 && name != "one of" && !errors.Is(tt.err, boom) {
			t.Errorf("%s: the error is lost", name)
		}
	}
}

// TestNearest: what is offered is near to what was typed.
func TestNearest(t *testing.T) {
	for typed, tt := range map[string]struct {
		candidates, want []string
	}{
		"ymal":                   {[]string{"text", "json", "yaml"}, []string{"yaml"}},
		"JSON":                   {[]string{"text", "json"}, []string{"json"}},
		"xml":                    {[]string{"text", "json"}, nil},
		"":                       {[]string{"a"}, nil},
		"web":                    {[]string{"web-frontend", "webb", "we", "x", "unrelated"}, []string{"we", "webb", "web-frontend"}},
		"plimsol":                {[]string{"plimsoll", "kube-controller-manager"}, []string{"plimsoll"}},
		"a":                      {[]string{"b", "c"}, nil},
		strings.Repeat("a", 300): {[]string{strings.Repeat("a", 299)}, nil},
	} {
		if got := Nearest(typed, tt.candidates); !slices.Equal(got, tt.want) {
			t.Errorf("%.20q: %q, want %q", typed, got, tt.want)
		}
	}
}

// TestOneOf: the value is named with what it may be, and the nearest.
func TestOneOf(t *testing.T) {
	if err := OneOf("output", "json", "text", "json"); err != nil {
		t.Error(err)
	}
	err := OneOf("output", "jsn", "text", "json", "yaml")
	want := `--output: "jsn": want text, json or yaml: did you mean json?`
	var own *Error
	if err == nil || err.Error() != want || !errors.As(err, &own) || own.Flag != "output" || own.Value != "jsn" {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestRedact: no form of a secret is shown, and the rest stays.
func TestRedact(t *testing.T) {
	for text, want := range map[string]string{
		`parse "http://me:p%zzw@prometheus:9090": invalid URL escape`: `parse "http://REDACTED@prometheus:9090": invalid URL escape`,
		"Authorization: Basic bWU6cGFzc3dvcmQ=":                       "Authorization: Basic REDACTED",
		"token eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2ln is expired":  "token REDACTED is expired",
		"a basic authentication error":                                "a basic authentication error",
		"Bearer abcdefghijklmnopqrstuvwxyz":                           "Bearer REDACTED",
		"https://10.0.0.1:6443/apis?a=b@c":                            "https://10.0.0.1:6443/apis?a=b@c",
		"plimsoll.dev/x@sha256:00 is there":                           "plimsoll.dev/x@sha256:00 is there",
	} {
		if got := Redact(text, nil); got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
}
