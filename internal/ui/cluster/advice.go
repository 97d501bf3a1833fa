package cluster

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	readcluster "github.com/plimsoll-dev/plimsoll/internal/advise/read/cluster"
	"github.com/plimsoll-dev/plimsoll/internal/advise/rules"
	"github.com/plimsoll-dev/plimsoll/internal/ui/view"
)

const (
	// adviceHolds is the time for which findings are shown before the namespace is read again, adviceTimeout bounds the
	// read.
	adviceHolds   = time.Minute
	adviceTimeout = time.Minute
	// mostNamespaces is the number of namespaces whose findings are kept.
	mostNamespaces = 50
)

// advice has the findings of plimsoll advise, by namespace. They need all objects of the namespace, and are therefore
// read while the page already shows the rest.
type advice struct {
	client dynamic.Interface
	// clusterFlags has the flags that select the cluster in commands.
	clusterFlags []string

	mu sync.Mutex
	// guarded by mu
	byNamespace map[string]*advised
}

// newAdvice returns an advice; it calls no API. clusterFlags select the cluster in commands.
func newAdvice(config *rest.Config, clusterFlags []string) (*advice, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	return &advice{client: client, clusterFlags: clusterFlags, byNamespace: map[string]*advised{}}, nil
}

// advised has the findings of a namespace.
type advised struct {
	at        time.Time
	isReading bool
	isRead    bool
	findings  []rules.Finding
	skipped   []rules.Skipped
	err       error
}

// Add adds the findings about an object and its target, and notes about missing ones.
func (a *advice) Add(ctx context.Context, o *view.Object) {
	known := a.of(ctx, o.Row.Namespace)
	switch {
	case !known.isRead:
		o.Notes = append(o.Notes, view.Note{
			What: "Advice", Why: "the objects of the namespace are being read", IsPending: true,
		})
		return
	case known.err != nil:
		o.Notes = append(o.Notes, view.Note{What: "Advice", Why: known.err.Error()})
		return
	}
	if n := len(known.skipped); n > 0 {
		o.Notes = append(o.Notes, view.Note{What: "Advice", Why: fmt.Sprintf(
			"%d more rules of plimsoll advise could not be checked. %s: %s", n, known.skipped[0].Rule.Name,
			known.skipped[0].Why)})
	}
	findings := []view.Finding{}
	for i := range known.findings {
		if f := &known.findings[i]; isAbout(f, &o.Row) {
			findings = append(findings, findingOf(f))
		}
	}
	o.Findings = &findings
}

// Read reads a namespace now: its findings are available to Add when it returns.
func (a *advice) Read(ctx context.Context, namespace string) {
	known := &advised{isReading: true}
	a.mu.Lock()
	a.byNamespace[namespace] = known
	a.mu.Unlock()
	a.read(ctx, namespace, known)
}

// isAbout reports whether a finding is about the autoscaler of a row or its target.
func isAbout(f *rules.Finding, row *view.Row) bool {
	of := f.Object
	return of.Namespace == row.Namespace &&
		(of.Kind == row.Kind && of.Name == row.Name || of.Kind+"/"+of.Name == row.Target)
}

func findingOf(f *rules.Finding) view.Finding {
	out := view.Finding{
		Rule: f.Rule.Name, Level: f.Rule.Level.String(), Title: f.Rule.Title, Object: f.Object.Kind + "/" + f.Object.Name,
		Field: f.Field.String(), Why: f.Why, Remedy: f.Remedy,
	}
	if f.Patch != nil {
		out.Command, out.Patch = f.Patch.Command(), f.Patch.YAML()
	}
	return out
}

// of returns the known findings of a namespace, and starts to read outdated ones again.
func (a *advice) of(ctx context.Context, namespace string) advised {
	a.mu.Lock()
	defer a.mu.Unlock()
	known := a.byNamespace[namespace]
	if known == nil {
		if len(a.byNamespace) >= mostNamespaces {
			clear(a.byNamespace)
		}
		known = &advised{}
		a.byNamespace[namespace] = known
	}
	if !known.isReading && time.Since(known.at) > adviceHolds {
		known.isReading = true
		go a.read(context.WithoutCancel(ctx), namespace, known)
	}
	return *known
}

func (a *advice) read(ctx context.Context, namespace string, into *advised) {
	ctx, cancel := context.WithTimeout(ctx, adviceTimeout)
	defer cancel()
	report, err := a.report(ctx, namespace)
	a.mu.Lock()
	defer a.mu.Unlock()
	*into = advised{at: time.Now(), isRead: true, findings: report.Findings, skipped: report.Skipped, err: err}
}

// report checks the rules that need no past load: reading that for all autoscalers of a namespace takes long.
func (a *advice) report(ctx context.Context, namespace string) (rules.Report, error) {
	reader := readcluster.Reader{Client: a.client, Namespace: namespace, ClusterFlags: a.clusterFlags}
	collection, err := reader.Read(ctx, time.Now())
	if err != nil {
		return rules.Report{}, err
	}
	why := ""
	collection.Usage, why = reader.Usage(ctx)
	chosen := slices.DeleteFunc(rules.All(), func(r *rules.Rule) bool { return r.NeedsLoad })
	report := rules.Run(collection, chosen)
	for i := range report.Skipped {
		if r := report.Skipped[i].Rule; why != "" && (r.NeedsUsage || r.NeedsHistory) {
			report.Skipped[i].Why = why
		}
	}
	return report, nil
}
