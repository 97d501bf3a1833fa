package session

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/internal/migrate/keda"
)

var update = flag.Bool("update", false, "write the expected output")

// TestGolden checks the output for each file of testdata: the manifests, the findings, and the error of the command.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			read, err := ReadManifests([]string{file}, nil, labels.Everything())
			if err != nil {
				t.Fatal(err)
			}
			var out, findings bytes.Buffer
			p := Printer{Out: &out, Findings: &findings}
			optionsOf := func(object *unstructured.Unstructured) keda.Options {
				return keda.Options{
					IsNative: strings.Contains(file, "native"), IsFromFiles: true, Authentications: read.Authentications(object),
				}
			}
			for _, object := range read.Migrated {
				if err := p.Convert(t.Context(), object, optionsOf); err != nil {
					t.Fatal(err)
				}
			}
			got := out.String() + "--- standard error\n" + findings.String()
			if err := p.Result(); err != nil {
				got += "error: " + err.Error() + "\n"
			}
			golden := strings.TrimSuffix(file, ".yaml") + ".txt"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), got); d != "" {
				t.Error(d)
			}
		})
	}
}
