package selection

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestRoundTrip(t *testing.T) {
	for name, containers := range map[string][]Container{
		"none": {},
		"two":  {{"u-1", "abc", "shop", "web-0.x", "app"}, {"u-1", "abd", "shop", "web-0.x", "proxy"}},
	} {
		text := Encode(containers)
		got, err := Decode(text)
		if err != nil || !slices.Equal(got, containers) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		if key := Key(text); len(key) != 64 || key == Key(append(text, '\n')) {
			t.Errorf("%s: key %q", name, key)
		}
	}
}

func TestInvalid(t *testing.T) {
	line := "u-1 abc shop web app\n"
	for name, text := range map[string]string{
		"half a line":     line + "u-1 abc shop web app",
		"an empty line":   "\n",
		"four parts":      "u-1 abc shop web\n",
		"six parts":       "u-1 abc shop web app x\n",
		"an empty part":   "u-1 abc  web app\n",
		"a quote":         "u-1 abc shop web a\"b\n",
		"a line feed":     "u-1 abc shop web a\r\n",
		"upper case":      "u-1 abc shop Web app\n",
		"a long name":     "u-1 abc shop web " + strings.Repeat("a", 64) + "\n",
		"a long pod":      "u-1 abc shop " + strings.Repeat("a", 254) + " app\n",
		"a long line":     strings.Repeat("u", 2000) + " abc shop web app\n",
		"many containers": strings.Repeat(line, MaxContainers+1),
		"many bytes":      strings.Repeat("x", MaxBytes+1),
	} {
		if got, err := Decode([]byte(text)); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if got, err := Decode([]byte(strings.Repeat(line, MaxContainers))); err != nil || len(got) != MaxContainers {
		t.Errorf("as many as may be: %d, %v", len(got), err)
	}
}

// TestIsValid: a placeholder for an ID in a status must not become a container of its own.
func TestIsValid(t *testing.T) {
	if c := (Container{"u-1", "abc", "shop", "web-0", "app"}); !c.IsValid() {
		t.Errorf("%+v is invalid", c)
	}
	for _, id := range []string{"", " ", "a b", "a\n", "a\nu-1 abc shop other app", "a shop other app\nu-1 b"} {
		if c := (Container{"u-1", id, "shop", "web-0", "app"}); c.IsValid() {
			t.Errorf("%+v is valid", c)
		}
	}
}

// TestHas: a container is part of the selection by its three names, whatever its pod's UID and its ID.
func TestHas(t *testing.T) {
	has := Prepare([]Container{{"u-1", "abc", "shop", "web-0", "app"}, {"u-2", "abd", "shop", "web-1", "proxy"}}).Has()
	for names, want := range map[[3]string]bool{
		{"shop", "web-0", "app"}: true, {"shop", "web-1", "proxy"}: true, {"shop", "web-0", "proxy"}: false,
		{"bank", "web-0", "app"}: false, {"shop", "web", "0"}: false, {"shop", "web-0 app", ""}: false, {"", "", ""}: false,
	} {
		if got := has([]byte(names[0]), []byte(names[1]), []byte(names[2])); got != want {
			t.Errorf("%q: %t", names, got)
		}
	}
}
