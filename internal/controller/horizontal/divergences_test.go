package horizontal_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/types"

	controllerhorizontal "github.com/plimsoll-dev/plimsoll/internal/controller/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/horizontaltest"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
)

var update = flag.Bool("update", false, "write what the scenarios print into testdata")

// TestDivergences plays testdata/divergences.txt, with the divergences that concern more than one decision. Each block
// begins with the divergence's name and is played twice, as upstream and with that divergence on alone. Its commands,
// each of them a line:
//
//	deployment web 3             a Deployment with as many running pods
//	autoscaler web uid=a min=2 max=4 target=web
//	                             an object that wants a replica for each 100 of a queue; all but the name
//	                             may be left out
//	queue 600                    how long the queue is
//	replicas web 3               another writer scales by hand
//	delete web                   the object is deleted
//	wait 15s
//	show replicas web            what there is to see then, of each side: the count, the last writes of
//	show writes                  scales, a condition,
//	show ScalingActive web
//	show series                  and the series of desired replicas
func TestDivergences(t *testing.T) {
	const file = "testdata/divergences.txt"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	seen := map[string]bool{}
	for block := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n\n") {
		story, _, ended := strings.Cut(block, "\n----")
		name, _, named := strings.Cut(strings.TrimPrefix(story, "# "), ": ")
		if !ended || !named {
			out = append(out, block)
			continue
		}
		set, err := divergence.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		seen[name] = true
		shown := compare(play(t, divergence.None, story), play(t, set, story))
		out = append(out, story+"\n----\n"+shown)
	}
	for _, d := range []divergence.Set{divergence.HistoryByUID, divergence.DropSeries} {
		if !seen[d.String()] {
			t.Errorf("no scenario shows %s", d)
		}
	}
	played := strings.Join(out, "\n\n") + "\n"
	if *update {
		if err := os.WriteFile(file, []byte(played), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(text), played); diff != "" {
		t.Errorf("%s: (-file +played); -update writes it\n%s", file, diff)
	}
}

// view is the observed state at one moment.
type view struct {
	at   time.Duration
	text string
}

// compare prints the two sides' states one below the other.
func compare(theirs, ours []view) string {
	var lines []string
	for i := range theirs {
		lines = append(lines,
			fmt.Sprintf("%8s  upstream  %s", theirs[i].at, theirs[i].text),
			fmt.Sprintf("%8s  Plimsoll  %s", "", ours[i].text))
	}
	return strings.Join(lines, "\n")
}

// play runs the scenario in a world of its own.
func play(t *testing.T, set divergence.Set, story string) []view {
	t.Helper()
	var views []view
	inWorld(t, func(_ *testing.T, w *world) {
		w.Start(func(cfg *controllerhorizontal.Config) { cfg.Options.Divergences = set })
		began, autoscalers := time.Now(), map[string]*autoscalingv2.HorizontalPodAutoscaler{}
		for line := range strings.SplitSeq(story, "\n") {
			words := strings.Fields(line)
			switch words[0] {
			case "#":
			case "show":
				views = append(views, view{at: time.Since(began).Round(time.Second), text: w.show(words[1:])})
			case "deployment":
				autoscalers[words[1]] = horizontaltest.Externally(w.Web(words[1], w.number(words[2])))
			case "autoscaler":
				w.autoscaler(autoscalers, words[1:])
			default:
				w.command(words)
			}
		}
	})
	return views
}

// autoscaler adds the object of an existing Deployment.
func (w *world) autoscaler(known map[string]*autoscalingv2.HorizontalPodAutoscaler, words []string) {
	w.T.Helper()
	args := map[string]string{"target": words[0], "uid": words[0], "min": "1", "max": "20"}
	for _, word := range words[1:] {
		key, value, _ := strings.Cut(word, "=")
		args[key] = value
	}
	hpa := known[args["target"]].DeepCopy()
	hpa.Name, hpa.UID = words[0], types.UID(args["uid"])
	least := w.number(args["min"])
	hpa.Spec.MinReplicas, hpa.Spec.MaxReplicas = &least, w.number(args["max"])
	w.AddHPA(hpa)
}

func (w *world) command(words []string) {
	w.T.Helper()
	switch words[0] {
	case "queue":
		length := int64(w.number(words[1]))
		w.Set(func() { w.ExternalValue = func(context.Context) (int64, error) { return length, nil } })
	case "replicas":
		w.SetReplicas(words[1], w.number(words[2]))
	case "delete":
		w.DeleteHPA(words[1])
	case "wait":
		d, err := time.ParseDuration(words[1])
		if err != nil {
			w.T.Fatal(err)
		}
		w.Pass(d)
	default:
		w.T.Fatalf("what is %q?", words)
	}
}

// maxShown is the number of scale writes shown.
const maxShown = 5

func (w *world) show(words []string) string {
	w.T.Helper()
	switch words[0] {
	case "replicas":
		return fmt.Sprintf("%s has %d replicas", words[1], w.Replicas(words[1]))
	case "writes":
		writes := w.ScaleWrites()
		text := fmt.Sprintf("scale writes (%d): ", len(writes))
		if len(writes) > maxShown {
			text += "…, "
		}
		return text + strings.Join(writes[max(0, len(writes)-maxShown):], ", ")
	case "series":
		return "desired replicas: " + w.desiredSeries()
	default:
		return fmt.Sprintf("%s: %s is %s", words[1], words[0],
			w.Condition(words[1], autoscalingv2.HorizontalPodAutoscalerConditionType(words[0])))
	}
}

// desiredSeries returns the series of desired replicas, by object.
func (w *world) desiredSeries() string {
	families, err := w.Registry.Gather()
	if err != nil {
		w.T.Fatal(err)
	}
	var all []string
	for _, family := range families {
		if family.GetName() != "horizontal_pod_autoscaler_controller_desired_replicas" {
			continue
		}
		for _, m := range family.GetMetric() {
			all = append(all, fmt.Sprintf("%s %v", m.GetLabel()[0].GetValue(), m.GetGauge().GetValue()))
		}
	}
	if all == nil {
		return "none"
	}
	return strings.Join(all, ", ")
}

func (w *world) number(text string) int32 {
	w.T.Helper()
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		w.T.Fatal(err)
	}
	return int32(n)
}
