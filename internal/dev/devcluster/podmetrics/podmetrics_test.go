package podmetrics

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

var began = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// served is a server of the pods 127.1.0.0/16. The last number of the address is how many requests a pod has served.
func served(t testing.TB, answered func(netip.Addr)) *Server {
	t.Helper()
	pods := netip.MustParsePrefix("127.1.0.0/16")
	s, err := Serve(context.Background(), Config{Answered: answered,
		Append: func(page []byte, address netip.Addr) ([]byte, bool) {
			if !pods.Contains(address) {
				return page, false
			}
			return AppendPage(page, Values{ServedTotal: float64(address.As4()[3]), Began: began}), true
		}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func get(t testing.TB, client *http.Client, url string) (*http.Response, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	return client.Do(request)
}

// dial connects to a pod.
func dial(t testing.TB, s *Server) net.Conn {
	t.Helper()
	var dialer net.Dialer
	connection, err := dialer.DialContext(t.Context(), "tcp", fmt.Sprintf("127.1.0.1:%d", s.Port()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() }) // the server has perhaps closed it
	return connection
}

// TestEachAddressIsAPod reads over one client that keeps its connections.
func TestEachAddressIsAPod(t *testing.T) {
	var answered atomic.Int64
	s := served(t, func(netip.Addr) { answered.Add(1) })
	transport := &http.Transport{MaxIdleConnsPerHost: 1}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: 10 * time.Second}
	for range 3 {
		for pod := 1; pod <= 20; pod++ {
			response, err := get(t, client, fmt.Sprintf("http://127.1.0.%d:%d/metrics?a=b", pod, s.Port()))
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(response.Body)
			response.Body.Close()
			want := fmt.Sprintf("\nhttp_requests_total{code=\"200\"} %d\n", pod)
			if err != nil || response.StatusCode != http.StatusOK || !strings.Contains(string(text), want) {
				t.Fatalf("pod %d: %s, %v, without %q in\n%s", pod, response.Status, err, want, text)
			}
		}
	}
	// The last answer may have come before it is counted.
	for end := time.Now().Add(10 * time.Second); answered.Load() < 60 && time.Now().Before(end); {
		runtime.Gosched()
	}
	if n := answered.Load(); n != 60 {
		t.Errorf("%d answers were counted, not 60", n)
	}
}

func TestAddressWithoutAPodGivesNoAnswer(t *testing.T) {
	s := served(t, nil)
	response, err := get(t, http.DefaultClient, fmt.Sprintf("http://127.2.0.1:%d/metrics", s.Port()))
	if err == nil {
		response.Body.Close()
		t.Errorf("the answer was %s", response.Status)
	}
}

// TestRequests sends requests as they stand, over one connection each.
func TestRequests(t *testing.T) {
	s := served(t, nil)
	for name, c := range map[string]struct {
		requests []string
		want     []string // statuses
		isClosed bool
	}{
		"two at once":          {[]string{"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\nGET /metrics HTTP/1.1\r\nHost: a\r\n\r\n"}, []string{"200 OK", "200 OK"}, false},
		"in parts":             {[]string{"GET /met", "rics HTTP/1.1\r\nHost: a\r", "\n\r\n"}, []string{"200 OK"}, false},
		"a long head":          {[]string{"GET /metrics HTTP/1.1\r\nX: " + strings.Repeat("x", 5000) + "\r\n\r\n"}, []string{"200 OK"}, false},
		"too long a head":      {[]string{"GET /metrics HTTP/1.1\r\nX: " + strings.Repeat("x", longestHead)}, nil, true},
		"another path":         {[]string{"GET / HTTP/1.1\r\n\r\n"}, []string{"404 Not Found"}, false},
		"another method":       {[]string{"POST /metrics HTTP/1.1\r\n\r\n"}, []string{"405 Method Not Allowed"}, false},
		"the client closes":    {[]string{"GET /metrics HTTP/1.1\r\nconnection: Close\r\n\r\n"}, []string{"200 OK"}, true},
		"an older client":      {[]string{"GET /metrics HTTP/1.0\r\n\r\n"}, []string{"200 OK"}, true},
		"nothing is a request": {[]string{"\r\n\r\n"}, []string{"405 Method Not Allowed"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			connection := dial(t, s)
			if err := connection.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
				t.Fatal(err)
			}
			for _, part := range c.requests {
				if _, err := io.WriteString(connection, part); err != nil {
					t.Fatal(err)
				}
			}
			reader := bufio.NewReader(connection)
			for _, want := range c.want {
				response, err := http.ReadResponse(reader, nil)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := io.Copy(io.Discard, response.Body); err != nil || response.Status != want {
					t.Errorf("got %s, %v, want %s", response.Status, err, want)
				}
				response.Body.Close()
			}
			if c.isClosed {
				if _, err := reader.ReadByte(); err == nil {
					t.Error("the connection stays open")
				}
			}
		})
	}
}

// TestPageIsRead compares with the library that reads Prometheus' text.
func TestPageIsRead(t *testing.T) {
	page := AppendPage(nil, Values{
		ServedTotal: 12.9999999999, DroppedTotal: 3, QueueLength: 1.5, CPUSeconds: 0.129, MemoryBytes: 1 << 25, Began: began,
	})
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(string(page)))
	if err != nil {
		t.Fatal(err)
	}
	requests := families[MetricRequests].GetMetric()
	if len(requests) != 2 || requests[0].GetCounter().GetValue() != 13 || requests[1].GetCounter().GetValue() != 3 {
		t.Errorf("requests: %v", requests)
	}
	for name, want := range map[string]float64{
		MetricQueueLength: 1.5, "process_resident_memory_bytes": 1 << 25,
		"process_start_time_seconds": float64(began.Unix()),
	} {
		if got := families[name].GetMetric()[0].GetGauge().GetValue(); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	if got := families["process_cpu_seconds_total"].GetMetric()[0].GetCounter().GetValue(); got != 0.12 {
		t.Errorf("the CPU is %v s, want 0.12", got)
	}
	if len(page) < 3000 || len(page) > 5000 {
		t.Errorf("the page has %d bytes, not about 4 kB", len(page))
	}
}

// BenchmarkScrape measures both sides; the client here only reads.
func BenchmarkScrape(b *testing.B) {
	s := served(b, nil)
	connection := dial(b, s)
	request, buffer := []byte("GET /metrics HTTP/1.1\r\nHost: 127.1.0.1\r\n\r\n"), make([]byte, 64<<10)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := connection.Write(request); err != nil {
			b.Fatal(err)
		}
		for filled := 0; ; {
			n, err := connection.Read(buffer[filled:])
			if err != nil {
				b.Fatal(err)
			}
			filled += n
			if strings.HasSuffix(string(buffer[max(0, filled-16):filled]), "queue_length 0\n") {
				break
			}
		}
	}
}
