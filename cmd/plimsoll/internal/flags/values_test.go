package flags

import (
	"slices"
	"testing"

	"github.com/spf13/pflag"
)

// TestComplete: in a list, the last name is continued, and none is offered twice.
func TestComplete(t *testing.T) {
	one := Values{All: []string{"text", "json", "yaml"}}
	list := Values{All: []string{"default", "none", "surge-window"}, IsList: true}
	minus := Values{All: []string{"at-maximum", "single-replica"}, IsList: true, HasMinus: true}
	for name, tt := range map[string]struct {
		values Values
		typed  string
		want   []string
	}{
		"all":          {one, "", []string{"text", "json", "yaml"}},
		"beginning":    {one, "y", []string{"yaml"}},
		"no list":      {one, "text,", nil},
		"list":         {list, "none,", []string{"none,default", "none,surge-window"}},
		"part of list": {list, "none,su", []string{"none,surge-window"}},
		"minus":        {minus, "-s", []string{"-single-replica"}},
		"minus later":  {minus, "-single-replica,-", []string{"-single-replica,-at-maximum"}},
	} {
		if got := tt.values.Complete(tt.typed); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// TestUnknown finds the part that is no value.
func TestUnknown(t *testing.T) {
	list := Values{All: []string{"a", "b"}, IsList: true, HasMinus: true}
	for value, want := range map[string]string{"a,x": "x", "-a,-y": "y", "a, b": "", "": ""} {
		if got := list.Unknown(value); got != want {
			t.Errorf("%q: %q", value, got)
		}
	}
	if got := (Values{All: []string{"a"}}).Unknown("x,y"); got != "x,y" {
		t.Errorf("no list: %q", got)
	}
}

// TestAddDivergences: two families share one flag.
func TestAddDivergences(t *testing.T) {
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	fs.String("divergences", "", "")
	fs.String("plain", "", "")
	AddDivergences(fs, "divergences", []name{"one"})
	AddDivergences(fs, "divergences", []name{"two"})
	all := AllValues(fs)
	if got := all["divergences"]; len(all) != 1 || !got.IsList ||
		!slices.Equal(got.All, []string{"default", "none", "one", "two"}) {
		t.Errorf("%+v", all)
	}
}

// name is a fmt.Stringer.
type name string

func (n name) String() string { return string(n) }
