package judge

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/doctor"
)

const (
	// recentWrite is how new the writes of a controller must be that acts now. It is longer than the two minutes for
	// which Plimsoll pauses after another controller's write.
	recentWrite = 5 * time.Minute
	// unattended is how old an HPA without any status must be.
	unattended = 5 * time.Minute
	// fieldManager is Plimsoll's name in managedFields; further installations add a slash and more.
	fieldManager = "plimsoll"

	loopOffFlag = "--controllers=*,-horizontal-pod-autoscaler-controller"
	modeFlag    = "horizontal-pod-autoscalers"
)

// writes are the newest ones of HPAs' statuses, of one side.
type writes struct {
	by             string
	oldest, newest time.Time
}

func (w *writes) add(by string, at time.Time) {
	if w.oldest.IsZero() || at.Before(w.oldest) {
		w.oldest = at
	}
	if at.After(w.newest) {
		w.by, w.newest = by, at
	}
}

func (w *writes) isRecent() bool { return !w.newest.IsZero() }

func isPlimsoll(manager string) bool {
	return manager == fieldManager || strings.HasPrefix(manager, fieldManager+"/")
}

// recentWrites has the writes of the last minutes, by Plimsoll and by others.
func recentWrites(f *doctor.Facts) (own, other writes) {
	for i := range f.HPAs.Value {
		for _, w := range f.HPAs.Value[i].Writes {
			if f.ServerNow().Sub(w.At) > recentWrite {
				continue
			}
			if isPlimsoll(w.By) {
				own.add(w.By, w.At)
			} else {
				other.add(w.By, w.At)
			}
		}
	}
	return own, other
}

// mode is --horizontal-pod-autoscalers of the installation.
func mode(f *doctor.Facts) string {
	for _, d := range f.Expected() {
		if value := d.Flag(modeFlag); value != "" {
			return value
		}
	}
	return "auto"
}

// loop determines which controller acts on HPAs. kube-controller-manager writes a status only if it changes, so only
// writes prove something, and silence proves nothing.
func loop(f *doctor.Facts) []doctor.Finding {
	if f.HPAs.Unread != nil {
		return unknown("who acts on HPAs", f.HPAs.Unread)
	}
	own, other := recentWrites(f)
	manager := &f.ControllerManager.Value
	switch {
	case own.isRecent() && other.isRecent():
		return []doctor.Finding{both(f, &own, &other)}
	case manager.IsHPALoopOn && mode(f) == "act":
		return []doctor.Finding{bothConfigured()}
	case other.isRecent() && mode(f) == "act":
		found := bothConfigured()
		found.What = fmt.Sprintf("%s writes the statuses of HPAs, and Plimsoll runs with --%s=act", other.by, modeFlag)
		return []doctor.Finding{found}
	}
	if found := unattendedHPAs(f); found != nil {
		return found
	}
	switch {
	case own.isRecent():
		return ok("Plimsoll acts on HPAs; no other controller has written a status within %s", recentWrite)
	case other.isRecent():
		return ok("%s acts on HPAs; Plimsoll leaves them to it, and scales by WorkloadAutoscalers", other.by)
	case manager.Pods > 0 && manager.IsHPALoopOn:
		return ok("the loop of kube-controller-manager is on")
	case manager.Pods > 0:
		return ok("the loop of kube-controller-manager is off, as --controllers says")
	case len(f.HPAs.Value) == 0:
		return nothing
	}
	return ok("no status of an HPA was written within %s; %s", recentWrite, lastWriter(f))
}

// both is the finding that two controllers have written statuses within some minutes.
func both(f *doctor.Facts, own, other *writes) doctor.Finding {
	found := doctor.Finding{
		Level: doctor.Problem,
		What: fmt.Sprintf("%s and %s both act on HPAs: they wrote statuses %s and %s ago", own.by, other.by,
			short(f.ServerNow().Sub(own.newest)), short(f.ServerNow().Sub(other.newest))),
		Why: "two controllers that scale the same workloads undo each other's decisions",
		Do: "start kube-controller-manager with " + loopOffFlag + ", or Plimsoll with --" + modeFlag +
			"=auto, which leaves HPAs to it (docs/install.md)",
	}
	if len(f.Controllers()) == 0 || mode(f) != "auto" {
		return found
	}
	// With auto, Plimsoll leaves HPAs to another controller that writes them, and takes over from one that is silent.
	switch {
	case own.oldest.After(other.newest):
		takenOver(f, &found, own, other)
	case other.oldest.After(own.newest):
		takenOver(f, &found, other, own)
	}
	return found
}

// takenOver is the finding that one controller has followed the other.
func takenOver(f *doctor.Facts, found *doctor.Finding, now, before *writes) {
	found.Level = doctor.Warning
	found.What = fmt.Sprintf("%s has taken HPAs over from %s, which last wrote a status %s ago", now.by, before.by,
		short(f.ServerNow().Sub(before.newest)))
	found.Why = "it takes some minutes to see whether both act"
	found.Do = "examine the cluster again in " + short(recentWrite)
}

func bothConfigured() doctor.Finding {
	return doctor.Finding{
		Level: doctor.Problem,
		What:  "the loop of kube-controller-manager is on, and Plimsoll runs with --" + modeFlag + "=act",
		Why:   "two controllers that scale the same workloads undo each other's decisions",
		Do: "start kube-controller-manager with " + loopOffFlag + ", or Plimsoll with --" + modeFlag +
			"=auto (docs/install.md)",
	}
}

// unattendedHPAs returns the HPAs whose status no controller has written.
func unattendedHPAs(f *doctor.Facts) []doctor.Finding {
	var names []string
	for i := range f.HPAs.Value {
		if h := &f.HPAs.Value[i]; !h.HasStatus && f.ServerNow().Sub(h.Created) > unattended {
			names = append(names, h.Namespace+"/"+h.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []doctor.Finding{{
		Level: doctor.Problem,
		What:  fmt.Sprintf("no controller acts on %s: %s", count(len(names), "HPA"), listed(names)),
		Why:   "their workloads are not scaled",
		Do: "turn on the loop of kube-controller-manager, or install Plimsoll, which acts on HPAs where no other " +
			"controller does, with Helm or with kubectl apply -k (docs/install.md)",
		Command: install(f),
	}}
}

func lastWriter(f *doctor.Facts) string {
	var all []doctor.Write
	for i := range f.HPAs.Value {
		all = append(all, f.HPAs.Value[i].Writes...)
	}
	if len(all) == 0 {
		return "who acts on them is not known"
	}
	last := slices.MaxFunc(all, func(a, b doctor.Write) int { return a.At.Compare(b.At) })
	return fmt.Sprintf("%s wrote the last, %s ago", last.By, short(f.ServerNow().Sub(last.At)))
}
