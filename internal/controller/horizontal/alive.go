package horizontal

import (
	"fmt"
	"time"
)

// stallTimeout is how long nothing is decided that is due before the loop counts as hung. All
// calls are bounded, by less in sum: an API server that is slow, or away, makes
// decisions fail, but end.
const stallTimeout = 5 * time.Minute

// Alive is an error if the loop hands out nothing that is due. One that waits to lead,
// or fills its caches, is alive.
func (c *Controller) Alive() error {
	if c.filling.Load() {
		return nil
	}
	if stalled := c.queue.Stalled(time.Now()); stalled > stallTimeout {
		return fmt.Errorf("nothing was decided for %s though it is due", stalled.Round(time.Second))
	}
	return nil
}
