package judge

import (
	"fmt"
	"strings"

	"github.com/plimsoll-dev/plimsoll/internal/doctor"
	"github.com/plimsoll-dev/plimsoll/internal/output"
)

func rights(f *doctor.Facts) []doctor.Finding {
	if f.Rights.Unread != nil {
		return unknown("the permissions of Plimsoll's accounts", f.Rights.Unread)
	}
	if f.Rights.Value.Checked == 0 {
		return mayInstall(f)
	}
	if len(f.Rights.Value.Denied) == 0 {
		return ok("Plimsoll's accounts have all %d permissions that config/ grants", f.Rights.Value.Checked)
	}
	type key struct{ account, role string }
	var order []key
	denied := map[key][]doctor.Right{}
	for _, right := range f.Rights.Value.Denied {
		k := key{right.Account, right.Role}
		if denied[k] == nil {
			order = append(order, k)
		}
		denied[k] = append(denied[k], right)
	}
	command := output.CommandToCluster(install(f), f.Program.ClusterFlags)
	again := "apply the manifests of this version again (" + command + ")"
	if _, isOne := f.Release(); isOne {
		again = "upgrade the release with the chart of this version (" + command + ")"
	}
	var found []doctor.Finding
	for _, k := range order {
		var names []string
		for i := range denied[k] {
			names = append(names, rightText(&denied[k][i]))
		}
		found = append(found, doctor.Finding{
			Level: doctor.Problem, Object: "ServiceAccount " + k.account,
			What:    fmt.Sprintf("it may not %s", listed(names)),
			Why:     fmt.Sprintf("%s in config/ grants that, and Plimsoll fails without it", k.role),
			Do:      again + ", and find out what changed the role or its binding",
			Command: canI(&denied[k][0]),
		})
	}
	return bounded(found)
}

// rightText is as "list pods" or "update horizontalpodautoscalers.autoscaling/status".
func rightText(r *doctor.Right) string {
	text := r.Verb + " " + resourceText(r)
	if r.Name != "" {
		text += " " + r.Name
	}
	if r.Namespace != "" {
		text += " in namespace " + r.Namespace
	}
	return text
}

// resourceText is the resource with its group, as kubectl writes it.
func resourceText(r *doctor.Right) string {
	resource, subresource, hasSubresource := strings.Cut(r.Resource, "/")
	if r.Group != "" {
		resource += "." + r.Group
	}
	if hasSubresource {
		resource += "/" + subresource
	}
	return resource
}

// canI is the command that asks for the right.
func canI(r *doctor.Right) string {
	resource, subresource, hasSubresource := strings.Cut(r.Resource, "/")
	if r.Group != "" {
		resource += "." + r.Group
	}
	if r.Name != "" {
		resource += "/" + r.Name
	}
	namespace, name, _ := strings.Cut(r.Account, "/")
	command := fmt.Sprintf("kubectl auth can-i %s '%s' --as=system:serviceaccount:%s:%s", r.Verb, resource, namespace,
		name)
	if hasSubresource {
		command += " --subresource=" + subresource
	}
	if r.Namespace != "" {
		return command + " -n " + r.Namespace
	}
	return command + " -A"
}

// mayInstall says before an installation whether the caller may make it.
func mayInstall(f *doctor.Facts) []doctor.Finding {
	missing := f.InstallationRights
	if missing.Unread != nil {
		return unknown("whether you may install Plimsoll", missing.Unread)
	}
	if len(missing.Value) == 0 {
		return ok("Plimsoll is not installed; you have the permissions to install it")
	}
	return []doctor.Finding{{
		Level: doctor.Warning, What: "you may not install Plimsoll: " + listed(missing.Value),
		Why: "an installation makes these objects",
		Do:  "let a user with these permissions install it, for example with the ClusterRole cluster-admin",
	}}
}
