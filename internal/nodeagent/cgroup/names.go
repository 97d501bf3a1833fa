package cgroup

import (
	"fmt"
	"path"
	"strings"
)

// The maximum lengths of a pod's UID and a container's ID. UIDs have 36 characters, of static pods 32; IDs have 64.
const (
	maxUIDBytes = 63
	maxIDBytes  = 128
)

// Name is a container.
type Name struct {
	// PodUID is the UID of its pod. A static pod's is the annotation kubernetes.io/config.hash rather than the UID that
	// the API has.
	PodUID string
	// ID is its ID at the runtime, without the runtime's name in front.
	ID string
}

// Validate returns an error for a name that cannot be part of that of a cgroup.
func (n Name) Validate() error {
	switch {
	case !isPlain(n.PodUID, maxUIDBytes):
		return fmt.Errorf("%q is not the UID of a pod", cut(n.PodUID, maxUIDBytes))
	case !isPlain(n.ID, maxIDBytes):
		return fmt.Errorf("%q is not the ID of a container", cut(n.ID, maxIDBytes))
	}
	return nil
}

func cut(text string, maxBytes int) string { return text[:min(len(text), maxBytes)] }

// isPlain reports whether a text has only letters, digits and hyphens, and is neither empty nor too long.
func isPlain(text string, maxBytes int) bool {
	for i := range len(text) {
		c := text[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return text != "" && len(text) <= maxBytes
}

// qualities are the parts of a pod's cgroup that name its quality of service, guaranteed last: most pods have another.
var qualities = [][]string{{"kubepods", "burstable"}, {"kubepods", "besteffort"}, {"kubepods"}}

// driver builds names as a cgroup driver of the kubelet does.
type driver struct {
	// join makes a path of a cgroup's parts.
	join func(parts []string) string
	// containers are the forms of a container's directory, with %s for its ID.
	containers []string
}

// drivers are the kubelet's. CRI-O puts its name before the ID with cgroupfs too.
var drivers = []driver{
	{join: slice, containers: []string{"cri-containerd-%s.scope", "crio-%s.scope", "docker-%s.scope"}},
	{join: joined, containers: []string{"%s", "crio-%s"}},
}

// slice is the path of a systemd slice: a.slice/a-b.slice for the parts a and b. Hyphens
// separate the parts, so that those within a part become underscores.
func slice(parts []string) string {
	var whole strings.Builder
	name := ""
	for i, part := range parts {
		if i > 0 {
			name += "-"
			whole.WriteByte('/')
		}
		name += strings.ReplaceAll(part, "-", "_")
		whole.WriteString(name + ".slice")
	}
	return whole.String()
}

// podPaths returns the possible paths of the pod's cgroup with this driver.
func (d *driver) podPaths(root []string, uid string) []string {
	var paths []string
	for _, quality := range qualities {
		parts := append(append([]string{}, root...), quality...)
		paths = append(paths, d.join(append(parts, "pod"+uid)))
	}
	return paths
}

func joined(parts []string) string { return path.Join(parts...) }
