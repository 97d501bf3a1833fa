package devcluster_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// TestPodsServeMetrics: a pod with the annotation has an address that serves its count of requests; others have none.
func TestPodsServeMetrics(t *testing.T) {
	c := shared.Cluster(t)
	apply(t, c, podManifest("measured", `sim.plimsoll.dev/metrics: "true"`)+`
---
apiVersion: v1
kind: Service
metadata: {name: measured, annotations: {sim.plimsoll.dev/requests-per-second: "50"}}
spec: {selector: {app: measured}, ports: [{port: 80}]}
`)
	apply(t, c, podManifest("other", ""))
	if p := awaitReadiness(t, c, "other", corev1.ConditionTrue); !strings.HasPrefix(p.Status.PodIP, "10.") {
		t.Errorf("the pod without metrics has the address %s", p.Status.PodIP)
	}
	p := awaitReadiness(t, c, "measured", corev1.ConditionTrue)
	if address, err := netip.ParseAddr(p.Status.PodIP); err != nil || !address.IsLoopback() {
		t.Fatalf("the pod has the address %q", p.Status.PodIP)
	}
	eventually(t, 20*time.Second, func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet,
			fmt.Sprintf("http://%s:%d/metrics", p.Status.PodIP, c.PodMetricsPort()), http.NoBody)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			return err
		}
		_, after, _ := strings.Cut(string(text), "\nhttp_requests_total{code=\"200\"} ")
		if count, _, _ := strings.Cut(after, "\n"); count == "" || count == "0" {
			return fmt.Errorf("%s with %q requests served", response.Status, count)
		}
		return nil
	})
}
