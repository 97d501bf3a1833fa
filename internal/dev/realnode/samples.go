package realnode

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"k8s.io/client-go/rest"
)

// The families of /metrics/resource that samples are of.
const (
	containerCPU    = "container_cpu_usage_seconds_total"
	containerMemory = "container_memory_working_set_bytes"
)

// ContainerName is a container's place in the cluster.
type ContainerName struct{ Namespace, Pod, Container string }

// Sample is a kubelet's sample of a container.
type Sample struct {
	ContainerName
	// At is the time of the CPU sample, by the node's clock; memory is read at the same time.
	At              time.Time
	CPUSeconds      float64
	WorkingSetBytes float64
}

// Samples requests /metrics/resource of the kubelet, as autoscalers do: the newest sample of each container. The
// request does not cause a sample: the kubelet does not have its cAdvisor take newer statistics then (k8s.io/kubernetes
// v1.37.1, pkg/kubelet/server/stats/summary.go, GetCPUAndMemoryStats).
func (n *Node) Samples(ctx context.Context) ([]Sample, error) {
	client, err := rest.HTTPClientFor(n.config.Cluster.RESTConfig())
	if err != nil {
		return nil, fmt.Errorf("samples: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, n.KubeletURL()+"/metrics/resource", http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("samples: %w", err)
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("samples: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("samples: the kubelet answers %s", response.Status)
	}
	return ParseSamples(response.Body)
}

// ParseSamples reads what a kubelet answers at /metrics/resource.
func ParseSamples(text io.Reader) ([]Sample, error) {
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(text)
	if err != nil {
		return nil, fmt.Errorf("samples: %w", err)
	}
	memory := map[ContainerName]float64{}
	for _, m := range families[containerMemory].GetMetric() {
		memory[nameOf(m)] = m.GetGauge().GetValue()
	}
	var samples []Sample
	for _, m := range families[containerCPU].GetMetric() {
		name := nameOf(m)
		samples = append(samples, Sample{
			ContainerName: name, At: time.UnixMilli(m.GetTimestampMs()), CPUSeconds: m.GetCounter().GetValue(),
			WorkingSetBytes: memory[name],
		})
	}
	return samples, nil
}

func nameOf(metric *dto.Metric) (name ContainerName) {
	for _, label := range metric.GetLabel() {
		switch label.GetName() {
		case "namespace":
			name.Namespace = label.GetValue()
		case "pod":
			name.Pod = label.GetValue()
		case "container":
			name.Container = label.GetValue()
		}
	}
	return name
}
