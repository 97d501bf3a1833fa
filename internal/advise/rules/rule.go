// Package rules checks for problems that autoscaling guides warn about. Each rule
// says what is wrong and why, and has the patch that fixes it where there is one.
package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll-dev/plimsoll/internal/advise/objects"
)

// Level is how much a finding matters.
type Level int

// Levels, the least first.
const (
	Advice Level = iota
	Warning
	Error
)

// String is the level's name.
func (l Level) String() string { return [...]string{"advice", "warning", "error"}[l] }

// ParseLevel is the level of that name.
func ParseLevel(name string) (Level, error) {
	for l := Advice; l <= Error; l++ {
		if l.String() == name {
			return l, nil
		}
	}
	return 0, fmt.Errorf("%q, want error, warning or advice", name)
}

// Rule is one check.
type Rule struct {
	Name  string
	Level Level
	// Title is a short description of the problem.
	Title string
	// Why is why that matters, for the documentation.
	Why string
	// Source is the guide or the issue that warns of it.
	Source string
	// Needs are the kinds that the rule cannot do without.
	Needs []string
	// NeedsUsage says that it checks what containers used; NeedsHistory, over some time.
	NeedsUsage, NeedsHistory bool
	// NeedsLoad says that it checks the past load.
	NeedsLoad bool
	// Check finds it.
	Check func(*objects.Collection) []Finding
}

// Finding is something that a rule found.
type Finding struct {
	Rule   *Rule
	Object *objects.Object
	Field  objects.Field
	// Why is one sentence, with the numbers.
	Why string
	// Remedy says what to do, where no patch can or more is to be thought of.
	Remedy string
	// Snippet is YAML to paste into a manifest; empty where there is none.
	Snippet string
	// Patch mends it; nil where only the owner can know how.
	Patch *Patch
}

// Skipped is a rule that was not looked for.
type Skipped struct {
	Rule *Rule
	Why  string
}

// Report is what was found.
type Report struct {
	Findings []Finding
	Skipped  []Skipped
	// Ignored is how many findings the objects' annotations keep back.
	Ignored int
	// Workloads and Autoscalers are how many were checked.
	Workloads, Autoscalers int
	// Unexamined is what could not be checked.
	Unexamined []Unexamined
}

// Unexamined is an object that no rule examines, or whose target none does.
type Unexamined struct {
	Object *objects.Object
	// Target is the kind and the name of its target, where that is what is not examined.
	Target string
	Why    string
}

// All are the rules, in the order in which they are documented.
func All() []*Rule {
	var all []*Rule
	for _, theme := range [][]*Rule{
		inputRules(), invalidRules(), targetRules(), selectorRules(), requestRules(), limitRules(), boundRules(),
		valueRules(), behaviorRules(), budgetRules(), probeRules(),
		verticalRules(), allowedRules(), evictionRules(), sizeRules(), usageRules(), loadRules(),
	} {
		all = append(all, theme...)
	}
	return all
}

// Run runs the rules.
func Run(c *objects.Collection, rules []*Rule) Report {
	report := Report{
		Workloads: len(c.Workloads), Autoscalers: len(c.Horizontals) + len(c.Verticals) + len(c.Others),
		Unexamined: unexamined(c),
	}
	for _, rule := range rules {
		if why := rule.cannot(c); why != "" {
			report.Skipped = append(report.Skipped, Skipped{Rule: rule, Why: why})
			continue
		}
		for _, f := range rule.Check(c) {
			if f.Object.Ignores(rule.Name) {
				report.Ignored++
				continue
			}
			f.Rule = rule
			// A field that is misspelt has the name of the HPA's.
			if f.Object.Kind == objects.ScaledObject && !f.Object.Has(f.Field) {
				f.Field, _ = objects.ScaledField(f.Field)
			}
			if f.Patch != nil && f.Patch.isImpossible {
				f.Patch = nil
			}
			if f.Patch != nil {
				f.Patch.ClusterFlags = c.ClusterFlags
			}
			report.Findings = append(report.Findings, f)
		}
	}
	slices.SortStableFunc(report.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Object.Key(), b.Object.Key()),
			cmp.Compare(a.Object.Place.File, b.Object.Place.File), cmp.Compare(a.Object.Place.Line, b.Object.Place.Line),
			cmp.Compare(b.Rule.Level, a.Rule.Level))
	})
	patchOnce(report.Findings)
	return report
}

// patchOnce leaves a patch to the first of several findings, which is the worst, where others of the object would patch
// the same.
func patchOnce(all []Finding) {
	for i := range all {
		// Findings of one object follow each other.
		for k := i - 1; k >= 0 && all[i].Patch != nil && all[k].Object == all[i].Object; k-- {
			if all[i].Patch.isCovered(all[k].Patch) {
				all[i].Patch = nil
				all[i].Remedy = strings.TrimLeft(all[i].Remedy+" The patch of "+all[k].Rule.Name+" mends this too.", " ")
			}
		}
	}
}

// unexaminedOthers are the autoscalers of kinds whose settings are not read.
func unexaminedOthers(c *objects.Collection) []Unexamined {
	var all []Unexamined
	for _, o := range c.Others {
		u := Unexamined{Object: &o.Object, Why: "the settings of this kind are not known"}
		if c.IsCluster && o.Kind == objects.ScaledObject {
			if makesHPA(c, o) {
				continue // that HPA is examined
			}
			u.Why = "KEDA has made no HPA of it"
		}
		all = append(all, u)
	}
	return all
}

// unexamined returns the settings that no rule examines, because they are not known here.
func unexamined(c *objects.Collection) []Unexamined {
	all := unexaminedOthers(c)
	for _, h := range c.Horizontals {
		all = append(all, unexaminedTriggers(h)...)
	}
	for _, r := range references(c) {
		u := Unexamined{Object: r.object, Target: r.kind + " " + r.name}
		switch {
		case r.isOther || r.name == "" || slices.Contains(workloadKinds, r.kind) && r.target == nil && c.IsCluster:
			continue // target-missing, and what the API server refuses
		case r.target != nil && r.target.LacksTemplate():
			u.Target, u.Why = r.target.Borrows(), "what describes the pods of the target was not read"
		case r.target != nil:
			continue
		case c.IsCluster:
			u.Why = "pods of such targets are not read"
		default:
			u.Why = whyNotThere(c, &r)
		}
		all = append(all, u)
	}
	return all
}

// whyNotThere is why there is no target in files.
func whyNotThere(c *objects.Collection, r *reference) string {
	for _, u := range c.Unreadable {
		if u.Object != nil && u.Object.Kind == r.kind && u.Object.Name == r.name {
			return "the target cannot be read"
		}
	}
	return "the target is not in the files"
}

// cannot says why the rule cannot be looked for; it is empty if it can.
func (r *Rule) cannot(c *objects.Collection) string {
	for _, kind := range r.Needs {
		if why, unread := c.Unread[kind]; unread {
			return why
		}
	}
	switch {
	case (r.NeedsUsage || r.NeedsHistory) && c.Usage == nil:
		return "nothing is known of usage"
	case r.NeedsHistory && c.Usage.IsMoment:
		return "usage is known of one moment only"
	case r.NeedsLoad && len(c.Loads) == 0:
		return "nothing is known of the load of earlier days"
	}
	return ""
}

// Worst is the level of the worst finding; false without any.
func (r *Report) Worst() (Level, bool) {
	worst := Advice
	for _, f := range r.Findings {
		worst = max(worst, f.Rule.Level)
	}
	return worst, len(r.Findings) > 0
}
