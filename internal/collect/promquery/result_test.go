package promquery

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
)

var arrived = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func success(resultType, result string) string {
	return `{"status":"success","data":{"resultType":"` + resultType + `","result":` + result + `}}`
}

func TestRead(t *testing.T) {
	// Without an error, value and isNull are the result; a null value is an error unless it is ignored.
	for name, c := range map[string]struct {
		body   string
		value  float64
		isNull bool
		err    string
	}{
		"scalar":    {body: success("scalar", `[1795435200,"42.5"]`), value: 42.5},
		"vector":    {body: success("vector", `[{"metric":{"job":"x"},"value":[1795435200.123,"7"]}]`), value: 7},
		"negative":  {body: success("scalar", `[1795435200,"-1"]`), value: -1},
		"exponent":  {body: success("scalar", `[1795435200,"1.5e+03"]`), value: 1500},
		"warnings":  {body: `{"status":"success","warnings":["w"],"data":{"resultType":"scalar","result":[1795435200,"1"]}}`, value: 1},
		"empty":     {body: success("vector", `[]`), isNull: true, err: "empty"},
		"NaN":       {body: success("vector", `[{"metric":{},"value":[1795435200,"NaN"]}]`), isNull: true, err: "NaN"},
		"+Inf":      {body: success("scalar", `[1795435200,"+Inf"]`), isNull: true, err: "infinite"},
		"-Inf":      {body: success("scalar", `[1795435200,"-Inf"]`), isNull: true, err: "infinite"},
		"too large": {body: success("scalar", `[1795435200,"1e999"]`), err: "not that of Prometheus"},
		"two": {body: success("vector", `[{"metric":{},"value":[1795435200,"1"]},{"metric":{},"value":[1795435200,"2"]}]`),
			err: "several elements"},
		"matrix":                {body: success("matrix", `[]`), err: "matrix"},
		"string":                {body: success("string", `[1795435200,"hush"]`), err: "string"},
		"another type":          {body: success("hush", `[1795435200,"1"]`), err: "not that of Prometheus"},
		"histogram":             {body: success("vector", `[{"metric":{},"histogram":[1795435200,{"count":"1"}]}]`), err: "histogram"},
		"no value":              {body: success("vector", `[{"metric":{}}]`), err: "not that of Prometheus"},
		"null":                  {body: success("vector", `null`), err: "not that of Prometheus"},
		"null for the pair":     {body: success("scalar", `null`), err: "not that of Prometheus"},
		"null for the value":    {body: success("scalar", `[1795435200,null]`), err: "not that of Prometheus"},
		"a number":              {body: success("scalar", `[1795435200,1]`), err: "not that of Prometheus"},
		"three":                 {body: success("scalar", `[1795435200,"1","2"]`), err: "not that of Prometheus"},
		"text":                  {body: success("scalar", `[1795435200,"hush"]`), err: "not that of Prometheus"},
		"no time":               {body: success("scalar", `[0,"1"]`), err: "timestamp"},
		"before all times":      {body: success("scalar", `[-5,"1"]`), err: "timestamp"},
		"beyond all times":      {body: success("scalar", `[1e300,"1"]`), err: "timestamp"},
		"error with status 200": {body: `{"status":"error","errorType":"bad_data","error":"hush"}`, err: "not that of Prometheus"},
		"HTML":                  {body: `<html>hush</html>`, err: "not that of Prometheus"},
		"nothing":               {body: ``, err: "not that of Prometheus"},
		"nested":                {body: strings.Repeat("[", 1<<20), err: "not that of Prometheus"},
	} {
		r := read([]byte(c.body), arrived)
		if (r.err != nil) != (c.err != "") || r.isNull != c.isNull || r.err == nil && r.series[0] != c.value {
			t.Errorf("%s: %+v", name, r)
			continue
		}
		if r.err != nil && (!strings.Contains(r.err.Error(), c.err) || strings.Contains(r.err.Error(), "hush")) {
			t.Errorf("%s: %v", name, r.err)
		}
		a := r.answer(&sources.Prometheus{IsNullZero: true})
		if c.isNull != (a.Err == nil && c.err != "") || c.isNull && (len(a.Series) != 1 || a.Series[0] != 0) {
			t.Errorf("%s, ignored: %+v", name, a)
		}
	}
}

// TestTimestamp: a value has the server's timestamp, but never one in the future.
func TestTimestamp(t *testing.T) {
	for result, want := range map[string]time.Time{
		`[1795435190.5,"1"]`: time.UnixMilli(1795435190500),
		`[1795435300,"1"]`:   arrived,
	} {
		if r := read([]byte(success("scalar", result)), arrived); !r.at.Equal(want) {
			t.Errorf("%s: %s", result, r.at)
		}
	}
}

func TestIsLike(t *testing.T) {
	value := func(v float64) *result { return &result{series: []float64{v}} }
	failed := func(err error, isNull bool) *result { return &result{err: err, isNull: isNull} }
	for name, c := range map[string]struct {
		a, b   *result
		isLike bool
	}{
		"same value":    {value(1), value(1), true},
		"other value":   {value(1), value(2), false},
		"then an error": {value(1), failed(errNotJSON, false), false},
		"then a value":  {failed(errNotJSON, false), value(1), false},
		"same error":    {failed(errNotJSON, false), failed(errNotJSON, false), true},
		"other error":   {failed(errNotJSON, false), failed(errEmpty, true), false},
	} {
		if got := c.a.isLike(c.b); got != c.isLike {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// FuzzRead: no response causes a panic, or a value that is not a number.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{success("scalar", `[1795435200,"42.5"]`), success("vector", `[]`),
		success("vector", `[{"metric":{},"value":[1795435200,"NaN"]}]`), success("vector", `[{"histogram":[1,{}]}]`)} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r := read(body, arrived)
		if r.at.IsZero() || r.at.After(arrived) {
			t.Fatalf("at %s", r.at)
		}
		if r.err == nil && (len(r.series) != 1 || math.IsNaN(r.series[0]) || math.IsInf(r.series[0], 0)) {
			t.Fatalf("%v", r.series)
		}
	})
}

func TestRequestOf(t *testing.T) {
	for address, want := range map[string]struct{ host, url string }{
		"http://prometheus:9090":    {"prometheus:9090", "http://prometheus:9090/api/v1/query"},
		"http://prometheus":         {"prometheus:80", "http://prometheus/api/v1/query"},
		"https://mimir.example.com": {"mimir.example.com:443", "https://mimir.example.com/api/v1/query"},
		"https://mimir.example.com/prometheus": {"mimir.example.com:443",
			"https://mimir.example.com/prometheus/api/v1/query"},
		"http://[2001:db8::7]:9090": {"[2001:db8::7]:9090", "http://[2001:db8::7]:9090/api/v1/query"},
	} {
		r, err := requestOf("team-a", &sources.Prometheus{Address: address, Query: "up"})
		if err != nil || r.target.Host != want.host || r.url != want.url || r.target.Namespace != "team-a" ||
			r.target.IsTLS != strings.HasPrefix(address, "https") {
			t.Errorf("%s: %+v, %v", address, r, err)
		}
	}
	for _, address := range []string{"", "prometheus:9090", "file:///etc/passwd", "http://", "http://:9090",
		"http://user@prometheus", "http://user:hush@prometheus", "http://prometheus?x=y", "http://prometheus#x",
		"http://prometheus:0", "http://prometheus:65536", "http://prometheus:x", "http:prometheus", "http://a b",
		"unix:///run/x.sock", "http://prometheus?"} {
		if r, err := requestOf("team-a", &sources.Prometheus{Address: address}); err == nil ||
			strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %+v, %v", address, r, err)
		}
	}
}

// many is an answer of a megabyte with a vector of many elements.
func many() []byte {
	const begin, end = `{"status":"success","data":{"resultType":"vector","result":[{}`, `]}}`
	elements := bytes.Repeat([]byte(",{}"), (maxBody-len(begin)-len(end))/len(",{}"))
	return slices.Concat([]byte(begin), elements, []byte(end))
}

// TestManyElements: they take few times the memory of the answer.
func TestManyElements(t *testing.T) {
	body := many()
	result := testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			if r := read(body, time.Now()); !errors.Is(r.err, errSeveral) {
				b.Fatal(r.err)
			}
		}
	})
	if got := result.AllocedBytesPerOp(); got > 4*maxBody {
		t.Errorf("%d bytes", got)
	}
}
