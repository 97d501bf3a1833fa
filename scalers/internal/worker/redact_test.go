package worker

import (
	"errors"
	"strings"
	"testing"
)

func TestErrorsAreShort(t *testing.T) {
	got := redacted(errors.New("a\n b "+strings.Repeat("é", 400)), nil).Error()
	if len(got) > longestText+len("...") || !strings.HasPrefix(got, "a b é") || !strings.HasSuffix(got, "é...") {
		t.Errorf("got %q", got)
	}
}

func TestRedacted(t *testing.T) {
	for name, c := range map[string]struct{ secret, text, want string }{
		"as it is":          {"hunter 22", "bad hunter 22", "bad [hidden]"},
		"two spaces":        {"hunter  22", "bad hunter  22", "bad [hidden]"},
		"a line end":        {"hunter22\n", "bad hunter22.", "bad [hidden]."},
		"quoted":            {"hun\"ter\n22", `bad "hun\"ter\n22"`, `bad "[hidden]"`},
		"in a query":        {"hun ter/22", "GET /?p=hun+ter%2F22", "GET /?p=[hidden]"},
		"in a path":         {"hun ter/22", "GET /hun%20ter%2F22", "GET /[hidden]"},
		"of a URL":          {"amqp://admin:hunter22@rabbit:5672/", "login admin hunter22", "login [hidden] [hidden]"},
		"escaped in a URL":  {"amqp://admin:hun%2Fter22@rabbit/", "password hun/ter22", "password [hidden]"},
		"of another string": {"admin:hunter22@tcp(db:3306)/x", "hunter22 for 'admin'", "[hidden] for '[hidden]'"},
		"of fields":         {"host=db password='hunter22' user=a", "password hunter22", "password [hidden]"},
		"of ODBC":           {"server=db;Password=hunter22;x=y", "hunter22 is wrong", "[hidden] is wrong"},
		"a short one":       {"true", "true is wrong", "true is wrong"},
	} {
		if got := redacted(errors.New(c.text), []string{c.secret}).Error(); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
