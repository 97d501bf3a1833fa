package snapshot

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSplit(t *testing.T) {
	cases := map[string]struct {
		stream string
		want   []string
	}{
		"nothing":           {"", nil},
		"only blanks":       {"\n  \n---\n# a comment\n---\n", nil},
		"yaml":              {"a: 1\n---\nb: 2\n", []string{"a: 1\n", "b: 2\n"}},
		"no line at end":    {"---\na: 1", []string{"a: 1"}},
		"dashes in a value": {"a: x---\n", []string{"a: x---\n"}},
		"json":              {`{"a":1} {"b":2}` + "\n" + `{"c":3}`, []string{`{"a":1}`, `{"b":2}`, `{"c":3}`}},
		"braces in strings": {`{"a":"}\"{"}{"b":2}`, []string{`{"a":"}\"{"}`, `{"b":2}`}},
		"mixed":             {"{\"a\":1}\n---\nb: 2\n---\n{\"c\":3}", []string{`{"a":1}`, "b: 2\n", `{"c":3}`}},
		"flow yaml":         {"{a: {b: 1}}\n", []string{"{a: {b: 1}}"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newSplitter(strings.NewReader(tc.stream))
			var got []string
			for {
				document, err := s.next()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, string(document))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// endless is a document without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '#'
	}
	return len(p), nil
}

func TestDocumentIsBounded(t *testing.T) {
	b := &bounded{r: endless{}, left: 10_000}
	n, err := io.Copy(io.Discard, b)
	if !errors.Is(err, errTooLarge) || n < 10_000 || n > 100_000 {
		t.Errorf("read %d bytes, then %v", n, err)
	}
}
