package chart

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	yamlv3 "go.yaml.in/yaml/v3"
)

// values.yaml documents itself: a comment is above each value, or above the values of a section. The README's table is
// made of it.
const (
	tableBegins = "<!-- The table is written by make chart, from values.yaml. -->\n"
	tableEnds   = "<!-- End of the table. -->\n"
)

func TestReadmeHasEachValue(t *testing.T) {
	var document yamlv3.Node
	if err := yamlv3.Unmarshal([]byte(read(t, chartDir+"/values.yaml")), &document); err != nil {
		t.Fatal(err)
	}
	table := "| value | default | meaning |\n|---|---|---|\n" + rows(t, "", document.Content[0])
	readme := read(t, chartDir+"/README.md")
	before, rest, begins := strings.Cut(readme, tableBegins)
	_, after, ends := strings.Cut(rest, tableEnds)
	if !begins || !ends {
		t.Fatal("the README has no place for the table")
	}
	compareFile(t, chartDir+"/README.md", before+tableBegins+table+tableEnds+after)
}

// rows are the table's of a map: one for each value with a comment.
func rows(t *testing.T, prefix string, parent *yamlv3.Node) string {
	t.Helper()
	var all strings.Builder
	for i := 0; i+1 < len(parent.Content); i += 2 {
		name, value := parent.Content[i], parent.Content[i+1]
		path := prefix + name.Value
		if value.Kind == yamlv3.MappingNode && hasComments(value) {
			all.WriteString(rows(t, path+".", value))
			continue
		}
		comment := meaning(name.HeadComment)
		if comment == "" {
			t.Errorf("%s has no comment", path)
		}
		fmt.Fprintf(&all, "| `%s` | %s | %s |\n", path, shown(t, value), comment)
	}
	return all.String()
}

func hasComments(parent *yamlv3.Node) bool {
	for i := 0; i+1 < len(parent.Content); i += 2 {
		if parent.Content[i].HeadComment != "" || hasComments(parent.Content[i+1]) {
			return true
		}
	}
	return false
}

var page = regexp.MustCompile(`docs/([a-z-]+)\.md`)

// meaning is a comment as one line, with links to pages.
func meaning(comment string) string {
	lines := strings.Split(comment, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSpace(strings.TrimPrefix(line, "#"))
	}
	text := strings.ReplaceAll(strings.TrimSpace(strings.Join(lines, " ")), "|", "\\|")
	return page.ReplaceAllString(text, "[$1.md](../../docs/$1.md)")
}

// shown is a default in one line.
func shown(t *testing.T, value *yamlv3.Node) string {
	t.Helper()
	var decoded any
	if err := value.Decode(&decoded); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(decoded)
	if err != nil {
		t.Fatal(err)
	}
	const most = 60
	switch shown := string(text); {
	case shown == `""`, shown == "{}", shown == "[]":
		return ""
	case len(shown) > most:
		return "see values.yaml"
	default:
		return "`" + strings.Trim(shown, `"`) + "`"
	}
}
