package scale

import (
	"strings"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/exposition"
)

// TestRestored: of all checkpoints that are read only those count that an object restores.
func TestRestored(t *testing.T) {
	p, err := exposition.Parse(strings.NewReader(`# TYPE plimsoll_autoscaler_checkpoint_reads_total counter
plimsoll_autoscaler_checkpoint_reads_total{result="restored"} 7
plimsoll_autoscaler_checkpoint_reads_total{result="too_many"} 2
`))
	if err != nil {
		t.Fatal(err)
	}
	if n := (page{p}).restored(); n != 7 {
		t.Errorf("%d", n)
	}
}
