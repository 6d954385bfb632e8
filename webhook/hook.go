package webhook

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/netip"
	"slices"
	"time"
)

// Format is the form of the requests.
type Format uint8

// The formats.
const (
	JSON    Format = iota // signed
	Discord               // a chat message
)

// Hook is a receiver of events. The URL may hold a token and the secret is one: they
// are never logged. It is not changed once it is in use.
type Hook struct {
	Name   string // for logs
	URL    string // http or https
	Format Format
	Secret string // key of the signature; unused for Discord

	Kinds []Kind // to send; none: all but Said, or none with Status
	// Status keeps one message of the chat up to date: who plays what. It is for Discord.
	Status bool
	Room   string   // channel of which Said is sent
	Games  []string // of servers; none: all
	// High and Low are the numbers of players for PlayersHigh and PlayersLow, Low
	// below High; High 0: neither is sent.
	High, Low int
	// Allow are networks that may be called although they are not public.
	Allow []netip.Prefix
}

// wants reports whether the hook is for events of a kind about a game; bans
// have no game.
func (h *Hook) wants(k Kind, game string) bool {
	named := len(h.Kinds) > 0 || h.Status
	if !named && k == Said || named && !slices.Contains(h.Kinds, k) {
		return false
	}
	return game == "" || len(h.Games) == 0 || slices.Contains(h.Games, game)
}

// delivery is the body of a request in format JSON.
type delivery struct {
	ID     string    `json:"id"`
	Time   time.Time `json:"time"`
	Hook   string    `json:"hook"`
	Events []Event   `json:"events"`
}

// encode returns the body in format JSON.
func (d delivery) encode() []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(d); err != nil {
		panic(err) // strings, numbers and times always have a JSON form
	}
	return b.Bytes()
}

// Headers of a signed request.
const (
	HeaderTimestamp = "X-Respawnd-Timestamp"
	HeaderSignature = "X-Respawnd-Signature"
)

// Sign returns the value of HeaderSignature for a body sent at a time, as
// HeaderTimestamp states it (Unix seconds).
func Sign(secret, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(timestamp + "."))
	mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}
