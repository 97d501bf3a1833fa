package kubelet

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/kubelettest"
	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/rate"
)

// BenchmarkScrape scrapes a server on this machine with the page of a node of 110 pods of 2 containers: it measures the
// client and the server, which sends bytes that are ready. BenchmarkGzip measures the compression, which a kubelet pays
// in addition.
func BenchmarkScrape(b *testing.B) {
	text := kubelettest.Filled(110, 2, noon).Text(noon.Add(time.Hour))
	for name, packed := range map[string]bool{"gzip": true, "plain": false} {
		b.Run(name, func(b *testing.B) {
			answer := text
			if packed {
				answer = pack(text)
			}
			s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if packed {
					w.Header().Set("Content-Encoding", "gzip")
				}
				w.Header().Set("Content-Length", strconv.Itoa(len(answer)))
				_, _ = w.Write(answer)
			}))
			defer s.Close()
			options := DefaultOptions()
			options.InsecureTLS, options.DisableCompression, options.Tokens = true, !packed, &issued{token: token}
			client, err := NewClient(&rest.Config{}, options, logr.Discard())
			if err != nil {
				b.Fatal(err)
			}
			scraper, err := NewScraper(client, rate.New(rate.Config{}))
			if err != nil {
				b.Fatal(err)
			}
			target := Target{Node: "node-1", Address: s.Listener.Addr().String()}
			b.ReportAllocs()
			var cpu time.Duration
			for b.Loop() {
				round, err := scraper.Scrape(b.Context(), target, nil)
				if err != nil {
					b.Fatal(err)
				}
				cpu += round.CPU
			}
			b.ReportMetric(float64(cpu.Nanoseconds())/float64(b.N), "measured-cpu-ns/op")
			b.ReportMetric(float64(len(answer)), "wire-bytes/op")
		})
	}
}

func BenchmarkGzip(b *testing.B) {
	text := kubelettest.Filled(110, 2, noon).Text(noon.Add(time.Hour))
	for b.Loop() {
		pack(text)
	}
}

func pack(text []byte) []byte {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write(text)
	_ = z.Close()
	return packed.Bytes()
}
