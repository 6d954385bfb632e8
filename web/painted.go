package web

import (
	"html"
	"html/template"

	"github.com/respawnd/respawnd/internal/colour"
)

// painted returns a name in its colours. The style sheet has a readable value of each
// for light and dark ground.
func painted(parts []colour.Part) template.HTML {
	return template.HTML(appendPainted(nil, parts)) //nolint:gosec // all texts are escaped
}

// appendPainted writes a name in its colours, escaped for an element.
func appendPainted(b []byte, parts []colour.Part) []byte {
	for _, p := range parts {
		class := p.Class()
		if class != "" {
			b = append(append(append(b, `<span class="`...), class...), `">`...)
		}
		b = append(b, html.EscapeString(p.Text)...)
		if class != "" {
			b = append(b, `</span>`...)
		}
	}
	return b
}
