package externalscaler

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/plimsoll-dev/plimsoll/internal/collect/clientauth"
	"github.com/plimsoll-dev/plimsoll/internal/collect/externalscaler/pb"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// words are the text of a scaler that tries to be quoted.
const words = "ignore-previous-warnings"

// Types of HTTP/2 frames, and its preface.
const (
	data         = 0x0
	headers      = 0x1
	settings     = 0x4
	ping         = 0x6
	goAway       = 0x7
	continuation = 0x9
	preface      = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
)

func frame(kind, flags byte, stream uint32, payload ...byte) []byte {
	head := binary.BigEndian.AppendUint32(nil, uint32(len(payload))<<8|uint32(kind))
	head = append(head, flags)
	return append(binary.BigEndian.AppendUint32(head, stream), payload...)
}

// begin makes the server's part of the HTTP/2 preface.
func begin(conn net.Conn) error {
	if _, err := io.ReadFull(conn, make([]byte, len(preface))); err != nil {
		return err
	}
	_, err := conn.Write(frame(settings, 0, 0))
	go func() { _, _ = io.Copy(io.Discard, conn) }()
	return err
}

// repeat writes the same until the connection ends.
func repeat(conn net.Conn, what []byte) {
	what = bytes.Repeat(what, 1+4096/len(what))
	for {
		if _, err := conn.Write(what); err != nil {
			return
		}
	}
}

// raw are servers without gRPC.
var raw = map[string]func(ctx context.Context, conn net.Conn){
	"it closes each connection": func(context.Context, net.Conn) {},
	"it says nothing":           func(ctx context.Context, _ net.Conn) { <-ctx.Done() },
	"it is another server": func(_ context.Context, conn net.Conn) {
		_, _ = conn.Write([]byte("HTTP/1.1 400 " + words + "\r\nContent-Length: 0\r\n\r\n"))
	},
	"GOAWAY": func(_ context.Context, conn net.Conn) {
		if begin(conn) == nil {
			_, _ = conn.Write(frame(goAway, 0, 0, slices.Concat(make([]byte, 8), []byte(words))...))
		}
	},
	"GOAWAY, and the connection stays": func(ctx context.Context, conn net.Conn) {
		if begin(conn) == nil {
			_, _ = conn.Write(frame(goAway, 0, 0, make([]byte, 8)...))
			<-ctx.Done()
		}
	},
	"pings": func(_ context.Context, conn net.Conn) {
		if begin(conn) == nil {
			repeat(conn, frame(ping, 0, 0, make([]byte, 8)...))
		}
	},
	"settings": func(_ context.Context, conn net.Conn) {
		if begin(conn) == nil {
			repeat(conn, frame(settings, 0, 0))
		}
	},
	"frames without meaning": func(_ context.Context, conn net.Conn) {
		if begin(conn) == nil {
			repeat(conn, frame(0xfa, 0, 0))
		}
	},
	"headers without end": func(_ context.Context, conn net.Conn) {
		if begin(conn) == nil {
			_, _ = conn.Write(frame(headers, 0, 1))
			repeat(conn, frame(continuation, 0, 1))
		}
	},
	"slow headers": func(ctx context.Context, conn net.Conn) {
		if begin(conn) != nil {
			return
		}
		_, err := conn.Write(frame(headers, 0, 1, make([]byte, 8<<10)...)[:9])
		for err == nil && ctx.Err() == nil {
			time.Sleep(time.Second) //nolint:forbidigo // virtual time: it passes at once
			_, err = conn.Write([]byte{0})
		}
	},
}

// hostile are scalers.
var hostile = map[string]struct {
	change func(*scaler)
	err    string
}{
	"a huge message": {func(s *scaler) {
		s.metrics = func(context.Context, *pb.GetMetricsRequest) (*pb.GetMetricsResponse, error) {
			value := &pb.MetricValue{MetricName: strings.Repeat(words, 10_000)}
			return &pb.GetMetricsResponse{MetricValues: slices.Repeat([]*pb.MetricValue{value}, 50)}, nil
		}
	}, "GetMetrics: ResourceExhausted"},
	"1,001 values": {func(s *scaler) {
		s.metrics = func(context.Context, *pb.GetMetricsRequest) (*pb.GetMetricsResponse, error) {
			value := &pb.MetricValue{MetricName: words, MetricValue: 1}
			return &pb.GetMetricsResponse{MetricValues: slices.Repeat([]*pb.MetricValue{value}, maxValues+1)}, nil
		}
	}, "1001 values"},
	"101 metrics": {func(s *scaler) {
		s.spec = func(*pb.ScaledObjectRef) (*pb.GetMetricSpecResponse, error) {
			return &pb.GetMetricSpecResponse{
				MetricSpecs: slices.Repeat([]*pb.MetricSpec{{MetricName: words, TargetSize: 1}}, maxMetrics+1),
			}, nil
		}
	}, "101 metrics"},
	"a status with words": {func(s *scaler) {
		s.metrics = func(ctx context.Context, _ *pb.GetMetricsRequest) (*pb.GetMetricsResponse, error) {
			_ = grpc.SetTrailer(ctx, metadata.Pairs("words", words))
			return nil, status.Error(codes.Unavailable, words)
		}
	}, "GetMetrics: Unavailable"},
	"an unknown status": {func(s *scaler) {
		s.metrics = func(context.Context, *pb.GetMetricsRequest) (*pb.GetMetricsResponse, error) {
			return nil, status.Error(4711, words)
		}
	}, "GetMetrics: Code(4711)"},
	"large headers": {func(s *scaler) {
		s.metrics = func(ctx context.Context, _ *pb.GetMetricsRequest) (*pb.GetMetricsResponse, error) {
			_ = grpc.SendHeader(ctx, metadata.Pairs("words", strings.Repeat(words, 10_000)))
			return &pb.GetMetricsResponse{MetricValues: []*pb.MetricValue{{MetricValue: 1}}}, nil
		}
	}, "GetMetrics: "},
	"no answer": {func(s *scaler) {
		s.metrics = func(ctx context.Context, _ *pb.GetMetricsRequest) (*pb.GetMetricsResponse, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
	}, "GetMetrics: no response within 3s"},
}

// meter counts the bytes read from a connection.
type meter struct {
	net.Conn

	read *atomic.Int64
}

func (m meter) Read(b []byte) (int, error) {
	n, err := m.Conn.Read(b)
	m.read.Add(int64(n))
	return n, err
}

// metered is the network's Dial with a count of the bytes read from the host evil.
func (n *network) metered(read *atomic.Int64) func(context.Context, string, string, uint16) (net.Conn, error) {
	return func(ctx context.Context, namespace, host string, port uint16) (net.Conn, error) {
		conn, err := n.dial(ctx, namespace, host, port)
		if err == nil && host == "evil" {
			conn = meter{conn, read}
		}
		return conn, err
	}
}

// serveRaw serves something other than gRPC.
func (n *network) serveRaw(t *testing.T, where string, serve func(context.Context, net.Conn)) {
	t.Helper()
	listener := bufconn.Listen(64 << 10)
	n.listeners[where] = listener
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer func() { _ = conn.Close() }()
				defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
				serve(ctx, conn)
			})
		}
	})
	t.Cleanup(func() {
		cancel()
		_ = listener.Close()
		wg.Wait()
	})
}

// TestHostileServers: a server that is no scaler costs its object the metric, some connections and a bounded number of
// bytes. Its neighbour is polled as ever.
func TestHostileServers(t *testing.T) {
	for name, serve := range raw {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNetwork()
				n.serveRaw(t, "team-a/evil", serve)
				beside(t, n, "")
			})
		})
	}
}

func TestHostileScalers(t *testing.T) {
	for name, c := range hostile {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n, evil := newNetwork(), queue()
				c.change(evil)
				n.serve(t, "team-a/evil", evil)
				beside(t, n, c.err)
			})
		})
	}
}

// beside reads a metric of the host evil, and others, for 20 s.
func beside(t *testing.T, n *network, want string) {
	t.Helper()
	const seconds = 20
	n.serve(t, "team-a/scaler", queue())
	var read atomic.Int64
	s, notices, _ := run(t, Config{Dial: n.metered(&read)})
	victim, neighbour := observe.WLA("team-a", "victim"), worker
	e := spec()
	e.Address, e.Interval = "evil:6000", time.Second
	began := time.Now()
	s.look(victim, e)
	look(s)
	for time.Since(began) < seconds*time.Second {
		time.Sleep(time.Second) //nolint:forbidigo // virtual time: it passes at once
		if answer := look(s); answer.Err != nil || answer.IsPending {
			t.Fatalf("the neighbour: %+v", answer)
		}
		answer := s.look(victim, e)
		switch {
		case answer.IsPending:
			if time.Since(began) > 3*time.Second {
				t.Fatal("it is pending for ever")
			}
		case answer.Err == nil || answer.Series != nil:
			t.Fatalf("%+v", answer)
		case strings.Contains(answer.Err.Error(), words) || !strings.Contains(answer.Err.Error(), want):
			t.Fatal(answer.Err)
		}
	}
	t.Log(s.look(victim, e).Err, "after", read.Load(), "bytes and", n.dialed("team-a/evil"), "connections")
	if got := len(notices.samples(neighbour)); got != seconds/5 && got != seconds/5+1 {
		t.Errorf("%d answers of the neighbour", got)
	}
	if got := n.dialed("team-a/evil"); got > seconds+dialBurst {
		t.Errorf("%d connections in %d s", got, seconds)
	}
	if got := read.Load(); got > bytesBurst+(seconds+1)*bytesPerSecond {
		t.Errorf("%d bytes in %d s", got, seconds)
	}
}

// TestBurstOnEachConnection: a server that sends its burst and closes the connection gets no other burst on the next
// one, and many servers of a namespace share one limit.
func TestBurstOnEachConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		n.serveRaw(t, "team-a/evil", func(_ context.Context, conn net.Conn) {
			if begin(conn) != nil {
				return
			}
			what := bytes.Repeat(frame(ping, 0, 0, make([]byte, 8)...), 1<<10)
			for sent := 0; sent < bytesBurst; sent += len(what) {
				if _, err := conn.Write(what); err != nil {
					return
				}
			}
		})
		var read atomic.Int64
		s, _, _ := run(t, Config{Dial: n.metered(&read)})
		e := spec()
		e.Address, e.Interval = "evil:6000", time.Second
		s.look(observe.WLA("team-a", "victim"), e)
		const seconds = 60
		settle(seconds * time.Second)
		if got := read.Load(); got > bytesBurst+(seconds+1)*bytesPerSecond {
			t.Errorf("%d bytes in %d s, on %d connections", got, seconds, n.dialed("team-a/evil"))
		}
	})
}

// TestLimits: a limit outlasts its connections until its bucket is full again.
func TestLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, target := newLimits(), clientauth.Target{Namespace: "team-a", Host: "evil:6000"}
		used := l.acquire(target)
		if again := l.acquire(target); again[0] != used[0] || again[1] != used[1] {
			t.Error("two connections of a target have a limit each")
		}
		other := clientauth.Target{Namespace: "team-a", Host: "other:6000"}
		if of := l.acquire(other); of[0] == used[0] || of[1] != used[1] {
			t.Error("two targets of a namespace have one limit, or the namespace has two")
		}
		used[0].ReserveN(time.Now(), bytesBurst)
		for _, limit := range l.targets {
			limit.users = 0
		}
		if l.acquire(target)[0] != used[0] {
			t.Error("a limit is forgotten with its connection")
		}
		used[0].users = 0
		time.Sleep(bytesBurst / bytesPerSecond * time.Second) //nolint:forbidigo // virtual time: it passes at once
		if l.acquire(other); l.targets[target] != nil {
			t.Error("a limit is kept for ever")
		}
	})
}

// TestLostConnection: a connection on which nothing arrives is made again within half a minute.
func TestLostConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, q := newNetwork(), queue()
		n.serve(t, "team-a/scaler", q)
		lost := make(chan struct{})
		var dials atomic.Int64
		s, _, _ := run(t, Config{Dial: func(ctx context.Context, ns, host string, port uint16) (net.Conn, error) {
			conn, err := n.dial(ctx, ns, host, port)
			if dials.Add(1) == 1 && err == nil {
				conn = &disappearing{Conn: conn, lost: lost, closed: make(chan struct{})}
			}
			return conn, err
		}})
		look(s)
		settle(12 * time.Second)
		if answer := look(s); answer.Err != nil {
			t.Fatal(answer.Err)
		}
		close(lost)
		settle(10 * time.Second)
		if answer := look(s); answer.Err == nil || dials.Load() != 1 {
			t.Errorf("%+v, %d connections", answer, dials.Load())
		}
		settle(silentAfter)
		if answer := look(s); answer.Err != nil || dials.Load() != 2 {
			t.Errorf("%+v, %d connections", answer, dials.Load())
		}
	})
}

// disappearing is a connection to a lost node: nothing arrives, and nothing is refused.
type disappearing struct {
	net.Conn

	lost, closed chan struct{}
	once         sync.Once
}

func (d *disappearing) isLost() bool {
	select {
	case <-d.lost:
		return true
	default:
		return false
	}
}

func (d *disappearing) Read(b []byte) (int, error) {
	n, err := d.Conn.Read(b)
	if d.isLost() {
		<-d.closed
		return 0, net.ErrClosed
	}
	return n, err
}

func (d *disappearing) Write(b []byte) (int, error) {
	if d.isLost() {
		return len(b), nil
	}
	return d.Conn.Write(b)
}

func (d *disappearing) Close() error {
	d.once.Do(func() { close(d.closed) })
	return d.Conn.Close()
}
