package containerusage

import (
	"slices"
	"strings"
	"testing"
)

const lines = `pod,time,namespace,container,cpu,memory
web-5d4f8c9b7d-bcdfg,2026-01-01T00:00:00Z,shop,app,100m,100Mi
web-5d4f8c9b7d-hjklm,2026-01-01T00:00:00Z,shop,app,0.3,1Gi
web-5d4f8c9b7d-bcdfg,1767229200,shop,app,200m,100Mi
web-api-5d4f8c9b7d-bcdfg,1767229200,shop,app,900m,100Mi
`

func TestReadCSV(t *testing.T) {
	s, err := ReadCSV(strings.NewReader(lines), "week.csv")
	if err != nil || len(s.All) != 4 || s.IsMoment {
		t.Fatalf("%+v, %v", s, err)
	}
	own := s.OfWorkload("shop", "Deployment", "web")
	if len(own) != 3 || len(s.OfWorkload("other", "Deployment", "web")) != 0 {
		t.Fatalf("web's samples are %+v", own)
	}
	if low, high := Percentile(own, 5, CPU), Percentile(own, 95, CPU); low != 100 || high != 300 {
		t.Errorf("the percentiles are %d and %d, want 100 and 300", low, high)
	}
	if counts := Counts(own); !slices.Equal(counts, []int64{2, 1}) {
		t.Errorf("the counts are %v", counts)
	}
	if byPod := ByPod(own); byPod["web-5d4f8c9b7d-bcdfg"] != 150 {
		t.Errorf("the pods use %v", byPod)
	}
}

func TestReadCSVErrors(t *testing.T) {
	header := "time,namespace,pod,container,cpu,memory\n"
	for text, want := range map[string]string{
		"":                               "reading the header",
		"time,pod\n":                     `no column "namespace"`,
		header:                           "there is no sample",
		header + "1,a,b,c,1x,1\n":        "line 2: cpu",
		header + "yesterday,a,b,c,1,1\n": "line 2: time",
		header + "1,a,b,c,-1,1\n":        "less than 0",
	} {
		if _, err := ReadCSV(strings.NewReader(text), "x.csv"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q in it", text, err, want)
		}
	}
}
