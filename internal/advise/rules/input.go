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
			Why: "Examples are a template that was not rendered, a field that the kind does not have, and " +
				"a list without items. The object is skipped and the rest is checked. A cluster ignores " +
				"misspelt fields too. If nothing can be read, the command fails.",
			Source: adviceDocs, Check: checkUnreadable,
		},
		{
			Name: "defined-twice", Level: Advice, Title: "An object is defined twice",
			Why: "The definition that is applied last counts, so the rules skip the other one. A base and " +
				"its overlay in one folder are common. To check what is applied, pass the output of " +
				"`kubectl kustomize`.",
			Source: "https://kubernetes.io/docs/tasks/manage-kubernetes-objects/kustomization/", Check: checkDefinedTwice,
		},
	}
}

func checkUnreadable(c *objects.Collection) []Finding {
	var found []Finding
	for i := range c.Unreadable {
		u := &c.Unreadable[i]
		found = append(found, Finding{Object: u.Object, Why: u.Why,
			Remedy: "Correct it, or render the template first (helm template, kubectl kustomize)."})
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
