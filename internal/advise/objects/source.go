package objects

import (
	"strconv"

	"go.yaml.in/yaml/v3"
)

// source is where in a document of a file an object is: all of it, or the item of a List.
type source struct {
	*document
	within Field
}

// document is the text of a document, and the line in which it begins.
type document struct {
	text []byte
	line int
	// root is the document as it is parsed, once it is needed.
	root     *yaml.Node
	isParsed bool
}

// In is the place of a document with that text.
func (p Place) In(text []byte) Place {
	p.source = &source{document: &document{text: text, line: p.Line}}
	return p
}

// Item is the place of an item of the List there.
func (p Place) Item(n int) Place {
	p.IsWholeFile = false // kubectl patches each item of a List
	if p.source != nil {
		within := p.source.within.In("items", strconv.Itoa(n))
		p.source = &source{document: p.source.document, within: within}
		p.Line = p.LineOf(nil)
	}
	return p
}

// LineOf is the line in the file of a field of the object there, or of the last known field on the way to it. It is the
// document's first line where the text is not known.
func (p Place) LineOf(f Field) int {
	if p.source == nil || len(f)+len(p.source.within) == 0 {
		return p.Line
	}
	at := p.source.parsed()
	if at == nil {
		return p.Line
	}
	line := 1
	for _, name := range p.source.within.In(f...) {
		key, value := member(at, name)
		if value == nil {
			break
		}
		line, at = key.Line, value
	}
	return p.source.line + line - 1
}

// parsed is the value of the document; nil where it cannot be parsed.
func (d *document) parsed() *yaml.Node {
	if !d.isParsed {
		d.isParsed = true
		var read yaml.Node
		if err := yaml.Unmarshal(d.text, &read); err == nil && len(read.Content) > 0 {
			d.root = read.Content[0]
		}
	}
	return d.root
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
