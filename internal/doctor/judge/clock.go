package judge

import (
	"fmt"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/doctor"
)

// How far two clocks may differ. Schedules, stabilization windows and samples count in seconds.
const (
	clockWarning = 10 * time.Second
	clockProblem = 30 * time.Second
)

const clockRemedy = "synchronize the clock: check chrony, systemd-timesyncd or the time source of the virtual machine"

func clock(f *doctor.Facts) []doctor.Finding {
	server := &f.Server
	if server.Unread != nil {
		return unknown("the API server's clock", server.Unread)
	}
	if !server.Value.HasClock {
		return unknown("the API server's clock", &doctor.Unread{Why: "its answers have no Date"})
	}
	var found []doctor.Finding
	off := certain(server.Value.Ahead, server.Value.Uncertainty)
	if level := clockLevel(off); level != doctor.OK {
		found = append(found, doctor.Finding{
			Level: level, What: "the API server's clock is " + direction(server.Value.Ahead) + " the clock of this machine" +
				nodesAgree(f),
			Why: "ages of samples, leases and statuses are differences between clocks; certificates, tokens and schedules " +
				"begin and end by them",
			Do: clockRemedy, Command: "date -u",
		})
	}
	compared := 0
	for i := range f.Kubelets {
		k := &f.Kubelets[i]
		if k.Unread != nil || k.Date.IsZero() {
			continue
		}
		compared++
		ahead := kubeletAhead(f, k)
		if level := clockLevel(certain(ahead, time.Second+server.Value.Uncertainty)); level != doctor.OK {
			found = append(found, doctor.Finding{
				Level: level, Object: "Node " + k.Node,
				What: "the node's clock is " + direction(ahead) + " the API server's",
				Why:  "samples from this node look too old or too new, and are not used",
				Do:   clockRemedy,
			})
		}
	}
	found = append(found, leaseClocks(f)...)
	if len(found) == 0 {
		if compared == 0 {
			return ok("this machine agrees with the API server")
		}
		return ok("this machine and %s agree with the API server", count(compared, "node"))
	}
	return bounded(found)
}

// kubeletAhead is how far a node's clock is ahead of the API server's.
func kubeletAhead(f *doctor.Facts, k *doctor.Kubelet) time.Duration {
	return k.Date.Sub(k.ReadAt.Add(f.Server.Value.Ahead))
}

// nodesAgree says on whose side the nodes are, where that is known.
func nodesAgree(f *doctor.Facts) string {
	compared, withServer := 0, 0
	for i := range f.Kubelets {
		k := &f.Kubelets[i]
		if k.Unread != nil || k.Date.IsZero() {
			continue
		}
		compared++
		if kubeletAhead(f, k).Abs() < clockWarning {
			withServer++
		}
	}
	switch {
	case compared == 0:
		return ""
	case withServer == compared:
		return fmt.Sprintf("; %s with the API server, so this machine's is wrong", agree(compared))
	case withServer == 0:
		return fmt.Sprintf("; %s with the API server either", disagree(compared))
	}
	return ""
}

func agree(n int) string {
	if n == 1 {
		return "the node agrees"
	}
	return fmt.Sprintf("%d nodes agree", n)
}

func disagree(n int) string {
	if n == 1 {
		return "the node does not agree"
	}
	return fmt.Sprintf("no node of %d agrees", n)
}

// leaseClocks finds holders of leases that renew them in the future.
func leaseClocks(f *doctor.Facts) []doctor.Finding {
	leases := f.Leases.Value
	if own := f.ControllerManager.Value.Lease; own != nil {
		leases = append(leases[:len(leases):len(leases)], *own)
	}
	var found []doctor.Finding
	for i := range leases {
		l := &leases[i]
		ahead := l.Renewed.Sub(l.ReadAt.Add(f.Server.Value.Ahead))
		level := clockLevel(max(ahead-f.Server.Value.Uncertainty, 0))
		if l.Renewed.IsZero() || level == doctor.OK {
			continue
		}
		found = append(found, doctor.Finding{
			Level: level, Object: l.String(),
			What: fmt.Sprintf("its holder %s renewed it %s in the future of the API server's clock", l.Holder, short(ahead)),
			Why:  "the clock of the holder's node is wrong",
			Do:   clockRemedy,
		})
	}
	return found
}

// certain is how much of a difference is beyond what cannot be measured.
func certain(d, uncertainty time.Duration) time.Duration { return max(d.Abs()-uncertainty, 0) }

func clockLevel(off time.Duration) doctor.Level {
	switch {
	case off >= clockProblem:
		return doctor.Problem
	case off >= clockWarning:
		return doctor.Warning
	}
	return doctor.OK
}

func direction(ahead time.Duration) string {
	if ahead < 0 {
		return short(-ahead) + " behind"
	}
	return short(ahead) + " ahead of"
}
