package vertical

import (
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
)

// TestVerticalDocumentation: the same for vertical steps. Each flag is one of upstream's recommender or updater.
func TestVerticalDocumentation(t *testing.T) {
	text, err := os.ReadFile("../../../docs/contributing/snapshots.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := string(text)
	for _, name := range fieldsOf(reflect.TypeFor[Snapshot]()) {
		if !strings.Contains(doc, name) {
			t.Errorf("%s is not documented", name)
		}
	}
	_, shown, _ := strings.Cut(doc, "```yaml\n")
	shown, _, _ = strings.Cut(shown, "```")
	item := "\n- " + strings.ReplaceAll(strings.TrimSpace(shown), "\n", "\n  ")
	step := verticalOf(t, strings.Replace(verticalDocument, verticalItem, item, 1))
	settings, err := step.Settings()
	if err != nil || !settings.KnowsGates || !settings.Gates.InPlace || step.Snapshot.Updater == nil ||
		step.Snapshot.Updater.Requested["node-1"].IsEmpty() ||
		!step.Snapshot.Updater.KubeletRefusals["node-1"].StaticCPU {
		t.Errorf("%v; what is shown reads as %+v", err, step.Snapshot)
	}
}

// fieldsOf returns the JSON names of a type's own fields, and of those within.
func fieldsOf(of reflect.Type) []string {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct || of.PkgPath() != reflect.TypeFor[Snapshot]().PkgPath() ||
		of == reflect.TypeFor[time.Time]() {
		return nil
	}
	var all []string
	for i := range of.NumField() {
		field := of.Field(i)
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" {
			all = append(all, name+":")
		}
		all = append(all, fieldsOf(field.Type)...)
	}
	return all
}
