package snapshot_test

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	snapshothorizontal "github.com/plimsoll-dev/plimsoll/internal/snapshot/horizontal"
	snapshotvertical "github.com/plimsoll-dev/plimsoll/internal/snapshot/vertical"
)

// TestFieldsKeepTheirNames: snapshots are decoded strictly, so that renaming a field makes those of earlier versions
// unreadable. New fields are added to testdata/fields.txt; existing lines stay.
func TestFieldsKeepTheirNames(t *testing.T) {
	known, err := os.ReadFile("testdata/fields.txt")
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Fields(string(known))
	var got []string
	collect := func(path string) { got = append(got, path) }
	fields("Snapshot", reflect.TypeFor[snapshothorizontal.Snapshot](), collect)
	fields("VerticalSnapshot", reflect.TypeFor[snapshotvertical.Snapshot](), collect)
	for _, path := range want {
		if !slices.Contains(got, path) {
			t.Errorf("%s is gone: snapshots of earlier versions have it", path)
		}
	}
	for _, path := range got {
		if !slices.Contains(want, path) {
			t.Errorf("%s is new: add it to testdata/fields.txt", path)
		}
	}
}

// fields visits the paths of all fields of Plimsoll's own types, by their names in JSON.
func fields(path string, of reflect.Type, visit func(path string)) {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice || of.Kind() == reflect.Map {
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct || !strings.Contains(of.PkgPath(), "plimsoll") {
		visit(path)
		return
	}
	isLeaf := true
	for i := range of.NumField() {
		field := of.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if !field.IsExported() || name == "" {
			continue
		}
		isLeaf = false
		fields(path+"."+name, field.Type, visit)
	}
	if isLeaf {
		visit(path)
	}
}
