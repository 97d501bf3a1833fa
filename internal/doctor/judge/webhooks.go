package judge

import (
	"fmt"

	"github.com/plimsoll-dev/plimsoll/internal/doctor"
)

func webhooks(f *doctor.Facts) []doctor.Finding {
	if f.Webhooks.Unread != nil {
		return unknown("the webhooks", f.Webhooks.Unread)
	}
	var found []doctor.Finding
	for i := range f.Webhooks.Value {
		w := &f.Webhooks.Value[i]
		if w.Service == "" {
			continue // a URL, which only the API server can try
		}
		switch {
		case w.Unread != nil:
			finding := unread("whether anything answers", w.Unread)
			finding.Object = w.Configuration.String()
			found = append(found, finding)
		case !w.HasService, !w.IsExternal && w.ReadyEndpoints == 0:
			found = append(found, unreachable(w))
		default:
			found = append(found, authority(f, w)...)
		}
	}
	if len(found) == 0 {
		if len(f.Webhooks.Value) == 0 {
			return nothing
		}
		return ok("no problem with %s about pods or autoscalers", count(len(f.Webhooks.Value), "webhook"))
	}
	return bounded(found)
}

// about returns the consequences of the webhook's failure.
func about(w *doctor.Webhook) (doctor.Level, string) {
	what := "autoscalers"
	if w.IsAskedAboutPods {
		what = "pods"
	}
	switch {
	case w.Fails && w.IsAskedAboutPods:
		return doctor.Problem, "the API server refuses pods while it does not answer (failurePolicy Fail): a workload " +
			"that is scaled up gets no pods"
	case w.Fails:
		return doctor.Problem, "the API server refuses changes of autoscalers while it does not answer (failurePolicy Fail)"
	case w.IsOwn && w.IsAskedAboutPods:
		return doctor.Warning, "new pods start without their recommended requests"
	}
	return doctor.Warning, "each request about " + what + " waits until it times out"
}

func unreachable(w *doctor.Webhook) doctor.Finding {
	level, why := about(w)
	found := doctor.Finding{
		Level: level, Object: w.Configuration.String(),
		What: fmt.Sprintf("webhook %s: no pod behind Service %s is ready", w.Name, w.Service),
		Why:  why,
		Do:   "start its pods, or delete the configuration if its program is gone",
		Command: fmt.Sprintf("kubectl delete %s %s    # only if what it belongs to is gone",
			kubectlKind(w.Configuration.Kind), w.Configuration.Name),
	}
	if !w.HasService {
		found.What = fmt.Sprintf("webhook %s: there is no Service %s", w.Name, w.Service)
	}
	return found
}

// authority returns the problem of the certificates that the API server trusts.
func authority(f *doctor.Facts, w *doctor.Webhook) []doctor.Finding {
	level, why := about(w)
	found := doctor.Finding{
		Level: level, Object: w.Configuration.String(), Why: why,
		Do:      "renew the certificate with the program that created it, such as cert-manager or the webhook's own server",
		Command: fmt.Sprintf("kubectl get %s %s -o yaml", kubectlKind(w.Configuration.Kind), w.Configuration.Name),
	}
	switch a := &w.Authority; {
	case a.IsMissing:
		found.What = fmt.Sprintf("webhook %s has no caBundle", w.Name)
		found.Do = "let the program that creates its certificate set it, such as cert-manager or the webhook's own server"
	case a.IsUnreadable:
		found.What = fmt.Sprintf("the caBundle of webhook %s has no certificate", w.Name)
	case !a.Expires.After(f.ServerNow()):
		found.What = fmt.Sprintf("the caBundle of webhook %s expired on %s", w.Name, a.Expires.UTC().Format("2006-01-02"))
	default:
		return nil
	}
	return []doctor.Finding{found}
}

func kubectlKind(kind string) string {
	if kind == "ValidatingWebhookConfiguration" {
		return "validatingwebhookconfiguration"
	}
	return "mutatingwebhookconfiguration"
}
