package rate_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/kubelettest"
	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/rate"
)

// FuzzIngest: for any texts in any order, no rate is negative, no interval is empty or longer than a gap may be times
// the points, and the counts match the contents. The input is a few texts with a zero byte between them.
func FuzzIngest(f *testing.F) {
	node := kubelettest.Filled(1, 2, noon)
	var good []byte
	for i := range 4 {
		good = append(append(good, node.Text(at(float64(i)))...), 0)
		node.Burn(1e9)
	}
	f.Add(good, uint16(1000))
	f.Add(bytes.ReplaceAll(good, []byte("app"), []byte(`a\\`)), uint16(1))
	for _, s := range []string{
		`container_cpu_usage_seconds_total{container="a",namespace="b",pod="c"} `,
		`container_memory_working_set_bytes{pod="c",container="a",namespace="b"} `,
		`container_start_time_seconds{container="a",namespace="b",pod="c"} `,
	} {
		f.Add([]byte(s+"1e9 1\n\x00"+s+"9e9 253402300799999\n\x00"+s+"9.2e9 9223372036854775807\n\x00"+s+"1 -1\n"),
			uint16(60_000))
	}
	f.Fuzz(func(t *testing.T, input []byte, stepMillis uint16) {
		s := rate.New(rate.Config{})
		now := noon
		for one := range bytes.SplitSeq(input, []byte{0}) {
			now = now.Add(time.Duration(stepMillis) * time.Millisecond)
			round, err := s.Ingest("node-1", now, one)
			if err != nil && round != (rate.Round{Node: "node-1"}) {
				t.Fatalf("%v, and yet %+v", err, round)
			}
			if sizes := s.Sizes(); err == nil && sizes.Containers < round.Containers || sizes.Pods > sizes.Containers {
				t.Fatalf("%+v after %+v", sizes, round)
			}
		}
		for _, pod := range [][2]string{{"b", "c"}, {node.Pods[0].Namespace, node.Pods[0].Name}} {
			usages, _ := s.Usage(rate.Query{Node: "node-1", Namespace: pod[0], Pod: pod[1], Window: 15 * time.Second, Now: now},
				nil)
			for _, u := range usages {
				checkBounds(t, u)
			}
		}
	})
}

func checkBounds(t *testing.T, u rate.ContainerUsage) {
	t.Helper()
	all := append([]rate.Interval(nil), u.Recent[:u.RecentCount]...)
	if u.HasCPU {
		all = append(all, u.CPU)
	}
	for _, i := range all {
		if i.NanoCores < 0 || i.Span < rate.ShortestGap || i.Span > 16*rate.LongestGap || i.MilliCores() < 0 {
			t.Errorf("%+v", i)
		}
	}
	if u.HasCPU != (u.RecentCount > 0) || u.MemoryBytes < 0 || u.HasMemory != (u.MemoryBytes > 0) {
		t.Errorf("%+v", u)
	}
}
