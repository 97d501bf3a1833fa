package conflict

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
)

func hpa(name string) Name { return Name{"HorizontalPodAutoscaler", name} }

func wla(name string) Name { return Name{"WorkloadAutoscaler", name} }

func TestFind(t *testing.T) {
	podCPU := Horizontal{Name: hpa("web"), Targets: []Target{{Resource: vertical.CPU}}}
	appMemory := Horizontal{Name: wla("heap"), Targets: []Target{{Resource: vertical.Memory, Container: "app"}}}
	average := Horizontal{Name: hpa("requests")}
	containers := []string{"app", "proxy"}
	for why, c := range map[string]struct {
		vertical    Vertical
		horizontals []Horizontal
		want        []Conflict
	}{
		"a pod's CPU is that of each container": {
			vertical:    Vertical{Mode: vertical.ModeRecreate},
			horizontals: []Horizontal{podCPU},
			want:        []Conflict{{"app", vertical.CPU, hpa("web")}, {"proxy", vertical.CPU, hpa("web")}},
		},
		"a container's memory is its own": {
			vertical:    Vertical{Mode: vertical.ModeInPlace},
			horizontals: []Horizontal{average, appMemory},
			want:        []Conflict{{"app", vertical.Memory, wla("heap")}},
		},
		"who only recommends changes nothing": {
			vertical:    Vertical{Mode: vertical.ModeOff},
			horizontals: []Horizontal{podCPU},
		},
		"requests of new pods count too": {
			vertical: Vertical{
				Mode:     vertical.ModeInitial,
				Policies: []vertical.ContainerPolicy{{Container: "proxy", Off: true, Controlled: vertical.Controls()}},
			},
			horizontals: []Horizontal{podCPU},
			want:        []Conflict{{"app", vertical.CPU, hpa("web")}},
		},
		"memory alone goes with a target on CPU": {
			vertical: Vertical{Mode: vertical.ModeRecreate, Policies: []vertical.ContainerPolicy{
				{Container: vertical.AllContainers, Controlled: [vertical.Resources]bool{vertical.Memory: true}},
			}},
			horizontals: []Horizontal{podCPU},
		},
		"without a Utilization target there is none": {
			vertical:    Vertical{Mode: vertical.ModeRecreate},
			horizontals: []Horizontal{average},
		},
	} {
		if diff := cmp.Diff(c.want, Find(&c.vertical, c.horizontals, containers)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", why, diff)
		}
	}
}

func TestSkipped(t *testing.T) {
	conflicts := []Conflict{{"app", vertical.Memory, wla("heap")}, {"proxy", vertical.CPU, hpa("web")}}
	if got := Skipped(conflicts, "app"); got != [vertical.Resources]bool{vertical.Memory: true} {
		t.Errorf("of app are skipped %v, want memory alone", got)
	}
}

func TestMessages(t *testing.T) {
	conflicts := []Conflict{
		{"app", vertical.CPU, hpa("web")}, {"app", vertical.Memory, wla("heap")}, {"proxy", vertical.CPU, hpa("web")},
	}
	for _, c := range []struct{ got, want string }{
		{
			ForVertical(conflicts, true),
			"the HorizontalPodAutoscaler web has a Utilization target on the cpu request of container app and the cpu request " +
				"of container proxy, " +
				"the WorkloadAutoscaler heap has a Utilization target on the memory request of container app, which this " +
				"object controls: " +
				"these requests are left alone; use AverageValue there, or take the resource out of controlledResources here",
		},
		{
			ForHorizontal(conflicts[:1], "shop", false),
			"a Utilization target divides by the cpu request of container app, which the VerticalPodAutoscaler shop controls: " +
				"the two move each other (--vertical-conflict=allow); use AverageValue here",
		},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}
