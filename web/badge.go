package web

import (
	"net/http"
	"strconv"

	"github.com/respawnd/respawnd/master"
	"github.com/respawnd/respawnd/web/front"
)

// badgeAge is how long browsers and proxies show a badge without asking, in seconds.
const badgeAge = 60

// badges are the pictures that say how players join a server, for other sites: one for
// each way, and one for servers that are not listed. They never change.
type badges struct {
	ways     [master.Joinables]badge
	guess    badge // that it is the direct one is likely and not known
	unlisted badge
}

// badge is a picture with its tag.
type badge struct {
	*front.Answer
	tag string
}

// Colours of badges. White letters are readable on each.
const (
	badgeLeft = "#3a3f47"
	badgeGood = "#1f7a3d"
	badgeHelp = "#1c6a8a"
	badgeBad  = "#a3352c"
	badgeGrey = "#666b73"
)

func newBadges() (b badges) {
	colours := [master.Joinables]string{
		master.JoinUnknown: badgeGrey, master.JoinDirect: badgeGood, master.JoinNegotiated: badgeHelp, master.JoinRelayed: badgeHelp, master.JoinNo: badgeBad,
	}
	for j := range b.ways {
		b.ways[j] = newBadge(joinWords[j], colours[j])
	}
	b.guess, b.unlisted = newBadge(guessWord, badgeGood), newBadge("not listed", badgeGrey)
	return b
}

func newBadge(word, colour string) badge {
	body := drawBadge("players join", word, colour)
	return badge{front.NewAnswer(body), front.ContentTag(body)}
}

// Measures of a badge. Each text is fitted into its width, whatever the font.
const (
	badgeTall   = "20"
	badgeLetter = 6.6 // average width of a letter of the font size 11
	badgeSpace  = 6   // on each side of a text
)

// drawBadge draws two words beside each other as SVG. The words need no escapes.
func drawBadge(left, right, colour string) []byte {
	first, second := badgeWidth(left), badgeWidth(right)
	width := strconv.Itoa(first + second)
	b := []byte(`<svg xmlns="http://www.w3.org/2000/svg" width="` + width + `" height="` + badgeTall + `" viewBox="0 0 ` + width + " " + badgeTall + `" role="img" aria-label="` + left + ": " + right + `">`)
	b = append(b, `<title>`+left+": "+right+`</title><rect width="`+width+`" height="`+badgeTall+`" rx="3" fill="`+badgeLeft+`"/>`...)
	b = append(b, `<path fill="`+colour+`" d="M`+strconv.Itoa(first)+` 0h`+strconv.Itoa(second-3)+`a3 3 0 0 1 3 3v14a3 3 0 0 1-3 3h-`+strconv.Itoa(second-3)+`z"/>`...)
	b = append(b, `<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">`...)
	b = appendBadgeText(b, 0, first, left)
	b = appendBadgeText(b, first, second, right)
	return append(b, "</g></svg>\n"...)
}

func badgeWidth(text string) int { return int(badgeLetter*float64(len(text))) + 2*badgeSpace }

func appendBadgeText(b []byte, from, width int, text string) []byte {
	return append(b, `<text x="`+strconv.Itoa(from+badgeSpace)+`" y="14" textLength="`+strconv.Itoa(width-2*badgeSpace)+`" lengthAdjust="spacingAndGlyphs">`+text+`</text>`...)
}

// serveBadge answers /servers/{id}/badge.svg. A server that is not listed has a badge,
// too, so that the sites that show it have no broken picture.
func (s *Server) serveBadge(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	if _, _, ok := master.ParseID(id); !ok {
		s.Fail(w, r, http.StatusNotFound, "there is no server of that name")
		return
	}
	of := &s.badges.unlisted
	if found, ok := s.api.Server(id, s.api.Asker(r)); ok {
		of = &s.badges.ways[found.Joinable()]
		if isGuess(found, found.Joinable()) {
			of = &s.badges.guess
		}
	}
	w.Header().Set("Cache-Control", "public, max-age="+strconv.Itoa(badgeAge))
	if !front.NotModified(w, r, of.tag) {
		s.Send(w, r, svgType, of.Answer)
	}
}
