package process

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/plimsoll-dev/plimsoll/internal/buildinfo"
	"github.com/plimsoll-dev/plimsoll/internal/panics"
)

// RegisterOwn registers the metrics of Plimsoll's own that every process has: the program's version and build, and the
// panics that it recovered from.
func RegisterOwn(registerer prometheus.Registerer) error {
	build := buildinfo.Get()
	gauge := prometheus.NewGauge(prometheus.GaugeOpts{
		Name:        "plimsoll_build_info",
		Help:        "1, labelled with the version, revision and Go version of this program.",
		ConstLabels: prometheus.Labels{"version": build.Version, "revision": build.Commit, "goversion": build.Go},
	})
	gauge.Set(1)
	if err := errors.Join(registerer.Register(gauge), registerer.Register(panics.Recovered)); err != nil {
		return fmt.Errorf("registering metrics: %w", err)
	}
	return nil
}

// RegisterCollectors registers the metrics that every process has: the Go runtime's, the operating system's and
// Plimsoll's own.
func RegisterCollectors(registerer prometheus.Registerer) error {
	if err := errors.Join(
		registerer.Register(collectors.NewGoCollector()),
		registerer.Register(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})),
	); err != nil {
		return fmt.Errorf("registering metrics: %w", err)
	}
	return RegisterOwn(registerer)
}
