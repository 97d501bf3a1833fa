package plot_test

import (
	"bytes"
	"image"
	_ "image/png" // decodes what was drawn
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/utils/ptr"

	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/simulate"
	"github.com/plimsoll-dev/plimsoll/internal/simulate/load"
	"github.com/plimsoll-dev/plimsoll/internal/simulate/plot"
)

// surge is both sides under a load that becomes eight times what it was.
func surge(t *testing.T) (*simulate.Scene, []*simulate.Run) {
	t.Helper()
	hpa := &autoscalingv2.HorizontalPodAutoscaler{Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
		MinReplicas: ptr.To[int32](2), MaxReplicas: 20, Metrics: []autoscalingv2.MetricSpec{{
			Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
				Name: "cpu", Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType,
					AverageUtilization: ptr.To[int32](50)},
			},
		}},
	}}
	l, err := load.Parse("step:12@0s,100@5m,30@12m")
	if err != nil {
		t.Fatal(err)
	}
	w := simulate.DefaultWorkload()
	w.Complete()
	s, err := simulate.NewScene(l, w, observehorizontal.HPA(hpa))
	if err != nil {
		t.Fatal(err)
	}
	s.For = 25 * time.Minute
	runs, err := simulate.PlayAll(t.Context(), s, []simulate.Setting{
		{Name: "upstream", Side: simulate.Upstream, HPA: hpa}, {Name: "plimsoll", Side: simulate.Plimsoll, HPA: hpa},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s, runs
}

// TestDraw draws what can be decoded, with all that a reader needs to understand it.
func TestDraw(t *testing.T) {
	s, runs := surge(t)
	var png, svg bytes.Buffer
	if err := plot.Draw(&png, "png", s, runs); err != nil {
		t.Fatal(err)
	}
	if folder := os.Getenv("PLIMSOLL_PLOTS"); folder != "" {
		if err := os.WriteFile(filepath.Join(folder, "surge.png"), png.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	picture, _, err := image.Decode(&png)
	if err != nil || picture.Bounds().Dx() < 900 {
		t.Fatalf("%v, %v", picture.Bounds(), err)
	}
	if err := plot.Draw(&svg, "svg", s, runs); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"upstream, pods wanted", "plimsoll", "pods the load asks for", "target of 50 %",
		"latency", "CPU used", "time since the load began", "#D55E00", "#0072B2"} {
		if !strings.Contains(svg.String(), want) {
			t.Errorf("the picture does not say %q", want)
		}
	}
	if err := plot.Draw(&svg, "svg", s, nil); err == nil {
		t.Error("no error for a picture without runs")
	}
	if err := plot.Draw(&svg, "gif", s, runs); err == nil {
		t.Error("an unknown format")
	}
}

func TestText(t *testing.T) {
	_, runs := surge(t)
	size := plot.Size{Width: 60, Height: 10}
	plain := plot.Text(runs, size, false)
	for _, want := range []string{"upstream: pods ready", "plimsoll: pods ready", "the load asks for", "┤"} {
		if !strings.Contains(plain, want) {
			t.Errorf("%q is missing in\n%s", want, plain)
		}
	}
	if strings.Contains(plain, "\x1b") {
		t.Error("colour where there is none")
	}
	if coloured := plot.Text(runs, size, true); !strings.Contains(coloured, "\x1b") || strings.Count(coloured, "\n") > 16 {
		t.Errorf("not one plot in colour:\n%s", coloured)
	}
	runs[0].Setting.Name = strings.Repeat("averageUtilization=70 ", 6) + "upstream"
	colour := regexp.MustCompile(`\x1b\[[0-9;]*m`)
	for _, inColour := range []bool{false, true} {
		for line := range strings.Lines(colour.ReplaceAllString(plot.Text(runs, size, inColour), "")) {
			if n := utf8.RuneCountInString(line); n > size.Width+10 {
				t.Errorf("in colour %v: %d characters: %s", inColour, n, line)
			}
		}
	}
}

// TestAxis: the labels of a plot are round, whatever the largest count is, and there are at most as many rows as fit.
func TestAxis(t *testing.T) {
	for top, want := range map[int]string{1: "1 0", 3: "3 2 1 0", 10: "10 8 6 4 2 0", 14: "15 10 5 0", 20: "20 15 10 5 0", 137: "150 100 50 0"} {
		run := &simulate.Run{Setting: simulate.Setting{HPA: &autoscalingv2.HorizontalPodAutoscaler{}}, Series: simulate.Series{Points: []simulate.Moment{{Need: top, Ready: 1}}}}
		text := plot.Text([]*simulate.Run{run}, plot.Size{Width: 60, Height: 12}, false)
		_, text, _ = strings.Cut(text, "asks for\n")
		var labels []string
		rows := strings.Split(strings.TrimRight(text, "\n"), "\n")
		for _, row := range rows {
			if label := strings.Trim(strings.SplitN(row, "┤", 2)[0], " ┼"); label != "" {
				labels = append(labels, strings.Fields(label)[0])
			}
		}
		if got := strings.Join(labels, " "); got != want || len(rows) > 13 {
			t.Errorf("up to %d: %s in %d rows, want %s", top, got, len(rows), want)
		}
	}
}
