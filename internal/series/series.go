// Package series registers the series that Plimsoll tells of itself.
package series

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// Register registers a series. One that is registered already takes its place, so
// that whoever tells it can be made anew in one process.
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
