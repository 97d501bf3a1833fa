package workloadmodel_test

import (
	"fmt"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/workloadmodel"
)

// Two pods of 200m serve 20 requests/s each; a load of 60/s lets queues grow until a third pod is ready.
func Example() {
	model := workloadmodel.New(1)
	web := model.AddWorkload("web")
	addPod := func(name string) {
		profile := workloadmodel.DefaultProfile()
		profile.IdleCPUMilli = 0
		pod := model.AddPod(workloadmodel.PodConfig{
			Name: name, Resources: workloadmodel.Resources{CPULimitMilli: 200}, Profile: profile,
		})
		pod.SetWorkload(web)
		pod.SetReady(true)
	}
	addPod("a")
	addPod("b")
	load, err := workloadmodel.ParseShape("step:20@0s,60@10s")
	if err != nil {
		fmt.Println(err)
		return
	}
	model.SetLoad(web, load)
	for s := 1; s <= 25; s++ {
		if s == 16 {
			addPod("c")
		}
		model.Advance(time.Second)
		if s%5 == 0 {
			stats := web.Stats()
			fmt.Printf("%d s: %2.0f/s offered, %2.0f/s served, %3.0f waiting, %.3f s each, %3.0fm\n", s, stats.OfferedPerSecond,
				stats.ServedPerSecond, stats.QueueLength, stats.LatencySeconds, stats.CPUMilli)
		}
	}
	// Output:
	// 5 s: 20/s offered, 20/s served,   0 waiting, 0.105 s each, 200m
	// 10 s: 20/s offered, 20/s served,   0 waiting, 0.105 s each, 200m
	// 15 s: 60/s offered, 40/s served, 100 waiting, 3.505 s each, 400m
	// 20 s: 60/s offered, 60/s served, 100 waiting, 2.672 s each, 600m
	// 25 s: 60/s offered, 60/s served, 100 waiting, 2.672 s each, 600m
}
