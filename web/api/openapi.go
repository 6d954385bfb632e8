package api

import (
	_ "embed"
	"encoding/json"
	"maps"
	"net/http"
	"slices"

	"github.com/respawnd/respawnd/internal/noun"
	"github.com/respawnd/respawnd/web/front"
)

// openAPI describes the API for programs. It is written by hand; a test
// compares it with the handlers. A part with "x-noun" exists only where that noun does.
// "x-without" holds, by noun, the members that replace others where that noun is missing.
//
//go:embed openapi.json
var openAPI []byte

// serveOpenAPI answers /api/v1/openapi.json.
func (s *API) serveOpenAPI(w http.ResponseWriter, r *http.Request, _ Params) error {
	if d := s.description(); !front.NotModified(w, r, d.tag) {
		s.Send(w, r, front.JSON, d.Answer)
	}
	return nil
}

// describe returns the description of an API with some nouns.
func describe(nouns noun.Set) []byte {
	var all any
	if err := json.Unmarshal(openAPI, &all); err != nil {
		panic(err) // the file is embedded
	}
	all, _ = existing(all, nouns)
	out, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		panic(err) // it was JSON
	}
	return append(out, '\n')
}

// existing returns a value of the description without the parts whose nouns are missing; ok
// is false if it is such a part itself.
func existing(v any, nouns noun.Set) (out any, ok bool) {
	switch v := v.(type) {
	case map[string]any:
		if n, _ := v["x-noun"].(string); !nouns.Has(noun.Noun(n)) {
			return nil, false
		}
		without, _ := v["x-without"].(map[string]any)
		delete(v, "x-noun")
		delete(v, "x-without")
		for n, members := range without {
			if !nouns.Has(noun.Noun(n)) {
				maps.Copy(v, members.(map[string]any))
			}
		}
		for name, member := range v {
			if v[name], ok = existing(member, nouns); !ok {
				delete(v, name)
			}
		}
		if properties, isObject := v["properties"].(map[string]any); isObject {
			if required, some := v["required"].([]any); some {
				v["required"] = slices.DeleteFunc(required, func(name any) bool { return properties[name.(string)] == nil })
			}
		}
		return v, true
	case []any:
		kept := make([]any, 0, len(v))
		for _, e := range v {
			if e, ok := existing(e, nouns); ok {
				kept = append(kept, e)
			}
		}
		return kept, true
	}
	return v, true
}

// fixed is an answer that stays the same for as long as the daemon runs.
type fixed struct {
	*front.Answer
	tag string
}

func newFixed(body []byte) fixed { return fixed{front.NewAnswer(body), front.ContentTag(body)} }
