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

// TestScaler: a metric of type Scaler is read from the one server of the flag, in whatever namespace the object is.
func TestScaler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, q := newNetwork(), queue()
		n.serve(t, "team-a/scalers.plimsoll-system.svc", q)
		s, _, _ := run(t, Config{Dial: n.dial, Scalers: Scalers{Address: "scalers.plimsoll-system.svc:9090"}})
		s.look(worker, scalerSpec(t))
		settle(time.Second)
		answer := s.look(worker, scalerSpec(t))
		if answer.Err != nil || !cmp.Equal(answer.Series, []float64{12}) {
			t.Errorf("%+v", answer)
		}
		want := map[string]string{"metric": "orders", "scaler": `{"type":"redis"}`}
		if got := q.lastRef.GetScalerMetadata(); !cmp.Equal(got, want) {
			t.Errorf("got %q", got)
		}
		if q.called("StreamIsActive") > 0 {
			t.Error("a scaler of KEDA pushes nothing")
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
	for _, spec.IsScaler = range []bool{true, false} {
		_, err := r.acquire(&subscription{key: worker, spec: *spec})
		if !errors.Is(err, errTooManyOwn) || strings.Contains(err.Error(), "scalerAddress") == spec.IsScaler {
			t.Errorf("IsScaler %v: %v", spec.IsScaler, err)
		}
	}
}
