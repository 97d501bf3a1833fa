package harness

import (
	"context"
	"sync"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/devclustertest"
)

// Installation is the shared state of the tests of a package on a cluster where Plimsoll runs in parts, or not at all
// until a test starts it. Its zero value is ready for use.
type Installation struct {
	once sync.Once
	err  error
}

// Namespace is a namespace of the cluster, on which install was run once.
func (i *Installation) Namespace(
	t testing.TB, shared *devclustertest.Shared, install func(context.Context, *devcluster.Cluster) error,
) *Namespace {
	t.Helper()
	cluster := shared.Cluster(t)
	i.once.Do(func() { i.err = install(context.WithoutCancel(t.Context()), cluster) })
	if i.err != nil {
		t.Fatal(i.err)
	}
	return NewNamespace(t, cluster)
}
