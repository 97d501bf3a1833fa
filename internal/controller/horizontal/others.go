package horizontal

import (
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/readings"
	"github.com/plimsoll-dev/plimsoll/internal/kube/podindex"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
)

// observeOthers finds the pods of metrics that are not of the target's pods, and makes their source follow them.
func (o *observer) observeOthers(p *pass) {
	key, specs := p.autoscaler.Key(), p.record.ownSpecs
	found := p.scratch.otherPods(len(specs))
	selectors := o.otherSelectors(p, found)
	o.pods.SetOthers(key, selectors)
	for i := range found {
		set, ok := specs.OthersOf(i)
		if !ok {
			continue
		}
		if first := firstOf(specs, i, set); first < i {
			found[i].Pods, found[i].Err, found[i].IsShared = found[first].Pods, found[first].Err, true
			continue
		}
		if selector := p.record.others[i]; selector != nil {
			found[i].Pods = o.pods.AppendOthers(found[i].Pods, key.Namespace, selector)
		}
		o.reader.Own.Follow(key, set, found[i].Pods)
	}
}

// firstOf returns the first metric that reads the same pods as metric i, which they are looked up for once.
func firstOf(specs readings.Specs, i int, set sources.PodSet) int {
	for j := range i {
		if other, ok := specs.OthersOf(j); ok && other == set {
			return j
		}
	}
	return i
}

// otherSelectors updates the selectors of the record, and returns those that are known. It sets the errors of the
// others.
func (o *observer) otherSelectors(p *pass, found []readings.OtherPods) (known []*podindex.Selector) {
	record := p.record
	for i := range found {
		set, ok := record.ownSpecs.OthersOf(i)
		if !ok || firstOf(record.ownSpecs, i, set) < i {
			continue
		}
		if record.others == nil {
			record.others = make([]*podindex.Selector, len(found))
		}
		if set.Service != "" || record.others[i] == nil {
			record.others[i], found[i].Err = o.reader.Own.SelectorOf(p.autoscaler.Namespace, set)
		}
		if record.others[i] != nil {
			known = append(known, record.others[i])
		}
	}
	return known
}
