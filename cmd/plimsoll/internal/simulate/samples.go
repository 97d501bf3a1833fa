package simulate

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/flags"
	"github.com/plimsoll-dev/plimsoll/internal/simulate/world"
)

// addSamples adds the flags about late and missing samples: sidecars, outages of nodes, and clocks.
func (f *simulateFlags) addSamples(fs *pflag.FlagSet) {
	fs.Var((*sidecarFlag)(&f.pods.Sidecars), "sidecar",
		"Another container of each pod, such as request=50m,cpu=20m: request is its CPU request (default 0), cpu its "+
			"constant usage. Without cpu it is idle, and kubelets sample it less often. name=proxy names it for "+
			"ContainerResource metrics. Can be repeated.")
	fs.Var((*outageFlag)(&f.outages), "node-outage",
		"An outage of kubelets and node agents, such as from=5m,for=2m,groups=2: from is the time since the start of the "+
			"load, groups how many of the three groups of nodes are affected (default 1). Can be repeated.")
	fs.DurationSliceVar(&f.clockOffsets, "node-clock-offset", nil,
		"How far the clocks of the three groups of nodes are ahead, such as 0s,2s,-500ms.")
}

// sidecarFlag reads sidecars.
type sidecarFlag []world.Sidecar

var _ pflag.Value = (*sidecarFlag)(nil)

// Type implements pflag.Value.
func (*sidecarFlag) Type() string { return "container" }

// String implements pflag.Value.
func (s *sidecarFlag) String() string { return "" }

// Set adds a sidecar.
func (s *sidecarFlag) Set(text string) error {
	c := world.Sidecar{Name: fmt.Sprintf("sidecar-%d", len(*s)+1)}
	if err := setPairs(text, func(name, value string) error { return setSidecar(&c, name, value) }); err != nil {
		return err
	}
	*s = append(*s, c)
	return nil
}

func setSidecar(c *world.Sidecar, name, value string) error {
	if name == "name" {
		c.Name = value
		return nil
	}
	amount := map[string]*float64{"request": &c.CPURequestMilli, "cpu": &c.CPUMilli}[name]
	if amount == nil {
		return errors.New("want name, request or cpu")
	}
	var milli flags.MilliCPU
	err := milli.Set(value)
	*amount = float64(milli)
	return err
}

// outageFlag reads outages.
type outageFlag []world.Outage

var _ pflag.Value = (*outageFlag)(nil)

// Type implements pflag.Value.
func (*outageFlag) Type() string { return "outage" }

// String implements pflag.Value.
func (o *outageFlag) String() string { return "" }

// Set adds an outage.
func (o *outageFlag) Set(text string) error {
	one, lasts := world.Outage{Groups: 1}, time.Duration(0)
	err := setPairs(text, func(name, value string) (err error) {
		switch name {
		case "from":
			one.From, err = time.ParseDuration(value)
		case "for":
			lasts, err = time.ParseDuration(value)
		case "groups":
			one.Groups, err = strconv.Atoi(value)
		default:
			err = errors.New("want from, for or groups")
		}
		return err
	})
	if err != nil {
		return err
	}
	if lasts <= 0 {
		return errors.New("want for=TIME, how long it lasts")
	}
	one.To = one.From + lasts
	*o = append(*o, one)
	return nil
}
