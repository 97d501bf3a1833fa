package simulate

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/internal/simulate/world"
)

func TestWorkFlag(t *testing.T) {
	var got workFlag
	for _, text := range []string{
		"cpu=500m,every=1m,for=5s", "cpu=1,every=30s,for=1s,shift=13s", "memory=10Ki,every=20m", "cpu=0.2,of=first",
	} {
		if err := got.Set(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	want := workFlag{
		{CPUMilli: 500, Every: time.Minute, Lasts: 5 * time.Second},
		{CPUMilli: 1000, Every: 30 * time.Second, Lasts: time.Second, Shift: 13 * time.Second},
		{MemoryBytesPerSecond: 10240, Every: 20 * time.Minute},
		{CPUMilli: 200, Pods: world.FirstPod},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, text := range []string{
		"", "cpu", "cpu=x", "every=1m", "cpu=1,every=1", "cpu=1,for=-1s", "cpu=1,of=second", "disk=1", "cpu=-1",
	} {
		if err := got.Set(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}
