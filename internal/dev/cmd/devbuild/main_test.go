package main

import (
	"slices"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/build"
)

func TestPartsOf(t *testing.T) {
	for name, c := range map[string]struct {
		only, without string
		ours, theirs  []string
	}{
		"by default": {ours: []string{"devcluster", "plimsoll"}, theirs: build.ControlPlane()},
		"without one": {without: "plimsoll,etcd", ours: []string{"devcluster"},
			theirs: slices.DeleteFunc(build.ControlPlane(), func(part string) bool { return part == "etcd" })},
		"parts that only few need": {only: "plimsoll,keda-operator,kube-proxy,pause", ours: []string{"plimsoll", "pause"},
			theirs: []string{"keda-operator", "kube-proxy"}},
		"a name that no part has is refused later": {only: "plimsol", ours: []string{}, theirs: []string{"plimsol"}},
	} {
		ours, theirs := partsOf(c.only, c.without)
		if !slices.Equal(ours, c.ours) || !slices.Equal(theirs, c.theirs) {
			t.Errorf("%s: %v and %v, want %v and %v", name, ours, theirs, c.ours, c.theirs)
		}
	}
}
