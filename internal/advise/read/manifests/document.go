package manifests

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/internal/advise/objects"
)

// addDocument adds the object of a document, or the objects, if it has several in JSON.
func addDocument(c Collector, text []byte, place objects.Place) {
	for {
		end := firstObject(text)
		if len(bytes.TrimSpace(text[end:])) == 0 {
			end = 0
		}
		if end == 0 {
			add(c, text, place)
			return
		}
		place.IsWholeFile = false
		add(c, text[:end], place)
		place.Line += bytes.Count(text[:end], []byte{'\n'})
		text = text[end:]
	}
}

// firstObject is where the object in JSON ends that the text begins with; 0 if it begins with none.
func firstObject(text []byte) (end int) {
	if !bytes.HasPrefix(bytes.TrimSpace(text), []byte{'{'}) {
		return 0
	}
	var value json.RawMessage
	values := json.NewDecoder(bytes.NewReader(text))
	if values.Decode(&value) != nil {
		return 0
	}
	return int(values.InputOffset())
}

func add(c Collector, text []byte, place objects.Place) {
	content, err := decode(text, place)
	if err == nil {
		switch raw := content.(type) {
		case nil:
			return // only comments
		case map[string]any:
			addObject(c, raw, place.In(text))
			return
		case []any:
			if len(raw) > 0 && !slices.ContainsFunc(raw, isNoOperation) {
				return // a JSON patch, as overlays have them
			}
		}
		err = errors.New("it is not an object")
	}
	c.LeaveOut(place, err)
}

func decode(text []byte, place objects.Place) (content any, err error) {
	inJSON, err := toJSON(text)
	if err != nil {
		// The parser counts lines: as if all that stands before were empty, they are those of the file.
		_, err = toJSON(append(bytes.Repeat([]byte{'\n'}, place.Line-1), text...))
		return nil, err
	}
	err = utiljson.Unmarshal(inJSON, &content)
	return content, err
}

// toJSON refuses keys that stand twice. The strict parser also refuses a key beside a merge (<<) that has it too, which
// overrides it.
func toJSON(text []byte) ([]byte, error) {
	inJSON, err := yaml.YAMLToJSONStrict(text)
	if err != nil && bytes.Contains(text, []byte("<<")) {
		var content map[string]any
		if yamlv3.Unmarshal(text, &content) == nil {
			return yaml.YAMLToJSON(text)
		}
	}
	return inJSON, err
}

func isNoOperation(item any) bool {
	operation, _ := item.(map[string]any)
	_, hasOp := operation["op"].(string)
	_, hasPath := operation["path"].(string)
	return !hasOp || !hasPath
}

func addObject(c Collector, raw map[string]any, place objects.Place) {
	kind, _ := raw["kind"].(string)
	items, isList := raw["items"].([]any)
	if isList && strings.HasSuffix(kind, "List") {
		addList(c, raw, items, place)
		return
	}
	if isNamed := raw["apiVersion"] != nil && (raw["metadata"] != nil || raw["spec"] != nil); kind == "" && isNamed {
		c.LeaveOut(place, errors.New("it has no kind"))
		return
	}
	c.Add(raw, place)
	if inner := embedded(raw, false); inner != "" {
		c.LeaveOut(place, fmt.Errorf("the %s has a %s in it, which is not examined", kind, inner))
	}
}

func addList(c Collector, list map[string]any, items []any, place objects.Place) {
	kind, _ := list["kind"].(string)
	of := place
	for i, item := range items {
		place := of.Item(i)
		inner, ok := item.(map[string]any)
		if !ok {
			c.LeaveOut(place, fmt.Errorf("item %d of the %s is not an object", i, kind))
			continue
		}
		// A list of one kind need not repeat it.
		if one := strings.TrimSuffix(kind, "List"); one != "" && inner["kind"] == nil {
			inner["kind"], inner["apiVersion"] = one, list["apiVersion"]
		}
		addObject(c, inner, place)
	}
}

// autoscalers are the kinds that must not be overlooked.
var autoscalers = []string{objects.HPA, objects.VPA, objects.WLA, objects.ScaledObject}

// embedded is the kind of an autoscaler that is a part of an object, as those in an OpenShift Template are; empty if
// there is none. A mere reference has no spec.
func embedded(value any, isInner bool) string {
	switch v := value.(type) {
	case map[string]any:
		kind, _ := v["kind"].(string)
		if isInner && slices.Contains(autoscalers, kind) && v["apiVersion"] != nil && v["spec"] != nil {
			return kind
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if found := embedded(v[name], true); found != "" {
				return found
			}
		}
	case []any:
		for _, inner := range v {
			if found := embedded(inner, true); found != "" {
				return found
			}
		}
	}
	return ""
}

// document is one of a file.
type document struct {
	text []byte
	line int
}

// split finds the documents of a file, without those that are empty. One may begin in the line of the separator.
func split(text []byte) []document {
	var all []document
	var current document
	flush := func() {
		if len(bytes.TrimSpace(current.text)) > 0 {
			all = append(all, current)
		}
		current = document{}
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, maxBytes+1)
	for n := 1; lines.Scan(); n++ {
		line := lines.Bytes()
		switch separates, isEmpty := separator(line); {
		case isEmpty:
			flush()
			continue
		case separates:
			flush()
		}
		if len(bytes.TrimSpace(current.text)) == 0 {
			// Lines are counted from the first that is not empty.
			current.line, current.text = n, nil
		}
		current.text = append(append(current.text, line...), '\n')
	}
	flush()
	return all
}

// separator reports whether a line separates documents, and whether nothing but a comment follows in it.
func separator(line []byte) (separates, isEmpty bool) {
	for _, mark := range []string{"---", "..."} {
		rest, has := bytes.CutPrefix(line, []byte(mark))
		behind := bytes.TrimSpace(rest)
		if has && (len(behind) == 0 || len(behind) < len(rest)) {
			return true, len(behind) == 0 || behind[0] == '#'
		}
	}
	return false, false
}
