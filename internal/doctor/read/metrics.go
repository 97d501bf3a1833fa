package read

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/doctor"
)

// apiService has the fields of an APIService that the checks use.
type apiService struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Group   string `json:"group"`
		Version string `json:"version"`
		Service *struct {
			Namespace string `json:"namespace"`
			Name      string `json:"name"`
		} `json:"service"`
	} `json:"spec"`
	Status struct {
		Conditions []metav1.Condition `json:"conditions"`
	} `json:"status"`
}

// metricsGroups has the groups of the metrics APIs.
var metricsGroups = map[string]bool{
	"metrics.k8s.io": true, "custom.metrics.k8s.io": true, "external.metrics.k8s.io": true,
}

func (r *reader) apiServices(ctx context.Context) {
	what := request{verb: "list", group: "apiregistration.k8s.io", resource: "apiservices", isOfCluster: true}
	r.facts.APIServices = reading(ctx, r, what, func(ctx context.Context) ([]doctor.APIService, error) {
		var all []doctor.APIService
		err := list(ctx, r.api, "/apis/apiregistration.k8s.io/v1/apiservices", nil, func(s *apiService) {
			if metricsGroups[s.Spec.Group] {
				all = append(all, s.facts())
			}
		})
		return all, err
	})
}

func (s *apiService) facts() doctor.APIService {
	read := doctor.APIService{Name: s.Name, Group: s.Spec.Group, Version: s.Spec.Version}
	if s.Spec.Service != nil {
		read.Service = s.Spec.Service.Namespace + "/" + s.Spec.Service.Name
	}
	if c := apimeta.FindStatusCondition(s.Status.Conditions, "Available"); c != nil {
		read.IsAvailable, read.Reason, read.Message = c.Status == metav1.ConditionTrue, c.Reason, c.Message
	}
	return read
}

// podMetrics is a sample without its amounts.
type podMetrics struct {
	metav1.ObjectMeta `json:"metadata"`
	Timestamp         time.Time       `json:"timestamp"`
	Window            metav1.Duration `json:"window"`
}

// samples reads the times of all samples of metrics.k8s.io. metrics-server knows no pages.
func (r *reader) samples(ctx context.Context) {
	what := request{verb: "list", group: "metrics.k8s.io", resource: "pods"}
	r.facts.Samples = reading(ctx, r, what, func(ctx context.Context) (read doctor.Samples, err error) {
		for _, version := range []string{"v1", "v1beta1"} {
			if read, err = r.samplesOf(ctx, version); !isUnserved(err) && !apierrors.IsServiceUnavailable(err) {
				break
			}
		}
		if isUnserved(err) {
			return doctor.Samples{}, nil
		}
		if err == nil && read.Pods == 0 {
			read.Nodes = r.nodeSamples(ctx, read.Version)
		}
		read.ReadAt = time.Now()
		return read, err
	})
}

func (r *reader) samplesOf(ctx context.Context, version string) (doctor.Samples, error) {
	read := doctor.Samples{IsServed: true, Version: version}
	err := list(ctx, r.api, "/apis/metrics.k8s.io/"+version+"/pods", nil, func(m *podMetrics) {
		read.Pods++
		read.Window = max(read.Window, m.Window.Duration)
		if m.Timestamp.After(read.Newest) {
			read.Newest = m.Timestamp
		}
		if read.Oldest.IsZero() || m.Timestamp.Before(read.Oldest) {
			read.Oldest, read.OldestPod = m.Timestamp, m.Namespace+"/"+m.Name
		}
	})
	return read, err
}

// nodeSamples returns the number of nodes with samples, which show that metrics-server works before any pod runs.
func (r *reader) nodeSamples(ctx context.Context, version string) int {
	nodes := 0
	path := "/apis/metrics.k8s.io/" + version + "/nodes"
	if err := list(ctx, r.api, path, nil, func(*podMetrics) { nodes++ }); err != nil {
		return 0
	}
	return nodes
}
