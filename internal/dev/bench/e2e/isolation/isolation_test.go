package isolation

import (
	"path/filepath"
	"testing"
)

// cAdvisor takes each folder node*[0-9] with its cpu*[0-9], and leaves out those whose number is not online.
func TestWriteNodes(t *testing.T) {
	for _, c := range []struct{ there, cpus, nodes int }{{2, 8, 4}, {3, 8, 3}, {1, 2, 2}, {8, 8, 1}} {
		dir := t.TempDir()
		if err := writeNodes(dir, c.there, c.cpus); err != nil {
			t.Fatal(err)
		}
		nodes, err := filepath.Glob(dir + "/node*[0-9]")
		if err != nil || len(nodes) != c.nodes {
			t.Errorf("%d CPUs of %d: %d nodes, want %d (%v)", c.cpus, c.there, len(nodes), c.nodes, err)
		}
		shown, err := filepath.Glob(dir + "/node*[0-9]/cpu*[0-9]")
		if err != nil || len(shown) != c.nodes*c.there || len(shown) < c.cpus {
			t.Errorf("%d CPUs of %d: %v (%v)", c.cpus, c.there, shown, err)
		}
		beyond, err := filepath.Glob(dir + "/node*/cpu" + string(rune('0'+c.there)))
		if err != nil || len(beyond) > 0 {
			t.Errorf("%d CPUs of %d: %v do not exist (%v)", c.cpus, c.there, beyond, err)
		}
	}
}
