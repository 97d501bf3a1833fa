package readings

import (
	"errors"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/podload"
	snapshothorizontal "github.com/plimsoll-dev/plimsoll/internal/snapshot/horizontal"
)

// TestUnreadNodesInSnapshots: a snapshot has how many nodes cannot be read, and the error of the first.
func TestUnreadNodesInSnapshots(t *testing.T) {
	unread := unreadOf(&podload.Unreadable{Pods: 4, Ready: 4, Node: "node-2", OtherNodes: 3, Err: errors.New("down")})
	r := Result{nodesUnread: "4 of 4 ready pods", unread: unread}
	step := &snapshothorizontal.Step{Snapshot: &snapshothorizontal.Snapshot{}}
	r.AddTo(step, &Decision{})
	if s := step.Snapshot.Samples; s == nil || s.Unread == nil || *s.Unread != (snapshothorizontal.UnreadNodes{
		Nodes: 4, Message: "down",
	}) {
		t.Errorf("the snapshot has %+v", s)
	}
}
