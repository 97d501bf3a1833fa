package load

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRead(t *testing.T) {
	const cpu = " 16133 autoscaling_utils.go:430] RC rs: sending request to consume 150 millicores\n"
	for name, c := range map[string]struct {
		log  string
		want Report
	}{
		"nothing": {"Running Suite\n  STEP: Creating a namespace @ 11/24/26 00:49:47.352\n", Report{}},
		"each on time": {"  I1124 00:50:07.640791" + cpu + "  I1124 00:50:37.700000" + cpu + "  I1124 00:51:08.100000" + cpu,
			Report{Requests: 3, LongestGapSeconds: 30.4}},
		"one late": {"I1124 00:50:00.000000" + cpu + "I1124 00:50:36.500000" + cpu + "I1124 00:51:06.500000" + cpu,
			Report{Requests: 3, Late: 1, LongestGapSeconds: 36.5}},
		"beyond midnight": {"I1124 23:59:50.000000" + cpu + "I1125 00:00:20.500000" + cpu,
			Report{Requests: 2, LongestGapSeconds: 30.5}},
		"CPU, memory and CPU by pod are loads of their own": {"I1124 00:50:00.000000" + cpu +
			"I1124 00:50:10.000000 7 a.go:1] RC rs: sending request to consume 700 MB\n" +
			"I1124 00:50:15.000000 7 a.go:1] RC rs: sending per-pod CPU request: 400 millicores total\n" +
			"I1124 00:50:30.000000" + cpu +
			"I1124 00:50:40.000000 7 a.go:1] RC rs: sending request to consume 700 MB\n" +
			"I1124 00:50:50.000000 7 a.go:1] RC rs: sending per-pod CPU request: 400 millicores total\n",
			Report{Requests: 6, Late: 1, LongestGapSeconds: 35}},
		"another amount changes no period": {"I1124 00:50:00.000000" + cpu +
			"I1124 00:50:20.000000 7 a.go:1] RC rs: setting consumption to 300 millicores in total\n" +
			"I1124 00:50:40.000000" + cpu, Report{Requests: 2, Late: 1, LongestGapSeconds: 40}},
		"switched off in between": {"I1124 00:50:00.000000" + cpu +
			"I1124 00:50:20.000000 7 a.go:1] RC rs: disabling CPU consumption\n" +
			"I1124 00:53:40.000000" + cpu, Report{Requests: 2}},
		"stopped in between": {"I1124 00:50:00.000000" + cpu +
			"I1124 00:50:20.000000 7 a.go:1] RC rs: stopping CPU consumer\n" +
			"I1124 00:53:40.000000" + cpu, Report{Requests: 2}},
		"one that hangs until the test is over": {"I1124 00:50:00.000000" + cpu +
			"I1124 00:52:00.000000 7 a.go:1] RC rs: stopping CPU consumer: context canceled\n" +
			"I1124 00:52:00.000000 7 a.go:1] RC rs: stopping mem consumer: context canceled\n",
			Report{Requests: 1, Late: 1, LongestGapSeconds: 120}},
		"failures": {"I1124 00:50:00.000000" + cpu +
			"I1124 00:50:10.000000 7 a.go:1] ConsumeCPU failure: an error on the server\n" +
			"I1124 00:50:55.000000" + cpu, Report{Requests: 2, Late: 1, LongestGapSeconds: 55, Failures: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Read(strings.NewReader(c.log))
			if err != nil {
				t.Fatal(err)
			}
			got.LongestGapSeconds = float64(int(got.LongestGapSeconds*10+0.5)) / 10
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if got.Starved() != (c.want.Late > 0) {
				t.Errorf("starved: %v", got.Starved())
			}
		})
	}
	if _, err := Read(strings.NewReader(strings.Repeat("x", 2<<20))); err == nil {
		t.Error("a line without an end is no error")
	}
}
