package externalscaler

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/collect/externalscaler/pb"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
)

// scalerSpec is a metric of type Scaler.
func scalerSpec(t *testing.T) *sources.ExternalScaler {
	t.Helper()
	e, err := sources.ScalerOf("orders", &plimsollv1alpha1.ScalerMetricSource{Type: "redis"})
	if err != nil {
		t.Fatal(err)
	}
	return &e
}

// TestScaler: metrics of type Scaler are read from the one server of the flag, in whatever namespace the object is.
// Each namespace has a connection of its own, on which only requests for its objects are sent, with its specs and its
// TriggerAuthentications; even where two namespaces have equal metrics.
func TestScaler(t *testing.T) {
	const host = "scalers.plimsoll-system.svc"
	own := func(name string) *sources.ExternalScaler {
		e, err := sources.ScalerOf("own", &plimsollv1alpha1.ScalerMetricSource{
			Type: "redis", AuthenticationRef: &plimsollv1alpha1.TriggerAuthenticationReference{Name: name},
		})
		if err != nil {
			t.Fatal(err)
		}
		return &e
	}
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		s, _, _ := run(t, Config{Dial: n.dial, Scalers: Scalers{Address: host + ":9090"}})
		values := map[string]int64{"team-a": 12, "team-b": 7}
		asked := map[string]*scaler{}
		for namespace, value := range values {
			q := queue()
			q.metrics = func(context.Context, *pb.GetMetricsRequest) (*pb.GetMetricsResponse, error) {
				return &pb.GetMetricsResponse{MetricValues: []*pb.MetricValue{{MetricName: "queue", MetricValue: value}}}, nil
			}
			n.serve(t, namespace+"/"+host, q)
			asked[namespace] = q
			s.Set(observe.WLA(namespace, "worker"), []sources.Spec{
				{ExternalScaler: scalerSpec(t)}, {ExternalScaler: own("redis-of-" + namespace)},
			})
		}
		settle(time.Second)
		for namespace, value := range values {
			for _, spec := range []*sources.ExternalScaler{scalerSpec(t), own("redis-of-" + namespace)} {
				answer := s.Latest(time.Now(), observe.WLA(namespace, "worker"), spec)
				if answer.Err != nil || !cmp.Equal(answer.Series, []float64{float64(value)}) {
					t.Errorf("%s: %+v", namespace, answer)
				}
			}
			q := asked[namespace]
			sent := map[string]bool{}
			for _, ref := range q.refs {
				if ref.GetNamespace() != namespace || ref.GetName() != "worker" {
					t.Errorf("a request for %s/%s is sent on the connection of %s", ref.GetNamespace(), ref.GetName(), namespace)
				}
				sent[ref.GetScalerMetadata()["metric"]+" "+ref.GetScalerMetadata()["scaler"]] = true
			}
			want := map[string]bool{
				`orders {"type":"redis"}`: true,
				`own {"type":"redis","authenticationRef":{"name":"redis-of-` + namespace + `"}}`: true,
			}
			if diff := cmp.Diff(want, sent); diff != "" {
				t.Errorf("on the connection of %s:\n%s", namespace, diff)
			}
			if n.dialed(namespace+"/"+host) != 1 || q.called("StreamIsActive") > 0 {
				t.Errorf("%s: %d connections, %d streams; one connection, and a scaler of KEDA pushes nothing", namespace,
					n.dialed(namespace+"/"+host), q.called("StreamIsActive"))
			}
		}
	})
}

// TestErrorsOfScalers: what plimsoll-scalers says is said of the metric, and how long it may take is the metric's.
func TestErrorsOfScalers(t *testing.T) {
	for want, c := range map[string]struct {
		config Config
		fail   func(context.Context) error
	}{
		"plimsoll-scalers reads metrics of type Scaler, and this controller has no --scalers-address": {},
		"connection to redis failed: WRONGPASS invalid": {
			config: Config{Scalers: Scalers{Address: "scalers:9090"}},
			fail: func(context.Context) error {
				return status.Error(codes.FailedPrecondition, "connection to redis failed:\n WRONGPASS invalid")
			},
		},
		"no response within 10s (timeoutSeconds)": {
			config: Config{Scalers: Scalers{Address: "scalers:9090"}},
			fail:   func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
		},
		"plimsoll-scalers: team-a/missing:9090: refused": {config: Config{Scalers: Scalers{Address: "missing:9090"}}},
	} {
		t.Run(want, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n, q := newNetwork(), queue()
				if c.fail != nil {
					q.metrics = func(ctx context.Context, _ *pb.GetMetricsRequest) (*pb.GetMetricsResponse, error) {
						return nil, c.fail(ctx)
					}
				}
				n.serve(t, "team-a/scalers", q)
				c.config.Dial = n.dial
				s, _, _ := run(t, c.config)
				s.look(worker, scalerSpec(t))
				settle(11 * time.Second)
				answer := s.look(worker, scalerSpec(t))
				if answer.Err == nil || !strings.Contains(answer.Err.Error(), want) {
					t.Errorf("got %v", answer.Err)
				}
			})
		})
	}
}

// TestCertificateOfScalers: an error about the certificate of plimsoll-scalers names flags, and no field of the object.
func TestCertificateOfScalers(t *testing.T) {
	for name, isOther := range map[string]bool{"scalers": true, "other": false} {
		synctest.Test(t, func(t *testing.T) {
			a, n := newAuthority(t), newNetwork()
			n.serve(t, "team-a/scalers", queue(), grpc.Creds(credentials.NewTLS(a.serverOf(t, name, time.Hour))))
			trusted := a
			if isOther {
				trusted = newAuthority(t)
			}
			s, _, _ := run(t, Config{Dial: n.dial, Scalers: Scalers{Address: "scalers:9090", CABundle: trusted.pem}})
			s.look(worker, scalerSpec(t))
			settle(11 * time.Second)
			err := s.look(worker, scalerSpec(t)).Err
			if err == nil || !strings.Contains(err.Error(), "--scalers-ca-file") || strings.Contains(err.Error(), "tlsConfig") {
				t.Errorf("a certificate for %s: %v", name, err)
			}
		})
	}
}

// TestTooManyConnections: the fields in an error are those of the metric.
func TestTooManyConnections(t *testing.T) {
	p := newPool(&Config{Scalers: Scalers{Address: "scalers:9090"}})
	p.counts["team-a"] = maxConnections
	r := &running{pool: p}
	spec := scalerSpec(t)
	for _, spec.FromPlimsollScalers = range []bool{true, false} {
		_, err := r.acquire(&subscription{key: worker, spec: *spec})
		if !errors.Is(err, errTooManyOwn) || strings.Contains(err.Error(), "scalerAddress") == spec.FromPlimsollScalers {
			t.Errorf("FromPlimsollScalers %v: %v", spec.FromPlimsollScalers, err)
		}
	}
}
