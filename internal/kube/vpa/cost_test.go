package vpa

import (
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
)

// many is a list of 500 objects, and some more.
func many(more ...string) []byte {
	items := make([]string, 0, 500+len(more))
	for i := range 500 {
		items = append(items, stored("web-"+strconv.Itoa(i), "1", `"100m"`))
	}
	return []byte(listed(append(items, more...)...))
}

// counting counts the objects that are decoded as a whole.
type counting struct {
	runtime.Decoder
	texts, bytes int
}

func (d *counting) Decode(
	text []byte, _ *schema.GroupVersionKind, into runtime.Object,
) (runtime.Object, *schema.GroupVersionKind, error) {
	d.texts++
	d.bytes += len(text)
	return into, nil, nil
}

// TestTextLikeAQuantityIsCheap: a list in which a label has the form of a ruinous quantity is decoded only once, as a
// list, and checking it allocates no objects: it lists the fields of the types, which takes about 200 allocations.
func TestTextLikeAQuantityIsCheap(t *testing.T) {
	for _, label := range []string{"web", "1e999999", "4531e203", strings.Repeat("9", 70), `\u0031e999`} {
		one := strings.Replace(stored("last", "1", `"100m"`), `"metadata":{`, `"metadata":{"labels":{"commit":"`+label+`"},`,
			1)
		text, d := many(one), &counting{}
		allocations := testing.AllocsPerRun(1, func() {
			if _, _, err := kinds.Decoder(d).Decode(text, nil, nil); err != nil {
				t.Error(err)
			}
		})
		// AllocsPerRun runs it once before.
		if allocations > 400 || d.texts != 2 || d.bytes != 2*len(text) {
			t.Errorf("%s: %v allocations to check it; decoded %d texts of %d bytes, want 2 of %d", label, allocations, d.texts,
				d.bytes, 2*len(text))
		}
	}
}

// TestOneObjectThatCannotBeReadCostsTheOthersLittle: the others of its list are not decoded twice.
func TestOneObjectThatCannotBeReadCostsTheOthersLittle(t *testing.T) {
	known := runtime.NewScheme()
	if err := vpav1.AddToScheme(known); err != nil {
		t.Fatal(err)
	}
	codecs := kinds.Serializer(serializer.NewCodecFactory(known).WithoutConversion())
	json, _ := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), runtime.ContentTypeJSON)
	decoder := codecs.DecoderToVersion(json.Serializer, vpav1.SchemeGroupVersion)
	cost := func(text []byte) float64 {
		return testing.AllocsPerRun(1, func() {
			list := &vpav1.VerticalPodAutoscalerList{}
			if _, _, err := decoder.Decode(text, nil, list); err != nil || len(list.Items) != 501 {
				t.Errorf("%d objects, %v", len(list.Items), err)
			}
		})
	}
	ordinary := cost(many(stored("last", "1", `"100m"`)))
	if with := cost(many(stored("last", "1", `"1e-999999999"`))); with > 1.75*ordinary {
		t.Errorf("%v allocations with one, %v without", with, ordinary)
	}
}
