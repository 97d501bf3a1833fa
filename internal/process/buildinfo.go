package process

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// RegisterBuildInfo registers the series that says what the program was built from.
func RegisterBuildInfo(registerer prometheus.Registerer) error {
	version, revision := "unknown", "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		version = info.Main.Version
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				revision = s.Value
			}
		}
	}
	gauge := prometheus.NewGauge(prometheus.GaugeOpts{
		Name:        "plimsoll_build_info",
		Help:        "1, labelled by what this program was built from.",
		ConstLabels: prometheus.Labels{"version": version, "revision": revision, "goversion": runtime.Version()},
	})
	gauge.Set(1)
	if err := registerer.Register(gauge); err != nil {
		return fmt.Errorf("registering metrics: %w", err)
	}
	return nil
}

// RegisterCollectors registers what every process says of itself: the Go runtime's series,
// the operating system's and the build.
func RegisterCollectors(registerer prometheus.Registerer) error {
	if err := errors.Join(
		registerer.Register(collectors.NewGoCollector()),
		registerer.Register(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})),
	); err != nil {
		return fmt.Errorf("registering metrics: %w", err)
	}
	return RegisterBuildInfo(registerer)
}
