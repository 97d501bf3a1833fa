package checkpoints

import (
	"testing"
	"time"
)

func TestLatestCheckpointIsRead(t *testing.T) {
	old, young := stored{container: "app", at: time.Unix(1, 0)}, stored{container: "app", at: time.Unix(2, 0)}
	damaged := stored{container: "app", damage: "unreadable"}
	for _, order := range [][]stored{{old, young}, {young, old}, {damaged, young}, {young, damaged},
		{old, damaged, young}} {
		var all []stored
		for _, s := range order {
			all = latest(all, s)
		}
		if all = latest(all, stored{container: "proxy"}); len(all) != 2 || !all[0].at.Equal(young.at) {
			t.Errorf("of %v: %v", order, all)
		}
	}
}
