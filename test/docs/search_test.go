//go:build site

package docs

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestSearch: the search of the site, run as its pages run it, finds words of all kinds among the first results: of the
// text, flags, metrics, reasons of conditions, words that begin or are misspelt. Each result leads to a place on a page.
func TestSearch(t *testing.T) {
	t.Parallel()
	const first = 5
	wanted := map[string]string{
		"uninstall":                           "install.html#remove",
		"EKS":                                 "install.html#on-eks-gke-and-aks",
		"TargetHasAnotherAutoscaler":          "reference/conditions.html#conditions",
		"plimsoll_kubelet_held_scrapes_total": "metrics-sources.html#the-budget-is-too-small",
		"--fail-on":                           "reference/flags.html#plimsoll-doctor",
		"no-readiness-probe":                  "reference/advice.html#no-readiness-probe",
		"averageUtil":                         "reference/workloadautoscaler.html#spec-of-workloadautoscaler",
		"kustomise":                           "install.html#with-kustomize",
		"exit status":                         "reference/flags.html#exit-statuses",
		"qwertyuiop":                          "",
	}
	root := repository(t)
	found, err := filepath.Glob(filepath.Join(root, "dist", "docs", "search-index.*.js"))
	if err != nil || len(found) != 1 {
		t.Fatalf("make docs writes one index: %v, %v", found, err)
	}
	arguments := []string{"testdata/search.mjs", filepath.Join(root, "site", "assets", "js", "search.js"), found[0]}
	for query := range wanted {
		arguments = append(arguments, query)
	}
	command := exec.CommandContext(t.Context(), "node", arguments...)
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("node: %v", err)
	}
	var got struct {
		Parts   []string
		Results map[string][]string
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	for query, want := range wanted {
		results := got.Results[query]
		results = results[:min(len(results), first)]
		isFound := slices.ContainsFunc(results, func(url string) bool { return strings.HasSuffix(url, want) })
		if want == "" && len(results) > 0 || want != "" && !isFound {
			t.Errorf("%q: %q, want %q", query, results, want)
		}
	}
	testParts(t, root, got.Parts)
}

// testParts: each page is searched, and each part leads to an element of its page.
func testParts(t *testing.T, root string, parts []string) {
	t.Helper()
	site := os.DirFS(filepath.Join(root, "dist", "docs"))
	documents := map[string]document{}
	for _, part := range parts {
		target := strings.TrimPrefix(part, "/")
		name, _, _ := strings.Cut(target, "#")
		if _, isRead := documents[name]; !isRead {
			d, err := read(site, name)
			if err != nil {
				t.Fatal(err)
			}
			documents[name] = d
		}
		if err := (document{}).follow(site, documents, "index.html", target); err != nil {
			t.Error(err)
		}
	}
	if want := pagesOnSite(t); len(documents) != want {
		t.Errorf("%d pages are searched, want %d", len(documents), want)
	}
}
