package horizontal

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
)

// TestDocumentation: every field and mark is documented, and the example can be read.
func TestDocumentation(t *testing.T) {
	text, err := os.ReadFile("../../../docs/contributing/snapshots.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := string(text)
	for _, name := range append(fieldsOf(reflect.TypeFor[Snapshot]()), NoteAnnotation, snapshot.DivergencesAnnotation,
		MetricLabel,
		observehorizontal.WindowAnnotation, observehorizontal.ContainerAnnotation) {
		if !strings.Contains(doc, name) {
			t.Errorf("%s is not documented", name)
		}
	}
	shown := strings.Join(regexp.MustCompile(`(?m)^    .*\n`).FindAllString(doc, -1), "")
	// The four spaces of a block in Markdown become an item's.
	item := "\n" + strings.Replace(strings.ReplaceAll("\n"+shown, "\n    ", "\n  "), "\n  ", "- ", 1)
	step := stepOf(t, strings.Replace(document, snapshotItem, item, 1))
	if step.Snapshot.Time.Nanosecond() != 123456789 || step.Snapshot.VerticalConflict == nil ||
		*step.Snapshot.Options.Surge.SteepFactor != 8 {
		t.Errorf("what is shown reads as %+v", step.Snapshot)
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
