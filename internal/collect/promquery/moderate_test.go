package promquery

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestModerateServer: a healthy server with slow queries is polled as often as it can respond, and no metric fails for
// that. Where it would take more than a minute to serve all, metrics fail, and the error has the reason.
func TestModerateServer(t *testing.T) {
	for _, c := range []struct {
		namespaces, each int
		latency          time.Duration
		isTooSlow        bool
	}{
		{1, 50, 1500 * time.Millisecond, false}, {1, 120, 1500 * time.Millisecond, false},
		{20, 25, 1500 * time.Millisecond, false}, {50, 20, 1500 * time.Millisecond, false},
		{100, 20, 900 * time.Millisecond, false}, {50, 20, 300 * time.Millisecond, false},
		{1, 1000, 1500 * time.Millisecond, true},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNetwork(t)
				n.serve("prometheus:9090", func(w http.ResponseWriter, r *http.Request) {
					wait(r, c.latency)
					answerWith("1")(w, r)
				})
				s, end := n.run(Config{})
				defer end()
				failing, why := 0, ""
				look := func() {
					for ns := range c.namespaces {
						for i := range c.each {
							a := s.look(object(fmt.Sprint("ns-", ns), i), spec("prometheus:9090", fmt.Sprint("query-", i)))
							if a.Err != nil || a.IsPending {
								failing++
							}
							if a.Err != nil {
								why = a.Err.Error()
							}
						}
					}
				}
				for range 8 {
					look()
					sleep(syncPeriod)
				}
				failing = 0
				for range 30 {
					sleep(2 * time.Second)
					look()
				}
				if failing > 0 != c.isTooSlow {
					t.Errorf("%d of %d looks fail: %s", failing, 30*c.namespaces*c.each, why)
				}
				if c.isTooSlow && !strings.Contains(why, "queries of the namespace wait for others") {
					t.Error(why)
				}
			})
		})
	}
}

// TestPartialAnswers: a response that the server marks as partial is an error. PromQL annotations do not mark one.
func TestPartialAnswers(t *testing.T) {
	const rest = `"data":{"resultType":"vector","result":[{"metric":{},"value":[1795435200,"50"]}]}}`
	for text, isPartial := range map[string]bool{
		`"isPartial":true,`:  true,
		`"isPartial":false,`: false,
		`"warnings":["fetch series for {replica=b}: rpc error: code = Unavailable"],`: true,
		`"warnings":["No StoreAPIs matched for this query"],`:                         true,
		`"warnings":["m3db exceeded query limit: results not exhaustive"],`:           true,
		`"warnings":["Query result may contain partial data."],`:                      true,
		`"warnings":["PromQL info: metric might not be a counter: partial data"],`:    false,
		`"warnings":["PromQL warning: a remark"],"infos":["PromQL info: another"],`:   false,
		`"warnings":["PromQL warning: a remark","remote_read: the server is down"],`:  true,
		`"warnings":[],`: false,
		`"warnings":["PromQL info: metric might not be a counter: \"prometheus_remote_read_handler_queries\""],`: false,
	} {
		r := read([]byte(`{"status":"success",`+text+rest), arrived)
		if (r.err != nil) != isPartial || r.isNull || isPartial && len(r.series) > 0 {
			t.Errorf("%s: %v, %v", text, r.series, r.err)
		}
	}
	empty := `{"status":"success","isPartial":true,"data":{"resultType":"vector","result":[]}}`
	if r := read([]byte(empty), arrived); r.isNull || r.err == nil {
		t.Errorf("an empty result that is partial is none, and not 0: %v", r.err)
	}
}

// TestQueryParameters: requests ask servers for complete results, unless the metric has its own parameter.
func TestQueryParameters(t *testing.T) {
	for parameters, want := range map[string]string{
		"": "deny_partial_response=1&partial_response=false&query=up&timeout=3s",
		"dedup=false&tags[]=a+b": "dedup=false&deny_partial_response=1&partial_response=false&query=up&tags%5B%5D=a+b&" +
			"timeout=3s",
		"partial_response=true&deny_partial_response=": "partial_response=true&query=up&timeout=3s",
	} {
		p := spec("prometheus:9090", "up")
		p.Parameters = parameters
		r, err := requestOf("shop", p)
		if got := r.parameters(3 * time.Second); err != nil || got != want {
			t.Errorf("%q: %s, %v", parameters, got, err)
		}
	}
	for _, parameters := range []string{
		"query=up", "a=b&time=1", "timeout=9s", "namespace=other", "%71uery=up", "a=%zz", "a;b",
	} {
		p := spec("prometheus:9090", "up")
		p.Parameters = parameters
		if _, err := requestOf("shop", p); err == nil || !strings.Contains(err.Error(), "queryParameters") {
			t.Errorf("%q: %v", parameters, err)
		}
	}
}
