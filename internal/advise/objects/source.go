package objects

import (
	"strconv"

	"go.yaml.in/yaml/v3"
)

// source is the text of a document in a file.
type source struct{ text []byte }

// In is the place of a document with that text.
func (p Place) In(text []byte) Place {
	p.source = &source{text: text}
	return p
}

// LineOf is the line in the file of a field of the object there, or of the last known field on the way to it. It is the
// document's first line where the text is not known, and for the objects of a List.
func (p Place) LineOf(f Field) int {
	if p.source == nil || len(f) == 0 {
		return p.Line
	}
	var document yaml.Node
	if err := yaml.Unmarshal(p.source.text, &document); err != nil || len(document.Content) == 0 {
		return p.Line
	}
	at := document.Content[0]
	line := 1
	for _, name := range f {
		key, value := member(at, name)
		if value == nil {
			break
		}
		line, at = key.Line, value
	}
	return p.Line + line - 1
}

// member is an entry of a map or of a list: where it begins, and its value; nil if there is none.
func member(of *yaml.Node, name string) (key, value *yaml.Node) {
	if of.Kind == yaml.AliasNode {
		of = of.Alias
	}
	switch of.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(of.Content); i += 2 {
			if of.Content[i].Value == name {
				return of.Content[i], of.Content[i+1]
			}
		}
	case yaml.SequenceNode:
		if n, err := strconv.Atoi(name); err == nil && n >= 0 && n < len(of.Content) {
			return of.Content[n], of.Content[n]
		}
	}
	return nil, nil
}
