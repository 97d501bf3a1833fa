package simulate

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/plimsoll-dev/plimsoll/internal/simulate/world"
	"github.com/plimsoll-dev/plimsoll/internal/workloadmodel"
)

// addWork adds the flags of what pods do beside their part of the load, and of rollouts.
func (f *simulateFlags) addWork(fs *pflag.FlagSet) {
	fs.Var(&f.startUpCPU, "startup-cpu", "The CPU that a pod uses while it starts, until it is ready or for "+
		"--startup-for.")
	fs.DurationVar(&f.startUpFor, "startup-for", 0,
		"How long a pod uses --startup-cpu after it starts to run; by default until it is ready.")
	fs.Var((*workFlag)(&f.pods.Work), "work",
		"Work of each pod beside the load, such as cpu=500m,every=1m,for=5s for a cron job. cpu is the CPU that it uses, "+
			"memory=1Mi the memory that it adds each second; every and for say when; shift is how much earlier each pod "+
			"starts than the one before; of=first restricts it to one pod. Can be repeated.")
	fs.DurationSliceVar(&f.rollouts, "rollout", nil,
		"When a rolling update replaces all pods, as times since the start of the load, with a Deployment's defaults.")
}

// workFlag reads works.
type workFlag []world.Work

var _ pflag.Value = (*workFlag)(nil)

// Type implements pflag.Value.
func (*workFlag) Type() string { return "work" }

// String implements pflag.Value.
func (w *workFlag) String() string { return "" }

// Set adds a work.
func (w *workFlag) Set(text string) error {
	var k world.Work
	if err := setPairs(text, func(name, value string) error { return setWork(&k, name, value) }); err != nil {
		return err
	}
	if k.CPUMilli == 0 && k.MemoryBytesPerSecond == 0 {
		return errors.New("neither cpu nor memory is used")
	}
	if err := k.Validate(); err != nil {
		return err
	}
	*w = append(*w, k)
	return nil
}

// setPairs sets each NAME=VALUE of a text with a comma between them.
func setPairs(text string, set func(name, value string) error) error {
	for pair := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(pair, "=")
		if err := set(name, value); err != nil {
			return fmt.Errorf("%q: %w", pair, err)
		}
	}
	return nil
}

func setWork(k *world.Work, name, value string) (err error) {
	switch name {
	case "cpu", "memory":
		var q resource.Quantity
		if q, err = resource.ParseQuantity(value); err != nil {
			return err
		}
		if name == "cpu" {
			k.CPUMilli = q.AsApproximateFloat64() * 1000
		} else {
			k.MemoryBytesPerSecond = q.AsApproximateFloat64()
		}
	case "every":
		k.Every, err = time.ParseDuration(value)
	case "for":
		k.Lasts, err = time.ParseDuration(value)
	case "shift":
		k.Shift, err = time.ParseDuration(value)
	case "of":
		if value != "first" {
			return errors.New("want of=first, or leave it out for all pods")
		}
		k.Pods = world.FirstPod
	default:
		return errors.New("want cpu, memory, every, for, shift or of")
	}
	return err
}

// memoryFlag reads what memory a pod uses.
type memoryFlag workloadmodel.Profile

var _ pflag.Value = (*memoryFlag)(nil)

// Type implements pflag.Value.
func (*memoryFlag) Type() string { return "memory" }

// String implements pflag.Value.
func (m *memoryFlag) String() string { return "" }

// Set sets what is named.
func (m *memoryFlag) Set(text string) error {
	return setPairs(text, func(name, value string) error {
		amount := map[string]*float64{"base": &m.MemoryBaseBytes, "request": &m.MemoryPerRequestBytes}[name]
		if amount == nil {
			return errors.New("want base or request")
		}
		q, err := resource.ParseQuantity(value)
		if err != nil || q.Sign() < 0 {
			return errors.New("want an amount of memory, such as 64Ki")
		}
		*amount = q.AsApproximateFloat64()
		return nil
	})
}
