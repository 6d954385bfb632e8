package kit

import (
	"encoding/xml"
	"fmt"
	"strings"

	"github.com/respawnd/respawnd/internal/qrsvg"
)

// Measures of a card, in modules of its code.
const (
	cardWide  = 100
	cardTitle = 40 // characters of the title
)

// card returns a card to print or to show, with the DNS server for a console and a code for a phone: the
// address of the game's page, where the steps are, or else the DNS server as text.
func (k *Kit) card() (File, error) {
	text := k.Page
	if text == "" || len(text) > qrsvg.MaxText {
		text = "DNS " + k.Address.String()
	}
	code, side, err := qrsvg.Draw(text)
	if err != nil {
		return File{}, err
	}
	var title strings.Builder
	if err := xml.EscapeText(&title, []byte(shortened(k.title(), cardTitle))); err != nil {
		return File{}, err
	}
	tall := side + 24
	svg := fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]d %[2]d" width="%[1]dmm" height="%[2]dmm">
<path fill="#fff" d="M0 0h%[1]dv%[2]dh-%[1]dz"/>
<g font-family="sans-serif" text-anchor="middle"><text x="%[3]d" y="9" font-size="4.5">%[4]s</text>
<text x="%[3]d" y="19" font-size="8" font-weight="bold">DNS %[5]s</text></g>
<path transform="translate(%[6]d 22)" shape-rendering="crispEdges" d="%[7]s"/>
</svg>
`, cardWide, tall, cardWide/2, title.String(), k.Address, (cardWide-side)/2, code)
	return File{"card.svg", []byte(svg)}, nil
}

// shortened returns at most so many characters of a text.
func shortened(text string, most int) string {
	if r := []rune(text); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return text
}
