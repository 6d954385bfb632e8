package web

import (
	"html"
	"html/template"

	"github.com/respawnd/respawnd/internal/colour"
)

// painted returns a name in its colours. The style sheet has a readable value of each
// for light and dark ground.
func painted(parts []colour.Part) template.HTML {
	return markup(appendPainted(nil, parts))
}

// markup marks HTML as safe for templates. Its texts are escaped.
func markup(b []byte) template.HTML {
	return template.HTML(b) //nolint:gosec // as said above
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
