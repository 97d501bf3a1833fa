package devcluster

import "testing"

func TestFreePorts(t *testing.T) {
	ports, err := FreePorts(3)
	if err != nil || len(ports) != 3 {
		t.Fatalf("%v, %v", ports, err)
	}
	for _, port := range ports {
		if port < 20000 || port >= 32000 {
			t.Errorf("port %d is one that clients get", port)
		}
	}
}
