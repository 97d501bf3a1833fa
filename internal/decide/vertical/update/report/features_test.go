package report

import (
	"strings"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
)

func TestMissing(t *testing.T) {
	all := Features{InPlace: true, CPUStartupBoost: true, PerVPAConfig: true, PodsResize: true}
	for why, c := range map[string]struct {
		asked Request
		has   Features
		want  string
		words string
	}{
		"all is there":         {Request{vertical.ModeInPlace, true, true}, all, "", ""},
		"nothing is asked for": {Request{Mode: vertical.ModeRecreate}, Features{}, "", ""},
		"InPlace without its gate": {Request{Mode: vertical.ModeInPlace}, Features{PodsResize: true},
			"InPlace", "does nothing to running pods"},
		"without gate and subresource":  {Request{Mode: vertical.ModeInPlace}, Features{}, "InPlace", "feature gate InPlace"},
		"InPlaceOrRecreate has no gate": {Request{Mode: vertical.ModeInPlaceOrRecreate}, Features{PodsResize: true}, "", ""},
		"an old API server, evicted": {Request{Mode: vertical.ModeInPlaceOrRecreate}, Features{},
			"PodsResize", "pods are evicted"},
		"an old API server, kept": {Request{Mode: vertical.ModeInPlace}, Features{InPlace: true},
			"PodsResize", "pods stay as they are"},
		"a boost": {Request{Mode: vertical.ModeOff, Boost: true}, Features{}, "CPUStartupBoost", "startupBoost is ignored"},
		"several": {Request{vertical.ModeInPlace, true, true}, Features{}, "InPlace,CPUStartupBoost,PerVPAConfig", "; "},
	} {
		got, is := Missing(c.asked, c.has)
		if is != (c.want != "") || got.Reason != c.want || !strings.Contains(got.Message, c.words) {
			t.Errorf("%s: %t %+v", why, is, got)
		}
		for name := range strings.SplitSeq(c.want, ",") {
			if name != "" && !HasFeature(got.Reason, name) {
				t.Errorf("%s: the reason does not name %s", why, name)
			}
		}
	}
	if HasFeature("InPlace,PodsResize", "CPUStartupBoost") {
		t.Error("a feature is found that the reason does not name")
	}
}
