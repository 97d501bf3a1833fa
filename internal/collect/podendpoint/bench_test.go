package podendpoint

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/plimsoll-dev/plimsoll/internal/collect/podendpoint/counter"
	"github.com/plimsoll-dev/plimsoll/internal/collect/podendpoint/fetch"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
)

// serverVariable makes this program the pods of BenchmarkScrapes, so that their cost is not measured.
const serverVariable = "PLIMSOLL_BENCH_PODS"

func TestMain(m *testing.M) {
	if os.Getenv(serverVariable) != "" {
		if err := servePods(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// servePods prints its port, and serves at all addresses of 127.0.0.0/8 until its standard input ends.
func servePods() error {
	listener, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		return err
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	page := benchPage()
	response := fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"+
		"Date: Mon, 23 Nov 2026 12:00:00 GMT\r\nContent-Length: %d\r\n\r\n%s", len(page), page)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				buffer := make([]byte, 1<<10)
				for {
					n, err := conn.Read(buffer)
					if err != nil || !bytes.HasSuffix(buffer[:n], []byte("\r\n\r\n")) {
						return
					}
					if _, err := conn.Write(response); err != nil {
						return
					}
				}
			}()
		}
	}()
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// benchPage is a page of 4 kB, typical of a small server.
func benchPage() string {
	var page strings.Builder
	page.WriteString("# HELP http_requests_total Requests by code.\n# TYPE http_requests_total counter\n")
	for _, code := range []int{200, 301, 404, 500} {
		fmt.Fprintf(&page, "http_requests_total{code=\"%d\",method=\"GET\"} %d\n", code, code*1000)
	}
	for i := 0; page.Len() < 4<<10; i++ {
		fmt.Fprintf(&page, "# HELP go_memstats_%d_bytes Number of bytes.\n# TYPE go_memstats_%d_bytes gauge\n"+
			"go_memstats_%d_bytes 1.2345678e+07\n", i, i, i)
	}
	return page.String()
}

func startPods(b *testing.B) (port uint16) {
	b.Helper()
	program, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	server := exec.CommandContext(b.Context(), program)
	server.Env = append(os.Environ(), serverVariable+"=1")
	server.Stderr = os.Stderr
	stdin, errIn := server.StdinPipe()
	stdout, errOut := server.StdoutPipe()
	if errIn != nil || errOut != nil || server.Start() != nil {
		b.Fatal("the pods do not start")
	}
	b.Cleanup(func() {
		_ = stdin.Close()
		_ = server.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	if _, err := fmt.Sscan(line, &port); err != nil {
		b.Fatal(err)
	}
	return port
}

func processCPU() time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func heap() uint64 {
	var stats goruntime.MemStats
	goruntime.GC()
	goruntime.GC()
	goruntime.ReadMemStats(&stats)
	return stats.HeapAlloc + stats.StackInuse
}

// BenchmarkScrapes scrapes 10,000 pods in 1,000 objects each second, from another process, for 10 s after a warm-up,
// and decides each object at the end of its round. It prints the CPU of the whole process for each scrape and in cores,
// and memory for each pod, in total and the part that scraping adds.
func BenchmarkScrapes(b *testing.B) {
	const objects, each = 1000, 10
	port := startPods(b)
	before := heap()
	queries := map[observe.Key]*query{}
	for o := range objects {
		q := &query{Key: observe.WLA("team-a", fmt.Sprintf("web-%d", o)), Spec: &sources.PodEndpoint{
			Port: port, Path: "/metrics", Metric: "http_requests_total", IsRate: true}}
		for i := range each {
			pod := podOf(o*each + i)
			pod.Status.PodIP = fmt.Sprintf("127.1.%d.%d", (o*each+i)>>8, (o*each+i)&255)
			q.Pods = append(q.Pods, observe.PodOf(pod))
		}
		queries[q.Key] = q
	}
	withPods := heap()
	dialer := &net.Dialer{}
	s, err := New(Config{
		DialPod: func(ctx context.Context, address netip.AddrPort, _ bool) (net.Conn, error) {
			return dialer.DialContext(ctx, "tcp", address.String())
		},
		Registerer: prometheus.NewRegistry(), Log: logr.Discard(),
	})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan struct{})
	rounds := make(chan observe.Key, 2*objects)
	reported := map[observe.Key]int{}
	reports := make(chan Sampled, 4*objects*each)
	go func() {
		defer close(done)
		s.Run(ctx, func(sampled Sampled) { reports <- sampled })
	}()
	go func() {
		for sampled := range reports {
			if reported[sampled.Key]++; reported[sampled.Key] >= sampled.Reporting {
				reported[sampled.Key] = 0
				rounds <- sampled.Key
			}
		}
		close(rounds)
	}()
	var lags []time.Duration
	looks, answered := 0, 0
	go func() {
		var v View
		for key := range rounds {
			began := time.Now()
			q := queries[key]
			s.Follow(key, sources.PodSet{}, q.Pods)
			if _, err := s.Latest(began, key, q.Spec, q.Pods, &v); err == nil {
				answered++
			}
			looks++
			lags = append(lags, time.Since(began))
		}
	}()
	for _, q := range queries {
		s.Set(q.Key, []sources.Spec{{PodEndpoint: q.Spec}})
		s.Follow(q.Key, sources.PodSet{}, q.Pods)
	}
	<-time.After(5 * time.Second)
	for b.Loop() {
		cpu, totals := processCPU(), s.rounds.Totals()
		<-time.After(10 * time.Second)
		cpu, now := processCPU()-cpu, s.rounds.Totals()
		scrapes := now.Scrapes - totals.Scrapes
		b.ReportMetric(float64(cpu.Microseconds())/float64(scrapes), "us/scrape")
		b.ReportMetric(cpu.Seconds()/10, "cores")
		b.ReportMetric(float64(scrapes)/10, "scrapes/s")
		b.ReportMetric((now.CPU-totals.CPU).Seconds()/10, "counted-cores")
		b.ReportMetric(float64(now.Failures), "failures")
	}
	b.ReportMetric(float64(withPods-before)/objects/each, "B/pod")
	b.ReportMetric(float64(heap()-withPods)/objects/each, "B/scraped-pod")
	b.ReportMetric(float64(s.client.Open()), "connections")
	cancel()
	<-done
	close(reports)
	<-time.After(100 * time.Millisecond)
	slices.Sort(lags)
	b.ReportMetric(float64(looks)/15, "looks/s")
	b.ReportMetric(float64(answered)/float64(looks), "answered")
	b.ReportMetric(float64(lags[len(lags)/2].Nanoseconds())/1000, "us/look")
}

// BenchmarkRequests compares requests over 1,000 and 10,000 connections with those of net/http: 64 at a time,
// each connection in turn. It prints the CPU of a request and the memory of a connection.
func BenchmarkRequests(b *testing.B) {
	const most = 10_000
	port := startPods(b)
	dialer := &net.Dialer{}
	own := fetch.New(fetch.Config{Timeout: 10 * time.Second, MaxBytes: 1 << 20, MaxLargeBytes: 1 << 20, MaxOpen: most})
	connections := make([]fetch.Connection, most)
	address := func(i int) string { return fmt.Sprintf("127.2.%d.%d:%d", i>>8, i&255, port) }
	transport := &http.Transport{MaxIdleConnsPerHost: 1, DisableCompression: true, WriteBufferSize: 1 << 10,
		ReadBufferSize: 1 << 10, DialContext: dialer.DialContext}
	buffers := sync.Pool{New: func() any { return new(bytes.Buffer) }}
	for name, request := range map[string]func(i int) error{
		"own": func(i int) error {
			buffer, _ := buffers.Get().(*bytes.Buffer)
			defer buffers.Put(buffer)
			buffer.Grow(8 << 10)
			buffer.Reset()
			_, err := own.Get(b.Context(), &connections[i], &fetch.Request{Host: address(i), Path: "/metrics",
				Dial:   func(ctx context.Context) (net.Conn, error) { return dialer.DialContext(ctx, "tcp", address(i)) },
				Buffer: buffer.AvailableBuffer,
			})
			return err
		},
		"net/http": func(i int) error {
			ctx, cancel := context.WithTimeout(b.Context(), 10*time.Second)
			defer cancel()
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address(i)+"/metrics", http.NoBody)
			if err != nil {
				return err
			}
			response, err := transport.RoundTrip(r)
			if err != nil {
				return err
			}
			defer func() { _ = response.Body.Close() }()
			buffer, _ := buffers.Get().(*bytes.Buffer)
			defer buffers.Put(buffer)
			buffer.Reset()
			_, err = buffer.ReadFrom(response.Body)
			return err
		},
	} {
		for _, pods := range []int{1_000, most} {
			b.Run(fmt.Sprintf("%s/%d", name, pods), func(b *testing.B) {
				benchRequests(b, pods, request)
				// A process may have 20,000 descriptors here.
				for i := range connections {
					own.Close(&connections[i])
				}
				transport.CloseIdleConnections()
			})
		}
	}
}

func benchRequests(b *testing.B, pods int, request func(i int) error) {
	b.Helper()
	const atATime = 64
	before := heap()
	all(b, pods, atATime, request)
	bytes := float64(heap()-before) / float64(pods)
	b.ResetTimer()
	cpu, n := processCPU(), 0
	for b.Loop() {
		all(b, pods, atATime, request)
		n += pods
	}
	b.ReportMetric(float64((processCPU()-cpu).Nanoseconds())/1000/float64(n), "us-CPU/request")
	b.ReportMetric(bytes, "B/connection")
}

func all(b *testing.B, pods, atATime int, request func(i int) error) {
	b.Helper()
	var next atomic.Int64
	var running sync.WaitGroup
	for range atATime {
		running.Go(func() {
			for i := next.Add(1) - 1; i < int64(pods); i = next.Add(1) - 1 {
				if err := request(int(i)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	running.Wait()
}

// BenchmarkLatest measures the reads of decisions each second.
func BenchmarkLatest(b *testing.B) {
	for _, n := range []int{10, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s, err := New(Config{
				DialPod:    func(context.Context, netip.AddrPort, bool) (net.Conn, error) { return nil, io.EOF },
				Registerer: prometheus.NewRegistry(), Log: logr.Discard(),
			})
			if err != nil {
				b.Fatal(err)
			}
			q, now := rateQuery(pods(0, n)), time.Now()
			var v View
			s.Set(q.Key, []sources.Spec{{PodEndpoint: q.Spec}})
			s.Follow(q.Key, sources.PodSet{}, q.Pods)
			p := s.objects[q.Key].pages[0]
			for range 20 {
				now = now.Add(time.Second)
				for _, t := range p.targets {
					t.histories[0].Add(now, now, []counter.Value{{Series: 1, Value: float64(now.Unix())}})
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				s.Follow(q.Key, sources.PodSet{}, q.Pods)
				if _, err := s.Latest(now, q.Key, q.Spec, q.Pods, &v); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
