package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/plimsoll-dev/plimsoll/internal/advise/objects"
)

const adviceDocs = "https://kubernetes.io/docs/concepts/configuration/overview/"

func inputRules() []*Rule {
	return []*Rule{
		{
			Name: "unreadable", Level: Warning, Title: "Something cannot be read",
			Why: "Examples are a template that was not rendered, a field that the kind does not have, and " +
				"a list without items. The rest is checked, also of an object with an unknown field: a cluster ignores " +
				"misspelt fields too. If nothing can be read, the command fails.",
			Source: adviceDocs, Check: checkUnreadable,
		},
		{
			Name: "wrong-type", Level: Error, Title: "A field holds a value of another type",
			Why: "The API server refuses the object. Most often quotes are missing or too many: YAML reads off, no, on and " +
				"yes as booleans, and digits as numbers. The object is not examined any further.",
			Source: "https://kubernetes.io/docs/reference/using-api/api-concepts/#field-validation", Check: checkWrongType,
		},
		{
			Name: "version-not-served", Level: Error, Title: "The API version is not served",
			Why: "An API server refuses an object of a version or kind that it does not have, so nothing scales. What " +
				"differs from today's version in nothing but its name is examined as if it had it, unless the same object stands " +
				"beside it in a version that is served.",
			Source: "https://kubernetes.io/docs/reference/using-api/deprecation-guide/", Check: checkNotServed,
		},
		{
			Name: "defined-twice", Level: Advice, Title: "An object is defined twice",
			Why: "The definition that is applied last counts, so the rules skip the other ones. A base and " +
				"its overlay in one folder are common. To check what is applied, pass the output of " +
				"`kubectl kustomize`.",
			Source: "https://kubernetes.io/docs/tasks/manage-kubernetes-objects/kustomization/", Check: checkDefinedTwice,
		},
		{
			Name: "ignores-no-rule", Level: Warning, Title: "The annotation " + objects.IgnoreAnnotation + " names no rule",
			Why: "Rules may be renamed, and names misspelt: what was meant is not ignored.", Source: adviceDocs,
			Check: checkIgnores,
		},
	}
}

func checkUnreadable(c *objects.Collection) []Finding {
	var found []Finding
	for i := range c.Unreadable {
		if u := &c.Unreadable[i]; !u.IsWrongType {
			found = append(found, Finding{Object: u.Object, Field: u.Field, Why: u.Why,
				Remedy: "Correct it, or render the template first (helm template, kubectl kustomize)."})
		}
	}
	return found
}

func checkWrongType(c *objects.Collection) []Finding {
	var found []Finding
	for i := range c.Unreadable {
		if u := &c.Unreadable[i]; u.IsWrongType {
			found = append(found, Finding{Object: u.Object, Field: u.Field, Why: u.Why, Remedy: "Correct it."})
		}
	}
	return found
}

func checkNotServed(c *objects.Collection) []Finding {
	var found []Finding
	for i := range c.Removed {
		r := &c.Removed[i]
		why := fmt.Sprintf("No API server has a kind %s in %s, so nothing reads this object.", r.Object.Kind,
			r.Object.APIVersion)
		switch {
		case r.Since != "":
			why = fmt.Sprintf("%s of %s is not served %s.", r.Object.Kind, r.Object.APIVersion, r.Since)
		case r.Object.APIVersion == "":
			why = "The object has no apiVersion, so nothing reads it."
		}
		f := Finding{Object: r.Object, Field: objects.Field{"apiVersion"}, Why: why}
		served, isServed := c.ServedAs(r)
		switch {
		case isServed:
			f.Remedy = fmt.Sprintf("Delete it: %s, line %d, has the same object in %s, which alone counts.", served.File,
				served.Line, r.Version)
		case r.Version == "":
			f.Field, f.Remedy = objects.Field{"kind"}, "Correct the kind or the version: kubectl api-resources lists them."
		case r.IsRenamed:
			f.Patch = patch(r.Object).set(f.Field, r.Version).local()
			if r.Kind != r.Object.Kind {
				f.Field = objects.Field{"kind"}
				f.Patch.set(f.Field, r.Kind)
			}
		case r.Kind == objects.HPA:
			f.Remedy = fmt.Sprintf("Write it as %s, whose fields are others: kubectl convert -f FILE --output-version %s.",
				r.Version, r.Version)
		default:
			f.Remedy = fmt.Sprintf("Write it as %s, whose fields are others.", r.Version)
		}
		found = append(found, f)
	}
	return found
}

func checkDefinedTwice(c *objects.Collection) []Finding {
	others := map[string][]string{}
	last := map[string]*objects.Object{}
	var found []Finding
	for i := range c.Repeated {
		r := &c.Repeated[i]
		key, before := r.Object.Key(), fmt.Sprintf("%s, line %d", r.Before.File, r.Before.Line)
		if r.IsPart {
			found = append(found, Finding{
				Object: r.Object, Field: objects.Field{"metadata", "name"},
				Why: fmt.Sprintf("This is a part of the one in %s, which is checked without it.", before),
			})
			continue
		}
		others[key], last[key] = append(others[key], before), r.Object
	}
	for _, key := range slices.Sorted(maps.Keys(last)) {
		define := "defines"
		if len(others[key]) > 1 {
			define = "define"
		}
		found = append(found, Finding{
			Object: last[key], Field: objects.Field{"metadata", "name"},
			Why: fmt.Sprintf("%s, also %s it; this one counts.", strings.Join(others[key], ", and "), define),
		})
	}
	return found
}

func checkIgnores(c *objects.Collection) []Finding {
	known := map[string]bool{}
	for _, rule := range All() {
		known[rule.Name] = true
	}
	var found []Finding
	for _, o := range c.All() {
		if o.Meta == nil {
			continue
		}
		for name := range strings.SplitSeq(o.Meta.Annotations[objects.IgnoreAnnotation], ",") {
			if name = strings.TrimSpace(name); name != "" && !known[name] {
				found = append(found, Finding{
					Object: o, Field: objects.Field{"metadata", "annotations", objects.IgnoreAnnotation},
					Why: fmt.Sprintf("There is no rule %q.", name), Remedy: "docs/reference/advice.md lists the rules.",
				})
			}
		}
	}
	return found
}
