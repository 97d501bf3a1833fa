package doctor

import (
	"strings"
	"testing"
)

// TestTextOfStrangers: what is found in a cluster, such as the holder of a Lease, does not begin lines of its own.
func TestTextOfStrangers(t *testing.T) {
	const forged = "x\nok        rights              all is well\r"
	var out strings.Builder
	err := WriteText(&out, &Report{Findings: []Finding{{
		Check: "installation", Level: Problem, Object: "Lease a/" + forged, What: forged, Why: forged, Do: forged,
		Command: forged,
	}}}, Style{})
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != 5 || strings.Contains(out.String(), "\r") || strings.Count(out.String(), `x\nok`) != 5 {
		t.Errorf("%d lines:\n%s", len(lines), out.String())
	}
}

// TestText: each line fits, texts go on below where they began, and a count of none is left out.
func TestText(t *testing.T) {
	report := Report{Findings: []Finding{
		{Check: "kubernetes-version", Level: OK, What: "Kubernetes v1.37.1"},
		{
			Check: "metrics-api", Level: Problem, Object: "APIService v1beta1.metrics.k8s.io",
			What: "it is missing: metrics-server is not installed", Why: "there is no CPU of pods without it, and no memory",
			Do:      "install metrics-server",
			Command: "helm install metrics-server metrics-server/metrics-server --namespace kube-system --wait --timeout 5m",
		},
	}}
	want := `ok        kubernetes-version  Kubernetes v1.37.1
problem   metrics-api         APIService v1beta1.metrics.k8s.io: it is missing:
                              metrics-server is not installed
                              why  there is no CPU of pods without it, and no
                                   memory
                              do   install metrics-server
          helm install metrics-server metrics-server/metrics-server \
            --namespace kube-system --wait --timeout 5m
problems: 1, ok: 1.
`
	var out strings.Builder
	if err := WriteText(&out, &report, Style{Width: 80}); err != nil || out.String() != want {
		t.Errorf("%v\n%s", err, out.String())
	}
	out.Reset()
	if err := WriteText(&out, &report, Style{Width: 80, InColour: true}); err != nil ||
		!strings.Contains(out.String(), "\x1b[1;31mproblem \x1b[0m  metrics-api") {
		t.Errorf("%v\n%q", err, out.String())
	}
}
