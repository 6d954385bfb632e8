package webtest

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// Object is a part of a Document.
type Object = map[string]any

// Document is a description of an API with a record of the parts that answers used. It knows just
// the part of JSON Schema that the description uses and fails on any other word: no library does
// the other direction, that all that is described really comes. It is also strict where clients
// must not be: undescribed parts are mistakes here.
type Document struct {
	t    *testing.T
	Root Object
	Seen map[string]bool // "Schema.property", and whatever else a test notes
}

// ReadDocument reads a description.
func ReadDocument(t *testing.T, text []byte) *Document {
	t.Helper()
	d := &Document{t: t, Seen: make(map[string]bool)}
	if err := json.Unmarshal(text, &d.Root); err != nil {
		t.Fatalf("openapi.json: %v", err)
	}
	return d
}

// At returns a part of the document, following a reference.
func (d *Document) At(v any) Object {
	d.t.Helper()
	o, ok := v.(Object)
	if !ok {
		d.t.Fatalf("%v is not an object", v)
	}
	ref, ok := o["$ref"].(string)
	if !ok {
		return o
	}
	o = d.Root
	for part := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
		if o, ok = o[part].(Object); !ok {
			d.t.Fatalf("%s leads nowhere", ref)
		}
	}
	return o
}

// Operations calls visit with each path and its operation.
func (d *Document) Operations(visit func(path string, op Object)) {
	for path, item := range d.At(d.Root["paths"]) {
		for method, op := range d.At(item) {
			if method != "get" {
				d.t.Errorf("%s has a %s", path, method)
			}
			visit(path, d.At(op))
		}
	}
}

// Parameters returns those of an operation that are in a part of the request.
func (d *Document) Parameters(op Object, in string) map[string]Object {
	out := make(map[string]Object)
	for _, p := range op["parameters"].([]any) {
		if p := d.At(p); p["in"] == in {
			out[p["name"].(string)] = p
		}
	}
	return out
}

// Check compares a value with a schema. name is that of the schema.
func (d *Document) Check(where, name string, schema, v any) {
	d.t.Helper()
	schema = d.fitting(schema, v)
	if o := schema.(Object); o["$ref"] != nil {
		name = o["$ref"].(string)[strings.LastIndex(o["$ref"].(string), "/")+1:]
	}
	s := d.At(schema)
	if !slices.Contains(typesOf(s), typeName(v)) && (typeName(v) != "integer" || !slices.Contains(typesOf(s), "number")) {
		d.t.Errorf("%s (%s): got %v, want %v", where, name, v, s["type"])
		return
	}
	for word, rule := range s {
		if problem := breaks(word, rule, v); problem != "" {
			d.t.Errorf("%s (%s): got %v, %s", where, name, v, problem)
		}
	}
	switch v := v.(type) {
	case []any:
		for i, e := range v {
			d.Check(fmt.Sprintf("%s[%d]", where, i), name, s["items"], e)
		}
	case Object:
		d.checkObject(where, name, s, v)
	}
}

// fitting returns the first alternative of a schema whose required members a value
// has, the last one if none fits, the schema itself if it has no alternatives.
func (d *Document) fitting(schema, v any) any {
	options, ok := schema.(Object)["anyOf"].([]any)
	if !ok {
		return schema
	}
	for _, o := range options {
		required, _ := d.At(o)["required"].([]any)
		if value, ok := v.(Object); ok && !slices.ContainsFunc(required, func(r any) bool { _, has := value[r.(string)]; return !has }) {
			return o
		}
	}
	return options[len(options)-1]
}

// breaks describes how a value breaks a rule; empty: not at all.
func breaks(word string, rule, v any) string {
	switch word {
	case "type", "description", "required", "properties", "default", "additionalProperties", "deprecated", "x-noun", "x-without":
	case "items":
		if _, isSchema := rule.(Object); !isSchema {
			return "items is no schema"
		}
	case "enum":
		if !slices.Contains(rule.([]any), v) {
			return fmt.Sprintf("want one of %v", rule)
		}
	case "const":
		if rule != v {
			return fmt.Sprintf("want %v", rule)
		}
	case "pattern":
		if !regexp.MustCompile(rule.(string)).MatchString(v.(string)) {
			return fmt.Sprintf("want %s", rule)
		}
	case "format":
		if _, err := time.Parse(time.RFC3339, fmt.Sprint(v)); v != nil && err != nil {
			return "want a time"
		}
	case "minimum":
		if n, ok := v.(float64); ok && n < rule.(float64) {
			return fmt.Sprintf("want at least %v", rule)
		}
	case "maximum":
		if n, ok := v.(float64); ok && n > rule.(float64) {
			return fmt.Sprintf("want at most %v", rule)
		}
	default:
		return "this test does not know the word " + word
	}
	return ""
}

func (d *Document) checkObject(where, name string, s, v Object) {
	d.t.Helper()
	required, _ := s["required"].([]any)
	for _, r := range required {
		if _, ok := v[r.(string)]; !ok {
			d.t.Errorf("%s (%s) lacks %s", where, name, r)
		}
	}
	properties, _ := s["properties"].(Object)
	for key, value := range v {
		switch p, known := properties[key]; {
		case known:
			d.Seen[name+"."+key] = true
			d.Check(where+"."+key, name, p, value)
		case s["additionalProperties"] == true:
		case s["additionalProperties"] == nil:
			d.t.Errorf("%s (%s) has %s, which is not described", where, name, key)
		default:
			d.Check(where+"."+key, name, s["additionalProperties"], value)
		}
	}
}

// Unseen returns the members of schemas that no value had. Schemas are those for
// which of returns true.
func (d *Document) Unseen(of func(schema string) bool) (missing []string) {
	for name, schema := range d.At(d.At(d.Root["components"])["schemas"]) {
		properties, _ := d.At(schema)["properties"].(Object)
		for key := range properties {
			if of(name) && !d.Seen[name+"."+key] {
				missing = append(missing, name+"."+key)
			}
		}
	}
	slices.Sort(missing)
	return missing
}

func typesOf(s Object) []string {
	switch t := s["type"].(type) {
	case string:
		return []string{t}
	case []any:
		var out []string
		for _, one := range t {
			out = append(out, one.(string))
		}
		return out
	}
	return nil
}

func typeName(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case float64:
		if v == math.Trunc(v) {
			return "integer"
		}
		return "number"
	case []any:
		return "array"
	}
	return "object"
}
