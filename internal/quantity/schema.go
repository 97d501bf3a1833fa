package quantity

import (
	"reflect"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/resource"
)

// schema is where in a text a decoder into some type finds quantities. Nil is for a type
// that has none.
type schema struct {
	isQuantity, isMap, isList bool
	// element is for the entries of maps and lists.
	element *schema
	// fields are all of a struct, by their names in the text; nil for those without a
	// quantity.
	fields map[string]*schema
}

// of is the schema of what a key has.
func (s *schema) of(key []byte) *schema {
	if s.isMap {
		return s.element
	}
	if field, has := s.fields[string(key)]; has {
		return field
	}
	for name, field := range s.fields {
		if field != nil && strings.EqualFold(name, string(key)) {
			return field
		}
	}
	return nil
}

// schemas has what schemaOf has made: a *schema for each reflect.Type.
var schemas sync.Map

func schemaOf(t reflect.Type) *schema {
	if made, has := schemas.Load(t); has {
		s, _ := made.(*schema)
		return s
	}
	s := makeSchema(t, map[reflect.Type]*schema{})
	schemas.Store(t, s)
	return s
}

var quantityType = reflect.TypeFor[resource.Quantity]()

// makeSchema makes the schema of a type; structs are those that are being made. One that
// has itself for a part counts as one with a quantity.
func makeSchema(t reflect.Type, structs map[reflect.Type]*schema) *schema {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t {
	case nil:
		return nil
	case quantityType:
		return &schema{isQuantity: true}
	}
	s := &schema{isMap: t.Kind() == reflect.Map, isList: t.Kind() == reflect.Slice}
	switch {
	case s.isMap || s.isList:
		if s.element = makeSchema(t.Elem(), structs); s.element == nil {
			return nil
		}
		return s
	case t.Kind() != reflect.Struct:
		return nil
	}
	if made, has := structs[t]; has {
		return made
	}
	structs[t] = s
	s.fields = map[string]*schema{}
	s.addFields(t, structs)
	for _, field := range s.fields {
		if field != nil {
			return s
		}
	}
	structs[t] = nil
	return nil
}

// addFields adds a struct's, and then those that it embeds, which the own ones hide.
func (s *schema) addFields(t reflect.Type, structs map[reflect.Type]*schema) {
	var embedded []reflect.Type
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" && field.Anonymous {
			inner := field.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			if inner.Kind() == reflect.Struct {
				embedded = append(embedded, inner)
			}
			continue
		}
		if name == "" {
			name = field.Name
		}
		if _, has := s.fields[name]; !has && name != "-" {
			s.fields[name] = makeSchema(field.Type, structs)
		}
	}
	for _, inner := range embedded {
		s.addFields(inner, structs)
	}
}
