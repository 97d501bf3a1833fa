package rules

import (
	"fmt"

	"github.com/plimsoll-dev/plimsoll/internal/advise/objects"
)

const adviceDocs = "https://kubernetes.io/docs/concepts/configuration/overview/"

func inputRules() []*Rule {
	return []*Rule{
		{
			Name: "unreadable", Level: Warning, Title: "Something cannot be read",
			Why: "A template that was not rendered, a field that the kind does not have, a list with nothing in it: it is left out, and the rest is looked at. What is misspelt " +
				"does not count on a cluster either. Where nothing at all can be read, the command fails.",
			Source: adviceDocs, Check: checkUnreadable,
		},
		{
			Name: "defined-twice", Level: Advice, Title: "An object stands in two places",
			Why: "Whatever is applied last counts, and so it does here: the other one is not looked at. A base and its overlay in one folder are usual; give what " +
				"`kubectl kustomize` makes of them to see what is applied.",
			Source: "https://kubernetes.io/docs/tasks/manage-kubernetes-objects/kustomization/", Check: checkDefinedTwice,
		},
	}
}

func checkUnreadable(c *objects.Collection) []Finding {
	var found []Finding
	for i := range c.Unreadable {
		u := &c.Unreadable[i]
		found = append(found, Finding{Object: u.Object, Why: u.Why, Remedy: "Correct it, or render the template first (helm template, kubectl kustomize)."})
	}
	return found
}

func checkDefinedTwice(c *objects.Collection) []Finding {
	var found []Finding
	for i := range c.Repeated {
		r := &c.Repeated[i]
		found = append(found, Finding{
			Object: r.Object, Field: objects.Field{"metadata", "name"},
			Why: fmt.Sprintf("It stands in %s, line %d, too.", r.Before.File, r.Before.Line),
		})
	}
	return found
}
