package flags

import (
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"
)

// MilliCPU is an amount of CPU in Kubernetes' words, such as 50m.
type MilliCPU int64

var _ pflag.Value = (*MilliCPU)(nil)

// String is the amount as a quantity.
func (m *MilliCPU) String() string {
	return resource.NewMilliQuantity(int64(*m), resource.DecimalSI).String()
}

// mostCores is more than any machine has, and far from what overflows.
const mostCores = 1_000_000

// Set reads a quantity.
func (m *MilliCPU) Set(text string) error {
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return fmt.Errorf("%q: %w", text, err)
	}
	if q.CmpInt64(mostCores) > 0 || q.CmpInt64(-mostCores) < 0 {
		return fmt.Errorf("%q: want %d cores at most", text, mostCores)
	}
	*m = MilliCPU(q.MilliValue())
	return nil
}

// Type returns the name of the value in the help.
func (*MilliCPU) Type() string { return "quantity" }
