package updater

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/controller/vertical/updater/admission"
	"github.com/plimsoll-dev/plimsoll/internal/controller/vertical/updater/workloads"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/conflict"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
)

// Config configures a Controller.
type Config struct {
	Client   kubernetes.Interface
	Statuses StatusClient
	// Sources are started by the process.
	workloads.Sources
	// Conflicts returns the conflicts with horizontal autoscalers; it may be nil.
	Conflicts func(*vpav1.VerticalPodAutoscaler, []string) []conflict.Conflict
	// Used reads the use of the containers of a workload's pods, by the pods' names; nil without a source.
	Used func(ctx context.Context, namespace string, pods []string) map[string]map[string]vertical.Amounts
	// Resizes reports whether the API server can resize pods; nil if it can.
	Resizes    func() bool
	Events     record.EventRecorder
	Registerer prometheus.Registerer
	Log        logr.Logger

	// Defaults has the operator's settings, for fields that an object does not set.
	Defaults update.Policy
	Gates    observevertical.Gates
	Lease    admission.Lease
	// Interval is the time between passes, and the longest that one may take.
	Interval time.Duration
	// EvictionRate and EvictionBurst limit evictions and, separately, resizes.
	EvictionRate  float64
	EvictionBurst int
	// MaxEvictionPercent of all pods with a VerticalPodAutoscaler may be evicted within MaxEvictionWindow; 0 means no
	// limit.
	MaxEvictionPercent float64
	MaxEvictionWindow  time.Duration
	// UnboostWorkers is the number of workloads whose start-up boosts are removed at once.
	UnboostWorkers int
	// Namespace restricts the objects to one namespace; empty means all. Those in Ignored are excluded.
	Namespace string
	Ignored   []string
}

func (c *Config) validate() error {
	if c.Client == nil || c.Statuses == nil || c.Autoscalers == nil || c.Informers == nil || c.Pods == nil ||
		c.Owners == nil || c.Events == nil {
		return errors.New("updater: a client, informers, owners and a recorder are needed")
	}
	if c.Interval <= 0 {
		return fmt.Errorf("updater: an interval of %s", c.Interval)
	}
	if !c.Lease.Ignored && (c.Lease.Name == "" || c.Lease.Timeout <= 0) {
		return errors.New("updater: the admission controller's Lease needs a name and a timeout")
	}
	return nil
}
