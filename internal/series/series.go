// Package series registers Plimsoll's Prometheus collectors.
package series

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// Register registers a collector. If an equal one is registered already, that one is used, so that a component can be
// created again in the same process.
func Register[C prometheus.Collector](registerer prometheus.Registerer, collector *C) error {
	err := registerer.Register(*collector)
	var already prometheus.AlreadyRegisteredError
	if errors.As(err, &already) {
		if existing, isSame := already.ExistingCollector.(C); isSame {
			*collector = existing
			return nil
		}
	}
	if err != nil {
		return fmt.Errorf("registering metrics: %w", err)
	}
	return nil
}
